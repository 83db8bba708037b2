"""The policy learns in half precision, too."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.clipped_loss import Minibatch
from simple_tf.agents.learner import PPOLearner
from simple_tf.agents.policy_network import PolicyNetwork

SHAPE = (2, 6, 6, 1)


@pytest.fixture
def make_learner(signal_game):
    def make(precision, **settings):
        network = PolicyNetwork(SHAPE, 3, filters=4, hidden_size=16, precision=precision)
        game = signal_game(seed=0)
        return PPOLearner(
            network,
            tf.keras.optimizers.Adam(3e-3),
            game.time_step_spec(),
            game.action_spec(),
            **settings,
        )

    return make


def _minibatch(size=32):
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 3, size)
    return Minibatch(
        observations=tf.constant(rng.integers(0, 256, (size, *SHAPE)), tf.uint8),
        actions=tf.constant(actions, tf.int32),
        log_probabilities=tf.fill([size], -np.log(3.0).astype(np.float32)),
        advantages=tf.constant(np.where(actions == 1, 1.0, -1.0), tf.float32),
        returns=tf.ones([size]),
        mask=tf.ones([size]),
    )


@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_the_policy_trains_with_weights_and_results_in_float32(make_learner, precision):
    learner, minibatch = make_learner(precision), _minibatch()
    network, hidden = learner.network, tf.fill([32], -1)
    assert all(variable.dtype == tf.float32 for variable in network.trainable_variables)
    assert network.hidden.compute_dtype == precision.removeprefix("mixed_")
    logits, values = network(minibatch.observations)
    assert (logits.dtype, values.dtype) == (tf.float32, tf.float32)
    step = tf.function(lambda: learner.apply(minibatch, hidden), autograph=False)
    losses = [float(step()["value_loss"]) for _ in range(40)]
    assert np.isfinite(losses).all()
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])


def test_gradients_are_those_of_float32_whatever_the_loss_scale(make_learner):
    minibatch, hidden = _minibatch(), tf.fill([32], -1)
    expected, _ = make_learner("float32").gradients(minibatch, hidden)
    for scale in (0.0, 2.0**10):
        found, _ = make_learner("mixed_float16", loss_scale=scale).gradients(minibatch, hidden)
        for one, other in zip(found, expected, strict=True):
            size = float(tf.reduce_max(tf.abs(other)))
            np.testing.assert_allclose(one, other, atol=0.05 * size + 1e-5)


def test_a_step_that_overflows_changes_nothing_but_the_scale(make_learner):
    learner = make_learner("mixed_float16", loss_scale=2.0**60)
    before = [variable.numpy() for variable in learner.network.trainable_variables]
    metrics = learner.apply(_minibatch(), tf.fill([32], -1))
    assert not np.isfinite(float(metrics["gradient_norm"]))
    for variable, value in zip(learner.network.trainable_variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)
    assert float(learner._loss_scale.value) == 2.0**59
