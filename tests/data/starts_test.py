"""Start states: valid, uniform, without Python per draw, without retracing."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.split import split_episodes
from simple_tf.data.starts import StartSampler

K = 4
SHAPE = (12, 10, 3)


def _loaded(store, **settings) -> StartSampler:
    sampler = StartSampler(SHAPE, K, **settings)
    sampler.load(store)
    return sampler


def _valid_starts(store) -> set[tuple[int, int]]:
    """(episode index, first frame) of every valid start of the latest iteration."""
    episodes = store.episodes_of(store.iterations[-1])
    return {
        (episodes[segment.episode].index, first)
        for segment in split_episodes(episodes, "train")
        for first in range(segment.begin, segment.end - K + 1)
    }


@pytest.mark.parametrize("jit_compile", [False, True])
def test_samples_are_the_valid_starts_of_the_latest_iteration(make_store, jit_compile):
    store = make_store([[40], [2, 10, 20, 5]])
    sampler = _loaded(store)
    sample = tf.function(sampler.sample, jit_compile=jit_compile)
    frames, actions, _ = sample(500, tf.constant([1, 2]))
    origin = frames.numpy()[:, :, 0, 0].astype(int)  # [B, K, (iteration, index, t)]
    assert (origin[..., 0] == 1).all()
    assert (np.diff(origin[..., 1], axis=1) == 0).all()
    assert (np.diff(origin[..., 2], axis=1) == 1).all()
    starts = {tuple(start) for start in origin[:, 0, 1:].tolist()}
    assert starts == _valid_starts(store)
    assert sampler.num_starts == len(starts)
    for (_, index, first), row in zip(origin[:, 0], actions.numpy(), strict=True):
        expected = store.episodes_of(1)[index].actions[first : first + K - 1]
        np.testing.assert_array_equal(row, expected)


def test_frames_are_the_stored_ones(make_store, make_frames):
    sampler = _loaded(make_store([[30]]))
    played = make_frames(0, 0, 30, SHAPE)
    frames, *_ = sampler.sample(64, tf.constant([0, 1]))
    for stack in frames.numpy():
        first = int(stack[0, 0, 0, 2])
        np.testing.assert_array_equal(stack, played[first : first + K])


def test_the_first_is_the_beginning_of_the_first_episode_that_is_long_enough(make_store):
    sampler = _loaded(make_store([[40], [2, 10, 20]]))
    for seed in range(20):
        frames, *_ = sampler.sample(3, tf.constant([seed, 0]))
        assert frames.numpy()[0, :, 0, 0].tolist() == [[1, 1, t] for t in range(K)]


def test_without_random_starts_all_are_the_beginning(make_store):
    sampler = _loaded(make_store([[20, 30]]), random_starts=False)
    frames, actions, _ = sampler.sample(8, tf.constant([3, 4]))
    assert (frames.numpy()[:, 0, 0, 0] == [0, 0, 0]).all()
    assert (actions.numpy() == actions.numpy()[0]).all()


def test_drawing_is_uniform(make_store):
    sampler = _loaded(make_store([[12, 30, 8]]))
    frames, *_ = sampler.sample(20_001, tf.constant([5, 6]))
    origin = frames.numpy()[1:, 0, 0, 0].astype(int)
    _, counts = np.unique(origin[:, 1] * 100 + origin[:, 2], return_counts=True)
    assert len(counts) == sampler.num_starts == 34
    expected = 20_000 / 34
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert 13.43 < chi_square < 63.87  # 0.1 % and 99.9 % points for 33 degrees of freedom.


def test_the_seed_decides(make_store):
    sampler = _loaded(make_store([[50]]))
    one, *_ = sampler.sample(8, tf.constant([1, 1]))
    same, *_ = sampler.sample(8, tf.constant([1, 1]))
    other, *_ = sampler.sample(8, tf.constant([1, 2]))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_compiled_or_not_the_same_starts(make_store):
    sampler = _loaded(make_store([[50]]))
    plain, *_ = sampler.sample(16, tf.constant([1, 1]))
    compiled, *_ = tf.function(sampler.sample, jit_compile=True)(16, tf.constant([1, 1]))
    np.testing.assert_array_equal(plain, compiled)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_reloading_does_not_retrace(make_store, make_episode, jit_compile):
    store = make_store([[30]])
    sampler = _loaded(store)
    traces = 0

    @tf.function(jit_compile=jit_compile)
    def sample(seed: tf.Tensor) -> tf.Tensor:
        nonlocal traces
        traces += 1
        return sampler.sample(64, seed)[0]

    sample(tf.constant([0, 0]))
    for iteration, num_steps in enumerate([29, 31, 90, 12], start=1):
        store.append(make_episode(iteration, 0, num_steps))
        sampler.load(store)
        origin = sample(tf.constant([0, iteration])).numpy()[:, 0, 0, 0]
        assert set(origin[:, 0]) == {iteration}
        assert origin[:, 2].max() <= (num_steps + 1) // 11 * 10 - K
    assert traces == 1


def test_capacity_is_kept_when_a_similar_iteration_is_loaded(make_store, make_episode):
    store = make_store([[200]])
    sampler = _loaded(store)
    before = [variable.read_value().shape for variable in sampler.variables]
    store.append(make_episode(1, 0, 210))
    sampler.load(store)
    assert [variable.read_value().shape for variable in sampler.variables] == before


def test_nothing_is_trainable(make_store):
    assert _loaded(make_store([[30]])).trainable_variables == ()


def test_sampling_before_loading():
    sampler = StartSampler(SHAPE, K)
    for sample in (sampler.sample, tf.function(sampler.sample, jit_compile=True)):
        with pytest.raises(ValueError, match="load a store's episodes before"):
            sample(2, tf.constant([0, 0]))


def test_episodes_too_short(make_store):
    with pytest.raises(ValueError, match="at most 3 consecutive frames, but a start needs 4"):
        StartSampler(SHAPE, K).load(make_store([[2, 2, 2, 2]]))


def test_empty_store(make_store):
    with pytest.raises(ValueError, match="has no episode to start from"):
        StartSampler(SHAPE, K).load(make_store([]))


def test_other_frame_shape(make_store):
    with pytest.raises(ValueError, match=r"made for frames of shape \[105, 80, 3\]"):
        StartSampler((105, 80, 3), K).load(make_store([[30]]))


def _origins(frames) -> np.ndarray:
    """(iteration, index, number) of each start's newest frame, [B, 3]."""
    return frames.numpy()[:, -1, 0, 0].astype(int)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_share_starts_shortly_before_rewards(make_sparse_store, jit_compile):
    sampler = _loaded(make_sparse_store(), rewarded_share=0.75, lead=5)
    sample = tf.function(sampler.sample, jit_compile=jit_compile)
    before_gain, before_loss = set(), set()
    for seed in range(40):
        frames, *_ = sample(64, tf.constant([seed, 3]))
        for _, index, newest in _origins(frames)[16:]:
            if index == 0:
                before_gain.add(newest)
            else:
                before_loss.add(newest)
    assert before_gain == set(range(16, 21))  # The step from frame 20 is rewarded.
    steps = range(3, 55, 6)
    assert before_loss == {step - d for step in steps for d in range(5) if step - d >= K - 1}


def test_all_rewards_are_equally_likely(make_sparse_store):
    sampler = _loaded(make_sparse_store(), rewarded_share=1.0, lead=5)
    frames, *_ = sampler.sample(4_001, tf.constant([1, 3]))
    share_of_gains = (_origins(frames)[1:, 1] == 0).mean()
    assert abs(share_of_gains - 1 / 10) < 0.02  # One gain, nine losses.


def test_the_first_start_stays_the_beginning_and_the_others_as_they_were(make_sparse_store):
    store = make_sparse_store()
    plain, *_ = _loaded(store).sample(16, tf.constant([7, 8]))
    shared, *_ = _loaded(store, rewarded_share=0.5).sample(16, tf.constant([7, 8]))
    np.testing.assert_array_equal(plain[:8], shared[:8])
    only, *_ = _loaded(store, rewarded_share=1.0).sample(1, tf.constant([7, 8]))
    assert _origins(only).tolist() == [[0, 0, K - 1]]


def test_a_start_does_not_reach_beyond_its_episode(make_sparse_store):
    store = make_sparse_store(losses=((1, 4),), gains=((2, 1),), lengths=(30, 30, 40))
    sampler = _loaded(store, rewarded_share=1.0, lead=50)
    frames, *_ = sampler.sample(300, tf.constant([1, 1]))
    origins = _origins(frames)[1:]
    assert {tuple(origin) for origin in origins} == {(0, 1, 3), (0, 1, 4)}


@pytest.mark.parametrize(("losses", "gains", "episode"), [(((1, 20),), (), 1), ((), ((0, 20),), 0)])
def test_only_losses_or_only_gains(make_sparse_store, losses, gains, episode):
    sampler = _loaded(make_sparse_store(losses, gains), rewarded_share=1.0, lead=3)
    frames, *_ = sampler.sample(64, tf.constant([2, 2]))
    assert set(_origins(frames)[1:, 1]) == {episode}


@pytest.mark.parametrize(("balanced", "share"), [(False, 0.2), (True, 0.5)])
def test_gains_and_losses_equally_often_or_as_they_occur(make_sparse_store, balanced, share):
    losses, gains = ((1, 8), (1, 14), (1, 20), (1, 26)), ((0, 20),)
    store = make_sparse_store(losses, gains)
    sampler = _loaded(store, rewarded_share=1.0, lead=3, balanced=balanced)
    frames, *_ = sampler.sample(1000, tf.constant([2, 2]))
    before_gains = _origins(frames)[1:, 1] == 0
    assert before_gains.mean() == pytest.approx(share, abs=0.05)


def test_without_rewards_starts_are_anywhere(make_sparse_store):
    store = make_sparse_store((), ())
    plain, *_ = _loaded(store).sample(32, tf.constant([2, 2]))
    shared, *_ = _loaded(store, rewarded_share=1.0).sample(32, tf.constant([2, 2]))
    np.testing.assert_array_equal(plain, shared)


def test_a_named_iteration_and_all_up_to_it(make_store):
    store = make_store([[20], [30, 10], [40]])
    sampler = StartSampler(SHAPE, K)
    sampler.load(store, 1)
    assert set(sampler.sample(100, tf.constant([1, 1]))[0].numpy()[:, 0, 0, 0, 0]) == {1}
    sampler = StartSampler(SHAPE, K, iterations="all")
    sampler.load(store, 1)
    assert set(sampler.sample(300, tf.constant([1, 1]))[0].numpy()[:, 0, 0, 0, 0]) == {0, 1}
    sampler.load(store)
    assert set(sampler.sample(300, tf.constant([1, 1]))[0].numpy()[:, 0, 0, 0, 0]) == {0, 1, 2}


def test_wrong_options(make_store):
    with pytest.raises(ValueError, match='"latest" or "all"'):
        StartSampler(SHAPE, K, iterations="first")
    with pytest.raises(ValueError, match="lead must be at least 1"):
        StartSampler(SHAPE, K, lead=0)
    with pytest.raises(ValueError, match="rewarded_share must be from 0 to 1"):
        StartSampler(SHAPE, K, rewarded_share=2.0)
    with pytest.raises(ValueError, match=r"has iterations \[0\], not 3"):
        StartSampler(SHAPE, K).load(make_store([[30]]), 3)
