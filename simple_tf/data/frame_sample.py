"""What a game looks like: a sample of the frames that were played."""

from __future__ import annotations

import numpy as np

from simple_tf.data import codec
from simple_tf.data.store import EpisodeStore

# Enough to meet all but the rarest colours; more would only take longer.
MAX_FRAMES = 4_096


def sample_frames(store: EpisodeStore, iteration: int, max_frames: int = MAX_FRAMES) -> np.ndarray:
    """Evenly spaced frames of an iteration, uint8 [N, H, W, C], N at most `max_frames`."""
    episodes = store.episodes_of(iteration)
    if not episodes:
        raise ValueError(f"{store.directory} has no episode of iteration {iteration}")
    spacing = -(-sum(episode.num_frames for episode in episodes) // max_frames)
    parts, skip = [], 0
    for episode in episodes:
        parts.append(codec.read_frames(episode)[skip::spacing])
        skip = (skip - episode.num_frames) % spacing
    return np.concatenate(parts)
