"""Evaluation of scripted models whose every error is known, on a real store."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.description import StoreDescription
from simple_tf.data.store import EpisodeStore
from simple_tf.evaluation.world_model import WorldModelEvaluator
from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.interface import Prediction

from .conftest import NUM_ACTIONS, PIXELS, SHAPE, STACK, CountingModel

SMALL = {"horizon": 10, "batch_size": 3, "num_batches": 2}


def test_a_perfect_model_scores_one_everywhere(counting_store):
    scores = WorldModelEvaluator(CountingModel(), **SMALL).evaluate(counting_store()).scores
    assert scores.num_rollouts == 6
    for name in ("reward_accuracy", "pixel_accuracy", "changed_pixel_accuracy", "perfect_frames"):
        np.testing.assert_array_equal(getattr(scores, name), np.ones(10), err_msg=name)
    # Only the counter moves, in every frame.
    np.testing.assert_allclose(scores.frozen_pixel_accuracy, np.full(10, 1 - 1 / PIXELS))


def test_errors_appear_at_the_step_where_they_are_made(counting_store):
    model = CountingModel(wrong_after=4, pays_until=2)
    result = WorldModelEvaluator(model, **SMALL).evaluate(counting_store())
    scores = result.scores
    np.testing.assert_array_equal(scores.perfect_frames, [1] * 3 + [0] * 7)
    np.testing.assert_allclose(scores.pixel_accuracy, [1.0] * 3 + [1 - 1 / PIXELS] * 7)
    np.testing.assert_array_equal(scores.changed_pixel_accuracy, np.ones(10))
    np.testing.assert_array_equal(scores.reward_accuracy[:2], [1, 1])
    # After step 2 the model pays nothing: right where the real rewards since then sum to 0.
    later = result.examples.real_rewards[:, 2:].cumsum(axis=1)
    simulated = result.examples.simulated_rewards
    np.testing.assert_array_equal(simulated[:, :2], result.examples.real_rewards[:, :2])
    assert not simulated[:, 2:].any()
    assert later.any()


def test_real_frames_and_rewards_belong_to_the_same_step(counting_store):
    examples = WorldModelEvaluator(CountingModel(), **SMALL).evaluate(counting_store()).examples
    first = examples.start[:, 0, 0, 0].astype(int)
    np.testing.assert_array_equal(
        examples.real[..., 0, 0, 0], first[:, None] + np.arange(1, 11)[None]
    )
    np.testing.assert_array_equal(examples.real_rewards, examples.simulated_rewards)
    assert examples.real_rewards.any()


class _AgeModel(CountingModel):
    """Shows in the last pixel how long ago the last reward was when its rollout began."""

    def initial_state(self, frames, actions, seed=(0, 0), ages=None):
        return ages

    def step(self, state, frames, action, seed):
        black = tf.zeros([frames.shape[0], PIXELS - 1, 3])
        shown = tf.repeat(tf.cast(state, tf.float32)[:, None, None], 3, axis=-1)
        outputs = tf.reshape(tf.concat([black, shown], axis=1), [-1, *SHAPE])
        return Prediction(state, outputs, tf.one_hot(tf.ones_like(action), 3))


def test_rollouts_begin_with_the_age_at_the_newest_frame_that_is_shown(counting_store):
    store = counting_store()
    evaluator = WorldModelEvaluator(_AgeModel(), horizon=10, batch_size=16, num_batches=1)
    examples = evaluator.evaluate(store).examples
    rewards = store.episodes[1].rewards  # Dev play, see below.
    told = examples.simulated[:, :, -1, -1, 0]
    for newest, ages in zip(examples.start[:, 0, 0, 0].astype(int), told, strict=True):
        (earlier,) = np.nonzero(rewards[:newest])
        assert (ages == newest - 1 - earlier[-1]).all()
    assert len(np.unique(told)) > 1


def test_only_dev_play_is_used(counting_store):
    examples = WorldModelEvaluator(CountingModel(), **SMALL).evaluate(counting_store()).examples
    # 2 x 121 frames are cut at 10 * (242 // 11) = 220: dev begins at frame 99 of the second.
    assert (examples.start[:, 0, 0, 0] >= 99 + STACK - 1).all()


@pytest.mark.parametrize("jit_compile", [False, True])
def test_the_seed_decides(counting_store, jit_compile):
    store = counting_store()

    def evaluate(seed):
        model = CountingModel(noisy=True)
        evaluator = WorldModelEvaluator(model, **SMALL, seed=seed, jit_compile=jit_compile)
        return evaluator.evaluate(store).examples

    first, again, other = evaluate(1), evaluate(1), evaluate(2)
    np.testing.assert_array_equal(first.simulated, again.simulated)
    np.testing.assert_array_equal(first.real, again.real)
    assert (first.simulated[:, :, 0, 1] != other.simulated[:, :, 0, 1]).any()
    # Draws differ between steps and between rollouts.
    assert len(np.unique(first.simulated[:, :, 0, 1].reshape(-1, 3), axis=0)) > 20


def test_a_real_network_runs_with_and_without_xla(counting_store):
    store = counting_store()
    model = DeterministicModel(
        SHAPE, NUM_ACTIONS, SoftmaxHead(3), hidden_size=8, compress_steps=1, doubling_steps=1
    )
    plain, compiled = (
        WorldModelEvaluator(model, **SMALL, jit_compile=jit).evaluate(store).scores
        for jit in (False, True)
    )
    assert plain.pixel_accuracy.mean() < 0.5  # Untrained.
    np.testing.assert_allclose(plain.pixel_accuracy, compiled.pixel_accuracy, atol=0.05)


def test_too_little_play_is_said_with_numbers(counting_store):
    store = counting_store()
    evaluator = WorldModelEvaluator(CountingModel(), horizon=30, batch_size=2, num_batches=1)
    with pytest.raises(ValueError, match=r"no window of 4 \+ 30 frames.*at most 22 frames"):
        evaluator.evaluate(store)
    shorter = WorldModelEvaluator(CountingModel(), horizon=18, batch_size=2, num_batches=1)
    assert shorter.evaluate(store).scores.horizon == 18


def test_another_game_is_refused(tmp_path, counting_store):
    other = StoreDescription("other", (8, 8, 3), ("NOOP",))
    evaluator = WorldModelEvaluator(CountingModel(), **SMALL)
    with pytest.raises(ValueError, match=r"3 actions, but .*other.* has \(8, 8, 3\) and 1"):
        evaluator.evaluate(EpisodeStore.create_or_open(tmp_path / "other", other))
    with pytest.raises(ValueError, match="no episode"):
        evaluator.evaluate(counting_store(episodes=0, name="empty"))
    with pytest.raises(ValueError, match=r"iterations \[0\], not all of \[5\]"):
        evaluator.evaluate(counting_store(), iteration=5)


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="at least 1 step"):
        WorldModelEvaluator(CountingModel(), horizon=0)
    with pytest.raises(ValueError, match="at least 1 batch"):
        WorldModelEvaluator(CountingModel(), num_batches=0)
