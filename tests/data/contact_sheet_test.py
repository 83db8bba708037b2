"""The contact sheet shows real frames, in order, and where episodes begin."""

import numpy as np
import pytest

from simple_tf.data.contact_sheet import contact_sheet
from simple_tf.data.description import StoreDescription
from simple_tf.data.store import EpisodeStore

BAR = [255, 176, 0]


def _cell(sheet: np.ndarray, row: int, column: int) -> tuple[np.ndarray, bool]:
    """The frame at a place of the sheet, and whether the bar of a first frame is beside it."""
    top, left = 4 + row * 28, 4 + column * 24
    return sheet[top : top + 24 : 2, left : left + 20 : 2], sheet[top, left - 1].tolist() == BAR


def test_all_frames_of_a_small_store_in_order(make_store, make_frames):
    sheet = contact_sheet(make_store([[4, 2]]).episodes, columns=4)
    played = [*make_frames(0, 0, 4, (12, 10, 3)), *make_frames(0, 1, 2, (12, 10, 3))]
    assert sheet.shape == (4 + 2 * 28, 4 + 4 * 24, 3)
    for place, frame in enumerate(played):
        shown, first = _cell(sheet, *divmod(place, 4))
        np.testing.assert_array_equal(shown, frame)
        assert first == (place in (0, 5))


def test_a_large_store_is_shown_at_even_distances(make_store, make_frames):
    sheet = contact_sheet(make_store([[49, 49]]).episodes, columns=5, max_frames=10)
    for place in range(10):
        shown, first = _cell(sheet, *divmod(place, 5))
        expected = make_frames(0, place // 5, 49, (12, 10, 3))[place % 5 * 10]
        np.testing.assert_array_equal(shown, expected)
        assert first == (place in (0, 5))


@pytest.mark.parametrize("num_steps", [1, 100])
def test_gray_frames_and_few_frames(tmp_path, make_episode, num_steps):
    about = StoreDescription("pong", (12, 10, 1), ("NOOP", "UP", "DOWN"))
    store = EpisodeStore.create_or_open(tmp_path / "gray", about)
    episode = make_episode(num_steps=num_steps, shape=(12, 10, 1))
    store.append(episode)
    shown, _ = _cell(contact_sheet(store.episodes), 0, 0)
    np.testing.assert_array_equal(shown, episode.decode_frames()[0].repeat(3, axis=2))
