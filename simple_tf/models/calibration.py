"""What a world model has to know of a game's looks before it is trained on it."""

from __future__ import annotations

from simple_tf.data.frame_sample import sample_frames
from simple_tf.data.store import EpisodeStore
from simple_tf.models.heads import PaletteHead
from simple_tf.models.interface import WorldModel
from simple_tf.models.patch import PatchModel


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
    frames = sample_frames(store, iteration)
    if isinstance(model, PatchModel):
        model.adapt(frames)
    if isinstance(model.head, PaletteHead):
        model.head.palette.update(frames)
        known = model.head.palette.represents(frames).numpy()
        metrics["palette_size"] = float(model.head.palette.size.numpy())
        metrics["palette_missing"] = 1.0 - float(known.mean())
    return metrics
