"""The loss of Rainbow, against numpy."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step, trajectory
from tf_agents.trajectories import time_step as ts

from simple_tf.agents.optimizers import policy_adam
from simple_tf.agents.rainbow import importance
from simple_tf.agents.rainbow_agent import RainbowAgent
from simple_tf.agents.rainbow_network import RainbowNetwork, ReturnDistribution

SHAPE, ACTIONS, ATOMS = (2, 6, 6, 1), 3, 5
OBSERVATION = tensor_spec.BoundedTensorSpec(SHAPE, tf.uint8, 0, 255)
ACTION = tensor_spec.BoundedTensorSpec((), tf.int32, 0, ACTIONS - 1)


def _network(seed, **options):
    options = {"convolutions": ((4, 3, 2),), "hidden_size": 8, **options}
    return RainbowNetwork(SHAPE, ACTIONS, num_atoms=ATOMS, max_return=2.0, seed=seed, **options)


def _agent(double=False, rate=0.1, period=1000, optimizer=None, **options):
    networks = [_network(seed, **options) for seed in (1, 2)]
    wrapped = [ReturnDistribution(n, OBSERVATION, f"net{i}") for i, n in enumerate(networks)]
    optimizer = optimizer or tf.keras.optimizers.SGD(rate)
    return RainbowAgent(
        ts.time_step_spec(OBSERVATION), ACTION, *wrapped, optimizer, period, double
    ), networks


def _transition(size=6):
    rng = np.random.default_rng(3)
    before, after = rng.integers(0, 256, (2, size, *SHAPE), np.uint8)
    types = tf.ones([size], tf.int32)
    ones = tf.ones([size])
    rewards = tf.constant(rng.normal(size=size), tf.float32)
    discounts = tf.constant([0.0, 0.9, 0.8, 0.97, 1.0, 0.3][:size], tf.float32)
    actions = tf.constant(rng.integers(0, ACTIONS, size), tf.int32)
    return trajectory.Transition(
        ts.TimeStep(types, ones, ones, tf.constant(before)),
        policy_step.PolicyStep(actions, (), ()),
        ts.TimeStep(types, rewards, discounts, tf.constant(after)),
    )


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _projected(reward, discount, probabilities, support):
    """Every atom's mass goes to its two neighbours on the fixed support, by nearness."""
    result, width = np.zeros_like(support), support[1] - support[0]
    for atom, mass in zip(support, probabilities, strict=True):
        place = (np.clip(reward + discount * atom, support[0], support[-1]) - support[0]) / width
        low = min(int(np.floor(place)), len(support) - 2)
        result[low] += mass * (low + 1 - place)
        result[low + 1] += mass * (place - low)
    return result


@pytest.mark.parametrize("double", [False, True])
def test_targets_are_the_projection_of_the_best_next_action(double):
    agent, (network, target) = _agent(double)
    transition = _transition()
    after = transition.next_time_step
    support = np.linspace(-2.0, 2.0, ATOMS)
    judged = _softmax(target.return_logits(after.observation).numpy())
    chooser = _softmax((network if double else target).return_logits(after.observation).numpy())
    best = (chooser * support).sum(-1).argmax(-1)
    other = _softmax((target if double else network).return_logits(after.observation).numpy())
    assert (best != (other * support).sum(-1).argmax(-1)).any()
    expected = [
        _projected(r, d, judged[i, best[i]], support)
        for i, (r, d) in enumerate(zip(after.reward.numpy(), after.discount.numpy(), strict=True))
    ]
    targets = agent.target_distribution(after).numpy()
    np.testing.assert_allclose(targets, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(targets.sum(-1), 1.0, rtol=1e-5)


def test_the_loss_is_weighted_and_told_for_every_example():
    agent, (network, _) = _agent()
    transition = _transition()
    weights = tf.constant([0.1, 1.0, 0.5, 0.0, 0.7, 0.2])
    targets = agent.target_distribution(transition.next_time_step).numpy()
    logits = network.return_logits(transition.time_step.observation).numpy()
    chosen = logits[np.arange(6), transition.action_step.action.numpy()]
    expected = -(targets * np.log(_softmax(chosen))).sum(-1)
    info = agent.loss(transition, weights)
    np.testing.assert_allclose(info.extra.td_loss, expected, rtol=1e-4)
    np.testing.assert_allclose(info.loss, (weights.numpy() * expected).mean(), rtol=1e-4)


def test_training_moves_the_learning_network_and_now_and_then_the_target():
    agent, (network, target) = _agent(period=2)
    transition, weights = _transition(), tf.ones([6])
    before = agent.loss(transition, weights).loss
    first = target.trainable_variables[0].numpy().copy()
    agent.train(transition, weights)
    np.testing.assert_array_equal(target.trainable_variables[0], first)
    agent.train(transition, weights)
    for mine, copied in zip(network.variables, target.variables, strict=True):
        np.testing.assert_array_equal(mine, copied)
    assert not np.array_equal(target.trainable_variables[0], first)
    assert before != agent.loss(transition, weights).loss


def test_the_optimiser_clips_all_gradients_by_their_common_norm():
    class Noting(tf.keras.optimizers.SGD):
        """Notes what is left of the gradients when they are applied."""

        noted = ()

        def _clip_gradients(self, grads):
            self.noted = super()._clip_gradients(grads)
            return self.noted

    norms = {}
    for clip_norm in (None, 0.01):
        optimizer = Noting(0.1, global_clipnorm=policy_adam(clip_norm=clip_norm).global_clipnorm)
        agent, _ = _agent(optimizer=optimizer)
        agent.train(_transition(), tf.ones([6]))
        norms[clip_norm] = np.sqrt(sum(np.square(g).sum() for g in optimizer.noted))
    assert norms[None] > 0.02
    np.testing.assert_allclose(norms[0.01], 0.01, rtol=1e-4)


def test_padded_convolutions_keep_the_border():
    shape = (4, 84, 84, 1)
    padded, not_padded = (RainbowNetwork(shape, 3, padding=p).encoder for p in ("same", "valid"))
    assert padded.size == 11 * 11 * 64  # 84 / 4 = 21, 21 / 2 = 11 rounded up, as in Dopamine.
    assert not_padded.size == 7 * 7 * 64
    assert padded(np.zeros((2, *shape), np.uint8)).shape == (2, padded.size)


def test_dueling_adds_a_common_part_to_centred_ones():
    network = _network(1, dueling=True)
    logits = network.return_logits(_transition().time_step.observation)
    features = network.encoder(_transition().time_step.observation)
    common = network.heads["common"](network.hidden["common"](features))
    np.testing.assert_allclose(tf.reduce_mean(logits, 1), common, rtol=1e-3, atol=1e-4)


def test_as_a_policy_it_is_epsilon_greedy():
    network = _network(1, evaluation_epsilon=0.3)
    observations = _transition().time_step.observation
    logits, values = network(observations)
    expected = network.action_values(network.return_logits(observations)).numpy()
    probabilities = np.exp(logits)
    np.testing.assert_allclose(probabilities.sum(-1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(probabilities.max(-1), 0.7 + 0.1, rtol=1e-5)
    np.testing.assert_array_equal(probabilities.argmax(-1), expected.argmax(-1))
    np.testing.assert_allclose(values, expected.max(-1), rtol=1e-5)


def test_importance_is_the_inverse_root_and_at_most_one():
    probabilities = np.array([0.5, 0.1, 0.01])
    expected = probabilities**-0.5 / 0.01**-0.5
    np.testing.assert_allclose(importance(tf.constant(probabilities)), expected, rtol=1e-5)
