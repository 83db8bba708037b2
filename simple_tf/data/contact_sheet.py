"""A picture of what is in a store: frames at even distances, episode after episode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simple_tf.data import codec
from simple_tf.data.codec import StoredEpisode

_SCALE = 2
_GAP = 4
_BACKGROUND = 32
_FIRST_OF_EPISODE = (255, 176, 0)


def contact_sheet(
    episodes: Sequence[StoredEpisode], columns: int = 8, max_frames: int = 48
) -> np.ndarray:
    """Draws evenly spaced frames in reading order; a bar marks the first one of an episode.

    Args:
        episodes: At least one.
        columns: Frames per row.
        max_frames: Frames in all, at most.

    Returns:
        uint8 [height, width, 3].
    """
    picks = _evenly_spaced([episode.num_frames for episode in episodes], max_frames)
    height, width, _ = episodes[0].frame_shape
    cell = np.array([height * _SCALE + _GAP, width * _SCALE + _GAP])
    rows = -(-len(picks) // columns)
    size = cell * [rows, min(columns, len(picks))] + _GAP
    sheet = np.full((*size, 3), _BACKGROUND, np.uint8)
    previous = -1
    for place, (episode, frame) in enumerate(picks):
        top, left = cell * divmod(place, columns) + _GAP
        pixels = codec.read_frames(episodes[episode], frame, 1)[0].repeat(_SCALE, 0)
        sheet[top : top + height * _SCALE, left : left + width * _SCALE] = pixels.repeat(_SCALE, 1)
        if episode != previous:
            sheet[top : top + height * _SCALE, left - _GAP : left] = _FIRST_OF_EPISODE
        previous = episode
    return sheet


def _evenly_spaced(num_frames: Sequence[int], max_frames: int) -> list[tuple[int, int]]:
    """(episode, frame) of at most `max_frames` frames at equal distances, the first included."""
    ends = np.cumsum(num_frames)
    count = min(max_frames, int(ends[-1]))
    chosen = np.arange(count) * int(ends[-1]) // count
    owners = np.searchsorted(ends, chosen, side="right")
    starts = ends - np.asarray(num_frames)
    return [(int(e), int(f)) for e, f in zip(owners, chosen - starts[owners], strict=True)]
