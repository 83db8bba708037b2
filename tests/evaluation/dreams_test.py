"""Dreams beside segments: every model of the paper, and against models rolled out by hand."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.evaluation.dreams import Dreamer, stacked
from simple_tf.evaluation.rollout import RolloutSimulator
from simple_tf.evaluation.segments import Segments
from simple_tf.models.bits import BitOptions
from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.gaussian import GaussianModel
from simple_tf.models.heads import L2Head
from simple_tf.models.interface import Prediction
from simple_tf.models.patch import PatchModel
from simple_tf.models.recurrent import RecurrentModel
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel
from simple_tf.seeding import derive_seed_pair

from .ring import RingModel, RingPolicy

SHAPE = (12, 16, 3)
STACK, HORIZON = 4, 3
SMALL = {"hidden_size": 8, "compress_steps": 1, "doubling_steps": 1}
BITS = {"bits": BitOptions(num_bits=8, predictor_units=8, posterior_filters=(4, 4))}
MODELS = {
    "deterministic": (DeterministicModel, SMALL),
    "stacked": (StochasticDiscreteModel, {"inputs": "stacked", **BITS, **SMALL}),
    "carried": (StochasticDiscreteModel, {"inputs": "carried", **BITS, **SMALL}),
    "recurrent": (RecurrentModel, {**BITS, **SMALL}),
    "gaussian": (GaussianModel, {"latent_size": 8, "posterior_filters": (4, 4), **SMALL}),
    "patch": (PatchModel, {"hidden_size": 8, "past_actions": True}),
    "ages": (PatchModel, {"hidden_size": 8, "past_actions": True, "reward_ages": 8}),
}


@pytest.fixture(scope="module")
def segments():
    """Noise: five segments of three steps."""
    rng = np.random.default_rng(0)
    return Segments(
        frames=rng.integers(0, 256, (5, STACK + HORIZON, *SHAPE), np.uint8),
        actions=rng.integers(0, 2, (5, STACK - 1 + HORIZON)).astype(np.int32),
        rewards=rng.integers(-1, 2, (5, HORIZON)).astype(np.int32),
        returns_to_go=np.zeros(5),
        ages=np.array([0, 1, 2, 30, 1 << 20], np.int32),
    )


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_asked(name, segments):
    constructor, options = MODELS[name]
    model = constructor(SHAPE, 2, L2Head(3), **options)
    steps = []
    dreamer = Dreamer(model, RingPolicy(), batch_size=2, seed=7, report=steps.append)
    followed = dreamer.follow(segments)
    assert followed.frames.shape == (5, HORIZON, *SHAPE)
    np.testing.assert_allclose(followed.probabilities.sum(axis=-1), 1.0, rtol=1e-5)
    # The first batch by other means: same frames, same likeliest rewards.
    seed = tf.constant(derive_seed_pair(7, "diagnosis: follow", 0), tf.int32)
    by_hand = RolloutSimulator(model, HORIZON)
    frames, rewards = by_hand(segments.history[:2], segments.actions[:2], seed, segments.ages[:2])
    np.testing.assert_array_equal(followed.frames[:2], frames)
    np.testing.assert_array_equal(followed.probabilities[:2].argmax(axis=-1) - 1, rewards)
    foreseen = dreamer.foresee(segments)
    assert foreseen.shape == (5, HORIZON, 3)
    if name in ("deterministic", "patch", "ages"):  # Nothing is drawn: the first step is the same.
        np.testing.assert_allclose(foreseen[:, 0], followed.probabilities[:, 0], atol=1e-5)
    assert sum(steps) >= 2 * segments.rewards.size


def test_the_policy_acts_by_what_it_sees(segments):
    """The ring's dot moves as the policy says: nearly always to the right."""
    history = np.zeros((5, STACK, *SHAPE), np.uint8)
    history[:, :, 4:8, 3] = 255
    frames = np.concatenate([history, segments.real], axis=1)
    start = dataclasses.replace(segments, frames=frames)
    right = Dreamer(RingModel(), RingPolicy(right=1 - 1e-6), batch_size=4).act(start)
    columns = right.frames[:, :, 5, :, 0].argmax(axis=-1)
    np.testing.assert_array_equal(columns, [[4, 5, 6]] * 5)
    mixed = Dreamer(RingModel(), RingPolicy(right=0.5), batch_size=5, seed=1)
    first, again = mixed.act(start).frames, mixed.act(start).frames
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first[:, 0, 5, :, 0].argmax(axis=-1))) == 2  # Games differ.


def test_stacks_are_consecutive_frames(segments):
    stacks = stacked(segments.frames, STACK)
    assert stacks.shape == (5, HORIZON + 1, STACK, *SHAPE)
    np.testing.assert_array_equal(stacks[:, 0], segments.history)
    np.testing.assert_array_equal(stacks[3, 2], segments.frames[3, 2 : 2 + STACK])
    judged = Dreamer(RingModel(), RingPolicy(right=0.8)).judge(segments.frames)
    assert judged.values.shape == judged.entropies.shape == (5, HORIZON + 1)


class AgeModel(RingModel):
    """Is as sure of a reward as the last one is long ago, and shows that it was told."""

    def initial_state(self, frames, actions, seed=(0, 0), ages=None):
        return ages

    def step(self, state, frames, action, seed):
        zero = tf.zeros(state.shape)
        logits = tf.stack([zero, zero, tf.cast(state, tf.float32)], axis=-1)
        return Prediction(state + 1, tf.cast(frames[:, -1], tf.float32), logits)


def test_the_model_is_told_how_long_ago_the_last_reward_was(segments):
    ages = np.array([0, 1, 2, 5, 9], np.int32)
    rewards = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0], [0, 0, 0], [1, -1, 0]], np.int32)
    told = dataclasses.replace(segments, ages=ages, rewards=rewards)
    dreamer = Dreamer(AgeModel(), RingPolicy(), batch_size=2)

    def recovered(probabilities):
        return np.log(probabilities[..., 2] / probabilities[..., 0])

    for dreams in (dreamer.follow(told), dreamer.act(told)):
        counted = ages[:, None] + np.arange(HORIZON)
        np.testing.assert_allclose(recovered(dreams.probabilities), counted, atol=1e-3)
    # Between real frames it is told of the real rewards.
    foreseen = recovered(dreamer.foresee(told))
    expected = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [5, 6, 7], [9, 0, 0]]
    np.testing.assert_allclose(foreseen, expected, atol=1e-3)
