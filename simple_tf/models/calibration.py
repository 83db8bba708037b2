"""What a world model has to know of a game's looks before it is trained on it."""

from __future__ import annotations

import numpy as np

from simple_tf.data import codec
from simple_tf.data.store import EpisodeStore
from simple_tf.models.heads import PaletteHead
from simple_tf.models.interface import WorldModel
from simple_tf.models.patch import PatchModel

# Enough to meet all but the rarest colours; more would only take longer.
MAX_FRAMES = 4_096


def calibrate(model: WorldModel, store: EpisodeStore, iteration: int) -> dict[str, float]:
    """Adds an iteration's colours to the model's palette, and shows it what the game looks like.

    To be called before each training phase, with the iteration that was played last. All of it is
    a function of the episodes, and all results are in the model's checkpoint. Models that need
    nothing of the kind are left alone.

    Args:
        model: any world model.
        store: the episodes.
        iteration: whose frames to look at.

    Returns:
        For a palette: `palette_size`, and `palette_missing`, the share of the pixels looked at
        whose colour did not fit in.
    """
    metrics: dict[str, float] = {}
    has_palette, is_patch_model = isinstance(model.head, PaletteHead), isinstance(model, PatchModel)
    if not (has_palette or is_patch_model):
        return metrics
    frames = sample_frames(store, iteration, MAX_FRAMES)
    if isinstance(model, PatchModel):
        model.adapt(frames)
    if isinstance(model.head, PaletteHead):
        model.head.palette.update(frames)
        known = model.head.palette.represents(frames).numpy()
        metrics["palette_size"] = float(model.head.palette.size.numpy())
        metrics["palette_missing"] = 1.0 - float(known.mean())
    return metrics


def sample_frames(store: EpisodeStore, iteration: int, max_frames: int) -> np.ndarray:
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
