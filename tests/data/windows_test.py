"""Windows are exactly the valid ones, drawn uniformly, reproducibly, without end."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.split import split_episodes
from simple_tf.data.windows import UniformSampler, WindowDataset

ITERATIONS = [[30, 9, 3], [1, 17, 25]]


def _windows(store, **changes) -> WindowDataset:
    settings = {"split": "train", "num_input_frames": 4, "num_target_frames": 2}
    settings |= {"batch_size": 5, "seed": 3} | changes
    return WindowDataset(store, **settings)


def _expected(store, make_frames, split, length):
    """All windows by brute force: (frames, actions, reward classes)."""
    for segment in split_episodes(store.episodes, split):
        episode = store.episodes[segment.episode]
        frames = make_frames(*episode.key, episode.num_steps, episode.frame_shape)
        for first in range(segment.begin, segment.end - length + 1):
            steps = slice(first, first + length - 1)
            yield frames[first : first + length], episode.actions[steps], episode.rewards[steps] + 1


@pytest.mark.parametrize("split", ["train", "dev"])
def test_there_are_exactly_the_valid_windows(make_store, make_frames, split):
    store = make_store(ITERATIONS)
    dataset = _windows(store, split=split, num_input_frames=2, num_target_frames=1)
    expected = list(_expected(store, make_frames, split, 3))
    assert dataset.num_windows == len(expected)
    batch = dataset.read(np.arange(dataset.num_windows))
    for name, column in zip(
        ("frames", "actions", "reward_classes"), zip(*expected, strict=True), strict=True
    ):
        np.testing.assert_array_equal(batch[name], np.stack(column))


def test_batches_have_the_promised_form(make_store):
    (batch,) = _windows(make_store(ITERATIONS)).batches().take(1)
    assert batch["frames"].shape == (5, 6, 12, 10, 3)
    assert batch["actions"].shape == batch["reward_classes"].shape == (5, 5)
    assert batch["ages"].shape == (5,)
    assert [batch[name].dtype for name in batch] == [tf.uint8, tf.int32, tf.int32, tf.int32]


def test_no_thread_tunes_the_pipeline_and_is_waited_for_when_it_is_dropped(make_store):
    assert _windows(make_store(ITERATIONS)).batches().options().autotune.enabled is False


def test_static_shapes_are_known_to_the_model(make_store):
    spec = _windows(make_store(ITERATIONS)).batches().element_spec
    assert spec["frames"].shape == (5, 6, 12, 10, 3)
    assert spec["actions"].shape == spec["reward_classes"].shape == (5, 5)
    assert spec["ages"].shape == (5,)


def test_windows_do_not_cross_an_episode_or_the_border(make_store):
    store = make_store(ITERATIONS)
    borders = {
        store.episodes[segment.episode].key: segment.end
        for segment in split_episodes(store.episodes, "train")
    }
    for batch in _windows(store).batches().take(50):
        origin = batch["frames"].numpy()[:, :, 0, 0].astype(int)  # [B, L, (iteration, index, t)]
        assert (np.diff(origin[..., :2], axis=1) == 0).all()
        assert (np.diff(origin[..., 2], axis=1) == 1).all()
        assert all(last[2] < borders[last[0], last[1]] for last in origin[:, -1])


def test_a_resumed_run_sees_the_same_batches(make_store):
    dataset = _windows(make_store(ITERATIONS))
    undisturbed = list(dataset.batches().take(7))
    resumed = list(dataset.batches(first_batch=4).take(3))
    for before, after in zip(undisturbed[4:], resumed, strict=True):
        for name in before:
            np.testing.assert_array_equal(before[name], after[name])
    assert not np.array_equal(undisturbed[0]["frames"], undisturbed[1]["frames"])


def test_another_seed_gives_other_batches(make_store):
    store = make_store(ITERATIONS)
    (one,) = _windows(store).batches().take(1)
    (other,) = _windows(store, seed=4).batches().take(1)
    assert not np.array_equal(one["frames"], other["frames"])


def test_drawing_is_uniform():
    sampler = UniformSampler(num_windows=50, batch_size=100, seed=-1)
    draws = np.concatenate([sampler(tf.constant(s, tf.int64)).numpy() for s in range(200)])
    counts = np.bincount(draws, minlength=50)
    chi_square = ((counts - 400.0) ** 2 / 400.0).sum()
    assert len(counts) == 50
    assert 23.98 < chi_square < 85.35  # 0.1 % and 99.9 % points for 49 degrees of freedom.


def test_chosen_iterations_only(make_store):
    dataset = _windows(make_store(ITERATIONS), iterations=[1])
    seen = Counter(
        int(number)
        for batch in dataset.batches().take(20)
        for number in batch["frames"][:, 0, 0, 0, 0]
    )
    assert set(seen) == {1}


def test_later_episodes_do_not_change_a_dataset(make_store, make_episode):
    store = make_store(ITERATIONS)
    dataset = _windows(store)
    (before,) = dataset.batches().take(1)
    store.append(make_episode(2, 0, 30))
    (after,) = dataset.batches().take(1)
    np.testing.assert_array_equal(before["frames"], after["frames"])


def test_no_window_is_long_enough(make_store):
    store = make_store([[9, 12]])
    with pytest.raises(ValueError, match=r"4 \+ 20 frames for train: the 2 segments .* at most 10"):
        _windows(store, num_target_frames=20)


def test_missing_iterations(make_store):
    with pytest.raises(ValueError, match=r"has iterations \[0, 1\], not all of \[1, 2\]"):
        _windows(make_store(ITERATIONS), iterations=[1, 2])


def test_empty_store(make_store):
    with pytest.raises(ValueError, match="the 0 segments"):
        _windows(make_store([]))


@pytest.mark.parametrize("numbers", [[-1], [10**6], []])
def test_window_numbers_out_of_range(make_store, numbers):
    with pytest.raises(ValueError, match="ask for windows 0 to"):
        _windows(make_store(ITERATIONS)).read(numbers)


def test_a_file_that_is_damaged_later_is_not_silently_used(make_store):
    store = make_store([[40]])
    dataset = _windows(store, num_input_frames=1, num_target_frames=1)
    data = bytearray(store.episodes[0].path.read_bytes())
    data[int(store.episodes[0].frame_offsets[5]) + 100] ^= 1
    store.episodes[0].path.write_bytes(data)
    with pytest.raises(tf.errors.OpError):
        dataset.read([5])
    store.episodes[0].path.write_bytes(data[:-3])
    with pytest.raises(tf.errors.OpError, match="episode_00000"):
        dataset.read([7])


def test_a_process_that_stops_in_mid_stream_ends(make_store):
    """Background reading must not keep the interpreter from going down."""
    store = make_store(ITERATIONS)
    program = f"""
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowDataset
dataset = WindowDataset(EpisodeStore.open({str(store.directory)!r}), split="train",
                        num_input_frames=4, num_target_frames=1, batch_size=64, seed=0)
iterator = iter(dataset.batches())
for _ in range(20):
    next(iterator)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def _num_rewarded(batch, num_input_frames=4) -> np.ndarray:
    """Whether each window has a reward among its targets, bool [B]."""
    return (batch["reward_classes"].numpy()[:, num_input_frames - 1 :] != 1).any(axis=1)


def test_a_share_of_every_batch_is_rewarded(make_sparse_store):
    store = make_sparse_store()
    for share, expected in ((0.4, 4), (0.05, 1), (1.0, 10)):
        dataset = _windows(store, batch_size=10, rewarded_share=share)
        for batch in dataset.batches().take(20):
            assert _num_rewarded(batch)[:expected].all()


def test_the_rest_of_the_batch_is_as_without_a_share(make_sparse_store):
    store = make_sparse_store()
    plain = _windows(store, batch_size=10).batches().take(20)
    shared = _windows(store, batch_size=10, rewarded_share=0.4).batches().take(20)
    for one, other in zip(plain, shared, strict=True):
        np.testing.assert_array_equal(one["frames"][4:], other["frames"][4:])


def test_all_windows_with_a_reward_are_equally_likely(make_sparse_store):
    store = make_sparse_store()
    dataset = _windows(store, batch_size=50, rewarded_share=1.0)
    every = dataset.read(np.arange(dataset.num_windows))
    targets = every["reward_classes"].numpy()[:, 3:]
    expected = {r: _origins(every)[(targets == r).any(axis=1)] for r in (0, 2)}
    assert len(expected[0]) > 4 * len(expected[2]) > 0
    seen = {0: Counter(), 2: Counter()}
    for batch in dataset.batches().take(60):
        rewards = batch["reward_classes"].numpy()[:, 3:]
        for reward, counter in seen.items():
            counter.update(map(tuple, _origins(batch)[(rewards == reward).any(axis=1)]))
    for reward, counter in seen.items():
        assert set(counter) == set(map(tuple, expected[reward]))
    parts = [seen[reward].total() / len(expected[reward]) for reward in (0, 2)]
    assert parts[1] == pytest.approx(parts[0], rel=0.15)


def test_rewarded_batches_depend_on_seed_and_number_alone(make_sparse_store):
    dataset = _windows(make_sparse_store(), rewarded_share=0.5)
    undisturbed = list(dataset.batches().take(5))
    (resumed,) = dataset.batches(first_batch=3).take(1)
    np.testing.assert_array_equal(undisturbed[3]["frames"], resumed["frames"])
    assert not np.array_equal(undisturbed[3]["frames"], undisturbed[4]["frames"])


def test_without_any_reward_all_windows_are_drawn(make_sparse_store):
    store = make_sparse_store(losses=(), gains=())
    (one,) = _windows(store).batches().take(1)
    (other,) = _windows(store, rewarded_share=0.5).batches().take(1)
    np.testing.assert_array_equal(one["frames"], other["frames"])


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_what_is_not_a_share(make_store, share):
    with pytest.raises(ValueError, match="rewarded_share must be from 0 to 1"):
        _windows(make_store(ITERATIONS), rewarded_share=share)


def _origins(batch) -> np.ndarray:
    """(iteration, index, number) of each window's first frame, [B, 3]."""
    return batch["frames"].numpy()[:, 0, 0, 0].astype(int)


def _surprising(frames_of_second_episode):
    """Says that these frames of the second episode are surprising, each as much as it is given."""

    def surprises(episodes):
        values = [np.zeros(episode.num_frames) for episode in episodes]
        for frame, value in frames_of_second_episode.items():
            values[1][frame] = value
        return values

    return surprises


def test_surprising_windows_are_drawn_in_proportion(make_sparse_store):
    dataset = _windows(
        make_sparse_store(),
        batch_size=40,
        surprising_share=0.5,
        surprises=_surprising({10: 1.0, 30: 3.0}),
    )
    seen = Counter()
    for batch in dataset.batches().take(60):
        seen.update(map(tuple, _origins(batch)[20:]))
    # The targets are the fifth and the sixth frame of a window.
    assert set(seen) == {(0, 1, first) for first in (5, 6, 25, 26)}
    rare, frequent = (seen[0, 1, a] + seen[0, 1, a + 1] for a in (5, 25))
    assert frequent / rare == pytest.approx(3, rel=0.2)


def test_surprising_windows_leave_the_others_as_they_are(make_sparse_store):
    store, favoured = make_sparse_store(), _surprising({10: 1.0})
    plain = _windows(store, batch_size=10, rewarded_share=0.4)
    dataset = _windows(
        store, batch_size=10, rewarded_share=0.4, surprising_share=0.2, surprises=favoured
    )
    for one, other in zip(plain.batches().take(9), dataset.batches().take(9), strict=True):
        np.testing.assert_array_equal(one["frames"][:8], other["frames"][:8])
    (resumed,) = dataset.batches(first_batch=8).take(1)
    np.testing.assert_array_equal(other["frames"], resumed["frames"])


def test_without_any_surprise_all_windows_are_drawn(make_sparse_store):
    store = make_sparse_store()
    (one,) = _windows(store).batches().take(1)
    (other,) = _windows(store, surprising_share=0.5, surprises=_surprising({})).batches().take(1)
    np.testing.assert_array_equal(one["frames"], other["frames"])


def test_surprises_are_not_asked_for_without_a_share(make_sparse_store):
    _windows(make_sparse_store(), surprises=lambda _: pytest.fail("asked"))


def test_shares_that_do_not_fit_into_a_batch(make_sparse_store):
    store = make_sparse_store()
    with pytest.raises(ValueError, match="surprising_share must be from 0 to 1"):
        _windows(store, surprising_share=1.5)
    with pytest.raises(ValueError, match="needs surprises"):
        _windows(store, surprising_share=0.5)
    with pytest.raises(ValueError, match="add up to more than 1"):
        _windows(store, batch_size=5, rewarded_share=0.6, surprising_share=0.6)


def test_shares_that_only_rounding_makes_too_large_fill_the_batch(make_sparse_store):
    dataset = _windows(
        make_sparse_store(),
        batch_size=2,
        rewarded_share=0.25,
        surprising_share=0.75,
        surprises=_surprising({10: 1.0}),
    )
    (batch,) = dataset.batches().take(1)
    assert tuple(_origins(batch)[1]) in {(0, 1, 5), (0, 1, 6)}
