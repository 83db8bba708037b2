"""TF-Agents' loss, set up as it should be: against plain numpy, masks included."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.clipped_loss import ClippedLoss, Minibatch, SharedTrunk
from simple_tf.agents.optimizers import policy_adam
from simple_tf.agents.policy_network import PolicyNetwork

N = 40
CLIP, VALUE, ENTROPY = 0.2, 0.7, 0.03


@pytest.fixture(scope="module")
def network():
    return PolicyNetwork((2, 6, 6, 1), 3, filters=4, hidden_size=16)


@pytest.fixture
def loss(network, signal_game):
    game = signal_game()
    return ClippedLoss(
        network,
        policy_adam(),
        game.time_step_spec(),
        game.action_spec(),
        CLIP,
        VALUE,
        ENTROPY,
    )


@pytest.fixture
def minibatch(network):
    rng = np.random.default_rng(0)
    return Minibatch(
        observations=tf.constant(rng.integers(0, 256, (N, 2, 6, 6, 1), dtype=np.uint8)),
        actions=tf.constant(rng.integers(0, 3, N), tf.int32),
        log_probabilities=tf.constant(rng.normal(-1.1, 0.3, N), tf.float32),
        advantages=tf.constant(rng.normal(size=N), tf.float32),
        returns=tf.constant(rng.normal(size=N), tf.float32),
        mask=tf.constant(rng.random(N) < 0.7, tf.float32),
    )


def by_definition(network, minibatch, iterations):
    logits, values = (x.numpy() for x in network(minibatch.observations, iterations))
    chosen = minibatch.mask.numpy() == 1
    odds = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    new = np.log(odds[np.arange(N), minibatch.actions])
    ratio = np.exp(new - minibatch.log_probabilities)
    gain = np.minimum(
        ratio * minibatch.advantages, np.clip(ratio, 1 - CLIP, 1 + CLIP) * minibatch.advantages
    )
    entropy = -(odds * np.log(odds)).sum(-1)[chosen].mean()
    policy_loss = -gain[chosen].mean()
    value_loss = VALUE * np.square(values - minibatch.returns)[chosen].mean()
    return {
        "loss": policy_loss + value_loss - ENTROPY * entropy,
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
    }


def test_equals_the_definition_over_what_counts(loss, network, minibatch):
    iterations = tf.constant(np.arange(N) % 5 - 1)
    total, metrics = loss(minibatch, iterations)
    expected = by_definition(network, minibatch, iterations)
    np.testing.assert_allclose(total, expected["loss"], rtol=1e-4)
    for name, value in expected.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-4)


def test_what_is_masked_out_changes_nothing(loss, minibatch):
    iterations = tf.zeros([N], tf.int32)
    total, _ = loss(minibatch, iterations)
    noise = 100.0 * (1.0 - minibatch.mask)
    other = minibatch._replace(
        advantages=minibatch.advantages + noise, returns=minibatch.returns - noise
    )
    np.testing.assert_array_equal(loss(other, iterations)[0], total)
    empty = minibatch._replace(mask=tf.zeros([N]))
    assert loss(empty, iterations)[0] == 0


def test_the_same_policy_has_no_divergence_and_is_not_clipped(loss, network, minibatch):
    iterations = tf.fill([N], 2)
    log_softmax = tf.nn.log_softmax(network(minibatch.observations, iterations)[0])
    same = tf.gather(log_softmax, minibatch.actions, batch_dims=1)
    _, metrics = loss(minibatch._replace(log_probabilities=same), iterations)
    assert metrics["clip_fraction"] == 0
    np.testing.assert_allclose(metrics["kl"], 0, atol=1e-6)
    _, metrics = loss(minibatch, iterations)
    assert metrics["clip_fraction"] > 0
    assert metrics["kl"] > 0.01


def test_divergence_is_estimated_right(loss, network, minibatch):
    """With actions drawn from the old policy the mean estimate is its divergence to the new."""
    many = 20_000
    observations = tf.repeat(minibatch.observations[:1], many, axis=0)
    old = np.array([0.5, 0.3, 0.2])
    actions = np.random.default_rng(1).choice(3, many, p=old)
    new = tf.nn.softmax(network(observations[:1], [0])[0])[0].numpy()
    _, metrics = loss(
        Minibatch(
            observations=observations,
            actions=tf.constant(actions, tf.int32),
            log_probabilities=tf.constant(np.log(old)[actions], tf.float32),
            advantages=tf.zeros([many]),
            returns=tf.zeros([many]),
            mask=tf.ones([many]),
        ),
        tf.zeros([many], tf.int32),
    )
    np.testing.assert_allclose(metrics["kl"], (old * np.log(old / new)).sum(), rtol=0.05)


def test_known_outputs_are_used_for_exactly_their_observations(network):
    shared = SharedTrunk(network)
    one, other = tf.zeros([2, 2, 6, 6, 1], tf.uint8), tf.zeros([2, 2, 6, 6, 1], tf.uint8)
    known = tf.ones([2, 3]), tf.ones([2])
    with shared.knowing(one, known):
        assert shared(one) is known
        np.testing.assert_array_equal(shared(other)[0], network(other)[0])
    np.testing.assert_array_equal(shared(one)[0], network(one)[0])


def test_tf_agents_policies_play_with_the_network(loss, network, signal_game):
    game = signal_game()
    time_step = game.reset()
    step = loss.agent.collect_policy.action(time_step)
    assert step.action.shape == (game.batch_size,)
    assert step.action.dtype == tf.int32
    np.testing.assert_allclose(
        step.info["dist_params"]["logits"], network(time_step.observation)[0], rtol=1e-5
    )
    names = {variable.ref() for variable in loss.agent.collect_policy.variables()}
    assert names >= {variable.ref() for variable in network.trainable_variables}
    game.step(step.action)
