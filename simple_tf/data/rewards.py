"""Where something is earned or lost, for draws that favour it.

Many games reward one step in hundreds. Drawn uniformly, most batches of windows and most simulated
rollouts then hold no reward at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simple_tf.data.episode import EpisodeColumns
from simple_tf.data.split import Segment


def num_reserved(share: float, batch_size: int, name: str = "rewarded_share") -> int:
    """How many of a batch are reserved: the share rounded, but at least 1 if it is above 0.

    Args:
        share: Of the batch.
        batch_size: B.
        name: What the user knows the share by.

    Raises:
        ValueError: It is not a share.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{name} must be from 0 to 1, not {share!r}")
    return max(round(share * batch_size), 1) if share else 0


def num_reserved_each(
    rewarded_share: float, surprising_share: float, batch_size: int
) -> tuple[int, int]:
    """How many of a batch are reserved for rewarded and for surprising windows.

    See `num_reserved`; what rounding makes too many is taken from the surprising ones.

    Raises:
        ValueError: They are not shares, or more than everything.
    """
    rewarded = num_reserved(rewarded_share, batch_size)
    surprising = num_reserved(surprising_share, batch_size, "surprising_share")
    if rewarded_share + surprising_share > 1.0:
        raise ValueError(
            f"rewarded_share={rewarded_share} and surprising_share={surprising_share} add up to "
            "more than 1, a whole batch"
        )
    return rewarded, min(surprising, batch_size - rewarded)


def rewarded_windows(
    episodes: Sequence[EpisodeColumns],
    segments: Sequence[Segment],
    num_input_frames: int,
    num_target_frames: int,
) -> np.ndarray:
    """Numbers of the windows that have a reward other than 0 among their targets.

    Args:
        episodes: What the segments refer to.
        segments: Where windows are cut, numbered as `WindowTable` does.
        num_input_frames: K.
        num_target_frames: n.

    Returns:
        int64 [N], ascending.
    """
    hits = [
        _window_hits(episodes[number].rewards[begin : end - 1] != 0, *lengths)
        for number, begin, end in segments
        for lengths in [(num_input_frames, num_target_frames)]
        if end - begin >= sum(lengths)
    ]
    return np.flatnonzero(np.concatenate(hits)) if hits else np.zeros(0, np.int64)


def _window_hits(rewarded: np.ndarray, num_input_frames: int, num_target_frames: int) -> np.ndarray:
    """For each window of a segment with these steps, bool [T], whether its targets have one."""
    before = np.concatenate([[0], np.cumsum(rewarded)])
    # Window w predicts the frames after steps w + K - 1 to w + K + n - 2.
    first = np.arange(len(rewarded) + 2 - num_input_frames - num_target_frames)
    first += num_input_frames - 1
    return before[first + num_target_frames] > before[first]


class Leads(NamedTuple):
    """Rewarded steps that a rollout can start before.

    Attributes:
        positions: Where the frame before each of them lies, int64 [N].
        rooms: From how many steps before it a start is possible, int64 [N], at least 1.
    """

    positions: np.ndarray
    rooms: np.ndarray


def find_leads(
    episodes: Sequence[EpisodeColumns],
    segments: Sequence[Segment],
    num_input_frames: int,
    lead: int,
    balanced: bool = False,
) -> Leads:
    """Finds the rewarded steps before which there are K frames.

    Args:
        episodes: What the segments refer to.
        segments: Frames that lie one after the other; positions count through all of them.
        num_input_frames: K.
        lead: How many steps before a reward a rollout may start, at most.
        balanced: Whether gains, if they are fewer than losses, are repeated as often as they fit
            into these, and the other way round: from half to all as many. There are then at most
            twice as many as before.
    """
    rooms, positions, signs, offset = [], [], [], 0
    for number, begin, end in segments:
        places = np.flatnonzero(episodes[number].rewards[begin : end - 1])
        places = places[places >= num_input_frames - 1]
        rooms.append(np.minimum(places - num_input_frames + 2, lead))
        positions.append(places + offset)
        signs.append(episodes[number].rewards[begin : end - 1][places])
        offset += end - begin
    leads = Leads(np.concatenate(positions), np.concatenate(rooms))
    return _balanced(leads, np.concatenate(signs)) if balanced else leads


def _balanced(leads: Leads, signs: np.ndarray) -> Leads:
    """Repeats the leads of gains or of losses, whichever are fewer."""
    gains, losses = np.sum(signs > 0), np.sum(signs < 0)
    if not gains or not losses:
        return leads
    rarer = signs > 0 if gains < losses else signs < 0
    repeats = np.where(rarer, max(gains, losses) // min(gains, losses), 1)
    return Leads(np.repeat(leads.positions, repeats), np.repeat(leads.rooms, repeats))
