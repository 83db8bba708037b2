"""The original's train/dev split, as a function of the episodes' lengths.

Each iteration is cut by position: of 11 equal shards of its frames the first 10 are for training
and the last one, with the remainder, is for evaluating the world model. An episode on the border
is broken in two. Nothing is stored: the same episodes always give the same split, but it is only
final once the iteration is complete.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal, NamedTuple

from simple_tf.data.episode import EpisodeColumns

Split = Literal["train", "dev"]

_TRAIN_SHARDS = 10
_DEV_SHARDS = 1


class Segment(NamedTuple):
    """Consecutive frames of one episode: what windows and start states are cut from.

    Attributes:
        episode: Position of the episode in the list it came from.
        begin: Its first frame.
        end: One past its last frame.
    """

    episode: int
    begin: int
    end: int

    @property
    def num_frames(self) -> int:
        return self.end - self.begin


def split_iteration(num_frames: Sequence[int], split: Split) -> list[Segment]:
    """One part of one iteration.

    Args:
        num_frames: Frames of each episode, in the order they were played.
        split: Which part.

    Returns:
        The non-empty segments, in order.
    """
    if split not in ("train", "dev"):
        raise ValueError(f'split must be "train" or "dev", not {split!r}')
    border = _TRAIN_SHARDS * (sum(num_frames) // (_TRAIN_SHARDS + _DEV_SHARDS))
    starts = itertools.accumulate(num_frames, initial=0)
    segments = []
    for episode, (frames, start) in enumerate(zip(num_frames, starts, strict=False)):
        cut = min(max(border - start, 0), frames)
        begin, end = (0, cut) if split == "train" else (cut, frames)
        if begin < end:
            segments.append(Segment(episode, begin, end))
    return segments


def split_episodes(episodes: Sequence[EpisodeColumns], split: Split) -> list[Segment]:
    """One part of all iterations that the episodes belong to, each cut by itself.

    Args:
        episodes: Episodes sorted by key.
        split: Which part.

    Returns:
        Segments that refer to positions in `episodes`.
    """
    segments: list[Segment] = []
    offset = 0
    for _, group in itertools.groupby(episodes, key=lambda episode: episode.iteration):
        lengths = [episode.num_frames for episode in group]
        segments += [
            segment._replace(episode=segment.episode + offset)
            for segment in split_iteration(lengths, split)
        ]
        offset += len(lengths)
    return segments
