"""How long ago the last reward was: counted by hand, in windows, and where rollouts start."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.reward_ages import (
    LONG_AGO,
    age_after,
    ages_along,
    ages_or_long_ago,
    reward_ages,
)
from simple_tf.data.starts import StartSampler
from simple_tf.data.windows import WindowDataset

K = 4
SHAPE = (12, 10, 3)


def _counted(rewards, frame) -> int | None:
    """Steps since the last reward before or at a frame, by looking back; None: there is none."""
    for steps_ago in range(frame):
        if rewards[frame - 1 - steps_ago]:
            return steps_ago
    return None


def _assert_ages(ages, places, store) -> None:
    """Ages [N] of frames at (iteration, index, number) [N, 3] are those of the stored rewards."""
    rewards = {episode.key: episode.rewards for episode in store.episodes}
    found = set()
    for age, (iteration, index, number) in zip(ages, places, strict=True):
        expected = _counted(rewards[iteration, index], number)
        found.add(expected)
        if expected is None:
            assert age >= LONG_AGO
        else:
            assert age == expected
    assert len(found) > 4  # Or there would be nothing to mistake.


def test_ages_of_an_episode():
    ages = reward_ages(np.array([0, 1, 0, 0, -1, -1, 0], np.int8))
    assert ages.dtype == np.int32
    assert ages[2:].tolist() == [0, 1, 2, 0, 0, 1]
    assert (ages[:2] >= LONG_AGO).all()


def test_the_longest_episode_leaves_ages_within_int32():
    ages = reward_ages(np.zeros(1 << 18, np.int8))
    assert ages.min() >= LONG_AGO
    assert ages.max() < np.iinfo(np.int32).max // 2


def test_windows_go_on_counting():
    rewards = np.random.default_rng(0).choice([-1, 0, 0, 0, 1], (3, 30))
    ages = np.stack([reward_ages(row) for row in rewards])
    classes = tf.constant(rewards + 1, tf.int32)
    for first in (0, 7, 20):
        along = ages_along(tf.constant(ages[:, first]), classes[:, first:])
        np.testing.assert_array_equal(along, ages[:, first:])
    alone = ages_along(tf.constant(ages[:, 3]), classes[:, :0])
    np.testing.assert_array_equal(alone, ages[:, 3:4])


def test_losses_and_gains_both_begin_anew():
    after = age_after(tf.constant([5, 5, 5]), tf.constant([0, 1, 2]))
    assert after.numpy().tolist() == [0, 6, 0]


def test_unknown_ages_are_long_ago():
    frames = tf.zeros([3, 2, 1])
    assert ages_or_long_ago(None, frames).numpy().tolist() == [LONG_AGO] * 3
    known = tf.constant([1, 2, 3])
    assert ages_or_long_ago(known, frames) is known


@pytest.mark.parametrize("split", ["train", "dev"])
def test_windows_have_the_age_at_their_first_frame(make_sparse_store, split):
    """Those of the dev split begin in the middle of an episode: what was before counts."""
    losses = [(2, 150), (2, 170), (2, 176)]
    store = make_sparse_store(losses, [(0, 20), (1, 9), (2, 80)], lengths=(60, 70, 200))
    windows = WindowDataset(
        store, split=split, num_input_frames=K, num_target_frames=2, batch_size=5, seed=3
    )
    batch = windows.read(np.arange(windows.num_windows))
    first, last = (batch["frames"].numpy()[:, t, 0, 0].astype(int) for t in (0, -1))
    _assert_ages(batch["ages"].numpy(), first, store)
    along = ages_along(batch["ages"], batch["reward_classes"])
    _assert_ages(along.numpy()[:, -1], last, store)


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_starts_have_the_age_at_their_newest_frame(make_sparse_store, share, jit_compile):
    store = make_sparse_store()
    sampler = StartSampler(SHAPE, K, rewarded_share=share, lead=5)
    sampler.load(store)
    sample = tf.function(sampler.sample, jit_compile=jit_compile)
    starts = sample(300, tf.constant([1, 2]))
    assert starts.ages.dtype == tf.int32
    _assert_ages(starts.ages.numpy(), starts.frames.numpy()[:, -1, 0, 0].astype(int), store)


def test_starts_of_several_iterations_keep_their_ages(make_store):
    store = make_store([[20], [30, 10], [40]])
    sampler = StartSampler(SHAPE, K, iterations="all")
    sampler.load(store)
    starts = sampler.sample(400, tf.constant([1, 1]))
    _assert_ages(starts.ages.numpy(), starts.frames.numpy()[:, -1, 0, 0].astype(int), store)
