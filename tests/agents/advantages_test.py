"""Advantages against plain numpy loops and the original's."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.advantages import (
    explained_variance,
    generalized_advantages,
    masked_mean,
    normalized,
)

T, B = 30, 7
GAMMA, LAMBDA = 0.97, 0.9


@pytest.fixture
def played():
    rng = np.random.default_rng(0)
    ends = rng.random((T, B)) < 0.2
    over = ends & (rng.random((T, B)) < 0.5)
    return {
        "rewards": rng.normal(size=(T, B)).astype(np.float32),
        "discounts": np.where(over, 0.0, 1.0).astype(np.float32),
        "values": rng.normal(size=(T + 1, B)).astype(np.float32),
        "ends": ends,
    }


def by_definition(rewards, discounts, values, ends):
    """The sum over k of (gamma lambda)^k delta(t + k), up to the end of the episode."""
    advantages = np.zeros((T, B))
    for b in range(B):
        for t in range(T):
            weight = 1.0
            for s in range(t, T):
                beyond = GAMMA * values[s + 1, b] if discounts[s, b] else 0.0
                advantages[t, b] += weight * (rewards[s, b] + beyond - values[s, b])
                weight *= GAMMA * LAMBDA
                if ends[s, b]:
                    break
    return advantages


@pytest.mark.parametrize("jit_compile", [False, True])
def test_equals_the_definition_over_episode_boundaries(played, jit_compile):
    assert (played["ends"] & (played["discounts"] == 1)).any()
    assert (played["discounts"] == 0).any()
    compute = tf.function(generalized_advantages, jit_compile=jit_compile, autograph=False)
    ours = compute(**played, discount=GAMMA, gae_lambda=LAMBDA)
    np.testing.assert_allclose(ours, by_definition(**played), atol=1e-5)


def test_what_follows_an_end_does_not_matter_but_the_value_there_does(played):
    def compute(**changes):
        return generalized_advantages(**{**played, **changes}, discount=GAMMA, gae_lambda=LAMBDA)

    played["ends"][:] = False
    played["discounts"][:] = 1.0
    played["ends"][10] = True
    played["discounts"][10, 0] = 0.0  # Over in the first environment, truncated in the others.
    before = compute()
    later_rewards = played["rewards"].copy()
    later_rewards[11:] += 5.0
    np.testing.assert_array_equal(compute(rewards=later_rewards)[:11], before[:11])
    other_values = played["values"].copy()
    other_values[11] += 1.0
    change = (compute(values=other_values) - before).numpy()[10]
    np.testing.assert_allclose(change, [0.0] + [GAMMA] * (B - 1), atol=1e-5)


def test_equals_the_originals(recording):
    """The original's ends are one step late: its done[t + 1] cuts step t off."""
    done = recording["gae/done"][1:]
    assert done.any()
    ours = generalized_advantages(
        recording["gae/reward"][:-1],
        1.0 - done.astype(np.float32),
        recording["gae/value"],
        done,
        float(recording["gae/gamma"]),
        float(recording["gae/lambda"]),
    )
    np.testing.assert_allclose(ours, recording["gae/advantage"], rtol=1e-5, atol=1e-5)


def test_normalisation_counts_only_what_is_masked_in():
    rng = np.random.default_rng(1)
    advantages = rng.normal(3.0, 2.0, (T, B)).astype(np.float32)
    mask = (rng.random((T, B)) < 0.8).astype(np.float32)
    ours = normalized(advantages, mask).numpy()
    chosen = advantages[mask == 1]
    np.testing.assert_allclose(
        ours[mask == 1], (chosen - chosen.mean()) / chosen.std(), rtol=1e-4, atol=1e-5
    )
    assert not ours[mask == 0].any()
    larger = normalized(advantages, mask, epsilon=chosen.std()).numpy()
    np.testing.assert_allclose(larger, ours / 2, rtol=1e-3, atol=1e-5)


def test_equal_advantages_and_empty_masks_stay_finite():
    ones = tf.ones([T, B])
    assert not normalized(ones, ones).numpy().any()
    assert not normalized(ones, tf.zeros_like(ones)).numpy().any()
    assert masked_mean(ones, tf.zeros_like(ones)) == 0


def test_explained_variance():
    rng = np.random.default_rng(2)
    returns = rng.normal(size=(T, B)).astype(np.float32)
    noise = rng.normal(size=(T, B)).astype(np.float32)
    mask = np.ones((T, B), np.float32)
    np.testing.assert_allclose(explained_variance(returns, returns + 4.0, mask), 1.0, atol=1e-5)
    expected = 1 - noise.var() / returns.var()
    np.testing.assert_allclose(explained_variance(returns, returns + noise, mask), expected, 1e-4)
    mask[:, 0] = 0.0
    returns[:, 0] = 1e6
    assert explained_variance(returns, returns + noise * mask, mask) < 0.5
