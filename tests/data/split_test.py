"""The split agrees with a frame-by-frame simulation of the original's rule."""

import numpy as np
import pytest

from simple_tf.data.split import Segment, split_episodes, split_iteration


def _by_simulation(num_frames: list[int]) -> dict[str, list[tuple[int, int]]]:
    """Deals out (episode, frame) one by one: 10 shards, then all that is left."""
    frames = [(episode, f) for episode, count in enumerate(num_frames) for f in range(count)]
    shard = len(frames) // 11
    return {"train": frames[: 10 * shard], "dev": frames[10 * shard :]}


def _expand(segments: list[Segment]) -> list[tuple[int, int]]:
    return [(segment.episode, f) for segment in segments for f in range(segment.begin, segment.end)]


@pytest.mark.parametrize("seed", range(50))
def test_matches_dealing_frame_by_frame(seed):
    generator = np.random.default_rng(seed)
    num_frames = generator.integers(2, 40, generator.integers(1, 12)).tolist()
    expected = _by_simulation(num_frames)
    for split in ("train", "dev"):
        segments = split_iteration(num_frames, split)
        assert _expand(segments) == expected[split]
        assert len({segment.episode for segment in segments}) == len(segments)


def test_an_episode_is_broken_at_the_border():
    assert split_iteration([60, 50], "train") == [Segment(0, 0, 60), Segment(1, 0, 40)]
    assert split_iteration([60, 50], "dev") == [Segment(1, 40, 50)]


def test_a_border_between_episodes_breaks_none():
    assert split_iteration([100, 10], "train") == [Segment(0, 0, 100)]
    assert split_iteration([100, 10], "dev") == [Segment(1, 0, 10)]


def test_fewer_frames_than_shards_all_go_to_dev():
    assert split_iteration([4, 6], "train") == []
    assert split_iteration([4, 6], "dev") == [Segment(0, 0, 4), Segment(1, 0, 6)]


def test_nothing_gives_nothing():
    assert split_iteration([], "train") == []


def test_each_iteration_is_cut_by_itself(make_store):
    store = make_store([[21], [10, 21]])
    assert split_episodes(store.episodes, "train") == [
        Segment(0, 0, 20),
        Segment(1, 0, 11),
        Segment(2, 0, 19),
    ]
    assert split_episodes(store.episodes, "dev") == [Segment(0, 20, 22), Segment(2, 19, 22)]


def test_unknown_split():
    with pytest.raises(ValueError, match='"train" or "dev", not \'test\''):
        split_iteration([10], "test")
