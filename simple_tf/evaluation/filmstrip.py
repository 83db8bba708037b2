"""One picture of a rollout: model, real and difference at chosen steps, side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simple_tf.data import png
from simple_tf.evaluation import panes
from simple_tf.evaluation.comparison import Comparison
from simple_tf.evaluation.pixel_font import GLYPH_HEIGHT, draw_text, text_width

DEFAULT_STEPS = (0, 1, 2, 4, 8, 12, 20, 30, 40, 50)

_TEXT_SCALE = 2
_GAP = 6
_LINE = GLYPH_HEIGHT * _TEXT_SCALE + _GAP  # Height of a line of text.
_LABELS = ("MODEL", "REAL", "DIFF")


def filmstrip(
    comparison: Comparison,
    rollout: int = 0,
    steps: Sequence[int] | None = None,
    scale: int = 2,
) -> np.ndarray:
    """Draws one rollout.

    A column per step; under the model's and the game's frame the reward collected so far, under
    the difference the share of wrong pixels.

    Args:
        comparison: where the rollout is.
        rollout: which one.
        steps: which steps, 0 (the start) to T; `DEFAULT_STEPS` up to T by default.
        scale: side of a pixel of a frame.

    Returns:
        uint8 [height, width, 3].
    """
    chosen = [s for s in DEFAULT_STEPS if s <= comparison.horizon] if steps is None else steps
    check_choice(comparison, rollout, chosen)
    height, width = (size * scale for size in comparison.start.shape[1:3])
    margin = text_width(max(_LABELS, key=len), _TEXT_SCALE) + 2 * _GAP
    column, row = max(width, 40) + _GAP, height + _LINE + _GAP
    strip = np.full(
        (_LINE + _GAP + 3 * row, margin + len(chosen) * column, 3), panes.BACKGROUND, np.uint8
    )
    for number, label in enumerate(_LABELS):
        middle = _LINE + number * row + (height - GLYPH_HEIGHT * _TEXT_SCALE) // 2
        draw_text(strip, label, middle, _GAP, panes.TEXT, _TEXT_SCALE)
    for place, step in enumerate(chosen):
        left = margin + place * column
        title = panes.fitting(f"STEP {step}", width, _TEXT_SCALE)
        draw_text(strip, title, _GAP // 2, left, panes.TEXT, _TEXT_SCALE)
        _draw_column(strip[_LINE:, left:], comparison, rollout, step, scale)
    return strip


def write_filmstrip(
    path: str | os.PathLike[str],
    comparison: Comparison,
    rollout: int = 0,
    steps: Sequence[int] | None = None,
    scale: int = 2,
) -> Path:
    """Writes `filmstrip` as a PNG file and returns its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(png.encode_frame(filmstrip(comparison, rollout, steps, scale)))
    return target


def check_choice(comparison: Comparison, rollout: int, steps: Sequence[int] = ()) -> None:
    """Raises ValueError unless the comparison has this rollout and these steps."""
    if not 0 <= rollout < comparison.num_rollouts:
        raise ValueError(
            f"There is no rollout {rollout}; choose 0 to {comparison.num_rollouts - 1}."
        )
    outside = [step for step in steps if not 0 <= step <= comparison.horizon]
    if outside:
        raise ValueError(f"Steps {outside} are outside 0..{comparison.horizon}.")


def _draw_column(
    canvas: np.ndarray, comparison: Comparison, rollout: int, step: int, scale: int
) -> None:
    """Draws three frames with captions below each other at the top left of the canvas."""
    images = panes.panes_at(comparison, rollout, step)
    captions = panes.captions_at(comparison, rollout, step)
    top = 0
    for image, (caption, colour) in zip(images, captions, strict=True):
        large = panes.upscale(image, scale)
        height, width, _ = large.shape
        canvas[top : top + height, :width] = large
        text = panes.fitting(caption, width, _TEXT_SCALE)
        draw_text(canvas, text, top + height + _GAP // 2, 0, colour, _TEXT_SCALE)
        top += height + _LINE + _GAP
