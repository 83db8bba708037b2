"""Frames are surprising where something turns, and the more the more rarely it does."""

import numpy as np
import pytest

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.models import surprise
from simple_tf.models.surprise import _compiled_wrong, _usual, frame_surprises

SHAPE = (24, 24, 1)
LENGTH = 300  # More frames than are looked at in one call.
LOW, HIGH = 4, 18


def _ball_rows():
    """Rows of a ball that flies down and up between two walls, a pixel in a step."""
    there, back = np.arange(LOW, HIGH), np.arange(HIGH, LOW, -1)
    return np.resize(np.concatenate([there, back]), LENGTH)


def _frames(random):
    """A ball that turns at two walls, beside a paddle that jumps about all the time."""
    frames = np.full((LENGTH, *SHAPE), 90, np.uint8)
    for image, row, paddle in zip(
        frames, _ball_rows(), random.integers(0, 20, LENGTH), strict=True
    ):
        image[row : row + 2, 12] = 200
        image[paddle : paddle + 4, 22] = 30
    return frames


@pytest.fixture
def episodes(tmp_path):
    description = StoreDescription("toy", SHAPE, ("A", "B"))
    store, random = EpisodeStore.create_or_open(tmp_path, description), np.random.default_rng(0)
    for index in range(2):
        frames = _frames(random)
        recorder = EpisodeRecorder(0, index, 0, frames[0])
        for image in frames[1:]:
            recorder.add(0, 0.0, 0, image)
        store.append(recorder.finish(True, False))
    return store.episodes


def test_frames_in_which_the_ball_has_turned_are_the_most_surprising(episodes):
    rows = _ball_rows()
    moves = np.diff(rows)
    turned = 2 + np.flatnonzero(moves[1:] != moves[:-1])
    assert len(turned) > 15
    for surprises in frame_surprises(episodes):
        assert surprises.shape == (LENGTH,)
        others = np.setdiff1d(np.arange(2, LENGTH), turned)
        assert surprises[turned].min() > np.quantile(surprises[others], 0.99)
        assert surprises[turned].mean() > 2 * surprises[others].mean()
        np.testing.assert_array_equal(surprises[:2], 0)


@pytest.mark.parametrize("frames", [7, 64, 300])
def test_how_many_frames_are_looked_at_in_one_call_makes_no_difference(
    episodes, monkeypatch, frames
):
    expected = frame_surprises(episodes)
    monkeypatch.setattr(surprise, "_FRAMES_PER_CALL", frames)
    for one, other in zip(frame_surprises(episodes), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_same_play_is_as_surprising_again(episodes):
    for one, other in zip(frame_surprises(episodes), frame_surprises(episodes), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_happens_once_is_found(tmp_path):
    store = EpisodeStore.create_or_open(tmp_path, StoreDescription("toy", SHAPE, ("A", "B")))
    recorder = EpisodeRecorder(0, 0, 0, np.zeros(SHAPE, np.uint8))
    for step in range(1, LENGTH):
        recorder.add(0, 0.0, 0, np.full(SHAPE, 200 * (step == 150), np.uint8))
    store.append(recorder.finish(True, False))
    (surprises,) = frame_surprises(store.episodes)
    assert set(np.flatnonzero(surprises)) <= {150, 151, 152}
    assert surprises[150] > 0


def test_nothing_is_surprising_where_nothing_happens(tmp_path):
    store = EpisodeStore.create_or_open(tmp_path, StoreDescription("toy", SHAPE, ("A", "B")))
    recorder = EpisodeRecorder(0, 0, 0, np.zeros(SHAPE, np.uint8))
    for _ in range(1, LENGTH):
        recorder.add(0, 0.0, 0, np.zeros(SHAPE, np.uint8))
    store.append(recorder.finish(True, False))
    (surprises,) = frame_surprises(store.episodes)
    np.testing.assert_array_equal(surprises, np.zeros(LENGTH))


def test_what_short_episodes_begin_and_end_with_is_not_what_is_usual(tmp_path):
    # More episodes than frames that are looked at. A sprite stands at the same place in the first
    # and in the last frame of each, and a bar that nobody has seen move is there in between: what
    # is usual is the bar, so that it is followed when it moves.
    store = EpisodeStore.create_or_open(tmp_path, StoreDescription("toy", SHAPE, ("A", "B")))
    for index in range(600):
        frames = np.full((7, *SHAPE), 90, np.uint8)
        frames[[0, -1], 2:4, 2:4] = 200
        frames[1:-1, 20:22] = 30
        recorder = EpisodeRecorder(0, index, 0, frames[0])
        for image in frames[1:]:
            recorder.add(0, 0.0, 0, image)
        store.append(recorder.finish(True, False))
    usual = _usual(store.episodes)
    assert (usual[20:22] == 30).all()
    assert (usual[2:4, 2:4] == 90).all()


def test_what_is_usual_is_a_shade_that_was_there(tmp_path):
    store = EpisodeStore.create_or_open(tmp_path, StoreDescription("toy", SHAPE, ("A", "B")))
    recorder = EpisodeRecorder(0, 0, 0, np.full(SHAPE, 10, np.uint8))
    recorder.add(0, 0.0, 0, np.full(SHAPE, 200, np.uint8))
    store.append(recorder.finish(True, False))
    np.testing.assert_array_equal(_usual(store.episodes), np.full(SHAPE, 10, np.uint8))


def test_every_iteration_s_play_is_looked_at_by_what_was_compiled_for_the_first(tmp_path):
    _compiled_wrong.cache_clear()
    store = EpisodeStore.create_or_open(tmp_path, StoreDescription("toy", SHAPE, ("A", "B")))
    for index in range(3):
        frame = np.full(SHAPE, 50 * index, np.uint8)  # What is usual changes with it.
        recorder = EpisodeRecorder(0, index, 0, frame)
        for _ in range(20 + index):
            recorder.add(0, 0.0, 0, frame)
        store.append(recorder.finish(True, False))
        frame_surprises(store.episodes)
    assert _compiled_wrong().experimental_get_tracing_count() == 1
