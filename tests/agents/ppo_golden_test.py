"""Minibatch steps equal the original's: losses, gradients and weights."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from simple_tf.agents.clipped_loss import Minibatch
from simple_tf.agents.learner import PPOLearner
from simple_tf.agents.optimizers import policy_adam


@pytest.fixture(scope="module")
def learner(recorded_policy, recording):
    observation = tensor_spec.BoundedTensorSpec(recorded_policy.observation_shape, tf.uint8, 0, 255)
    action = tensor_spec.BoundedTensorSpec((), tf.int32, 0, 5)
    optimizer = policy_adam(float(recording["ppo_step/lr"]))
    return PPOLearner(recorded_policy, optimizer, ts.time_step_spec(observation), action)


@pytest.fixture(scope="module")
def minibatch(recording):
    def flat(name):
        values = recording[f"ppo_step/in/{name}"]
        return tf.constant(values.reshape(6, *values.shape[2:]))

    return Minibatch(
        observations=flat("observation"),
        actions=flat("action"),
        log_probabilities=tf.math.log(flat("old_pdf")),
        advantages=flat("norm_advantage"),
        returns=flat("discounted_reward"),
        mask=tf.ones(6),
    )


@pytest.fixture(scope="module")
def steps(learner, minibatch):
    """Gradients before the first step; metrics and weights after each of three."""
    iterations = tf.fill([6], 3)
    gradients, _ = learner.gradients(minibatch, iterations)
    apply = tf.function(learner.apply, autograph=False)
    results = []
    for _ in range(3):
        metrics = apply(minibatch, iterations)
        results.append((metrics, [v.numpy() for v in learner.network.trainable_variables]))
    return gradients, results


def test_losses_of_three_successive_steps(steps, recording):
    for (metrics, _), expected in zip(
        steps[1], recording["ppo_step/losses_policy_value_entropy"], strict=True
    ):
        ours = [metrics["policy_loss"], metrics["value_loss"], -0.01 * metrics["entropy"]]
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-6)


def test_gradients_before_clipping(steps, learner, recording, recorded_names):
    expected = dict(
        zip(recording["ppo_step/grad_l2_names"], recording["ppo_step/grad_l2"], strict=True)
    )
    variables = learner.network.trainable_variables
    assert len(variables) == len(expected)
    for variable, gradient in zip(variables, steps[0], strict=True):
        norm = np.linalg.norm(gradient)
        np.testing.assert_allclose(norm, expected[recorded_names(variable)], rtol=1e-4)
    total = np.sqrt(sum(norm**2 for norm in expected.values()))
    np.testing.assert_allclose(steps[1][0][0]["gradient_norm"], total, rtol=1e-4)


@pytest.mark.parametrize("count", [1, 3])
def test_weights_after_one_and_three_steps(steps, learner, recording, recorded_names, count):
    names = list(recording[f"ppo_step/after{count}_names"])
    weights = steps[1][count - 1][1]
    for variable, value in zip(learner.network.trainable_variables, weights, strict=True):
        row = names.index(recorded_names(variable))
        first8 = recording[f"ppo_step/after{count}_first8"][row]
        first8 = first8[~np.isnan(first8)]
        # A step moves a weight by at most about 1e-4: this compares the moves to 1 %.
        np.testing.assert_allclose(value.ravel()[: len(first8)], first8, atol=1e-6, rtol=1e-6)
        norm = np.linalg.norm(value.astype(np.float64))
        np.testing.assert_allclose(norm, recording[f"ppo_step/after{count}_l2"][row], rtol=1e-6)
