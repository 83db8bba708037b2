"""What a game looks like: a sample of the frames that were played."""

from __future__ import annotations

import numpy as np

from simple_tf.data import codec
from simple_tf.data.store import EpisodeStore

# Enough to meet all but the rarest colours; more would only take longer.
MAX_FRAMES = 4_096
# What learns from them takes several times their memory: of large frames there are fewer. The
# original's, 105x80 in colour, are far below this.
_MAX_BYTES = 256 * 2**20
_FEWEST_FRAMES = 64


def sample_frames(store: EpisodeStore, iteration: int, max_frames: int = MAX_FRAMES) -> np.ndarray:
    """Evenly spaced frames of an iteration, uint8 [N, H, W, C], N at most `max_frames`.

    Of frames so large that these would take more than 256 MiB, fewer.
    """
    episodes = store.episodes_of(iteration)
    if not episodes:
        raise ValueError(f"{store.directory} has no episode of iteration {iteration}")
    room = _MAX_BYTES // int(np.prod(store.description.frame_shape))
    max_frames = min(max_frames, max(room, _FEWEST_FRAMES))
    spacing = -(-sum(episode.num_frames for episode in episodes) // max_frames)
    parts, skip = [], 0
    for episode in episodes:
        parts += [
            codec.read_frames(episode, place, 1)
            for place in range(skip, episode.num_frames, spacing)
        ]
        skip = (skip - episode.num_frames) % spacing
    return np.concatenate(parts)
