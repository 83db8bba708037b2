"""Playing with a policy: temperatures, seeds, one trace."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.acting import PolicyPlayer
from simple_tf.agents.draws import fold_in, sample_actions
from simple_tf.agents.policy_network import PolicyNetwork

SHAPE = (2, 6, 6, 1)


@pytest.fixture(scope="module")
def network():
    return PolicyNetwork(SHAPE, 4, filters=4, hidden_size=16)


@pytest.fixture(scope="module")
def observations():
    return np.random.default_rng(0).integers(0, 256, (32, *SHAPE), dtype=np.uint8)


def test_temperature_0_takes_the_likeliest(network, observations):
    player = PolicyPlayer(network, 0.0)
    actions = player(observations)
    assert actions.dtype == np.int32
    np.testing.assert_array_equal(actions, np.argmax(network(observations)[0], axis=-1))
    np.testing.assert_array_equal(player(observations), actions)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_softmax_at_a_temperature(network, observations, temperature):
    many = np.repeat(observations[:1], 20_000, axis=0)
    actions = PolicyPlayer(network, temperature, seed=3)(many)
    odds = np.exp(network(observations[:1])[0].numpy()[0] / temperature)
    expected = 20_000 * odds / odds.sum()
    counts = np.bincount(actions, minlength=4)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 16.27  # 99.9 % point for 3 degrees of freedom.


def test_the_same_seed_plays_the_same_and_each_call_draws_anew(network, observations):
    players = [PolicyPlayer(network, 1.0, seed) for seed in (1, 1, 2)]
    one, same, other = ([player(observations) for _ in range(4)] for player in players)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one[0], one[1])
    continued = PolicyPlayer(network, 1.0, 1)
    continued.calls = 2
    np.testing.assert_array_equal(continued(observations), one[2])


def test_batches_of_any_size_share_one_trace(network, observations):
    player = PolicyPlayer(network)
    for size in (1, 5, 32):
        assert player(observations[:size]).shape == (size,)
    assert player._compiled.experimental_get_tracing_count() == 1


def test_the_iteration_is_told(network, observations):
    told = PolicyPlayer(network, 0.0, iteration=3)(observations)
    np.testing.assert_array_equal(told, np.argmax(network(observations, 3)[0], axis=-1))


def test_weights_may_change_between_calls(network, observations):
    player = PolicyPlayer(network, 0.0)
    player(observations)
    bias = network.logits_layer.bias
    bias.assign([0.0, 1e6, 0.0, 0.0])
    try:
        assert (player(observations) == 1).all()
    finally:
        bias.assign(tf.zeros_like(bias))


def test_negative_temperatures_are_refused(network):
    with pytest.raises(ValueError, match=r"0 or more, not -0\.5"):
        PolicyPlayer(network, -0.5)


def test_seeds_of_different_counters_draw_differently():
    root = tf.constant([5, 6])
    seeds = [tuple(fold_in(root, a, b).numpy()) for a in range(20) for b in range(20)]
    assert len(set(seeds)) == 400
    logits = tf.zeros([64, 4])
    draws = {tuple(sample_actions(logits, 1.0, tf.constant(seed)).numpy()) for seed in seeds[:50]}
    assert len(draws) == 50
