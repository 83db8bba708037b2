"""Images of one game with a line of text above: what videos of play consist of."""

from __future__ import annotations

import numpy as np

from simple_tf.evaluation import panes
from simple_tf.evaluation.pixel_font import GLYPH_HEIGHT, Colour, draw_text, text_width

_TARGET_WIDTH = 320
_TEXT_SCALE = 3
_GAP = 8
HEADER = GLYPH_HEIGHT * _TEXT_SCALE + 2 * _GAP


def captioned(image: np.ndarray, left: str, right: str, colour: Colour = panes.TEXT) -> np.ndarray:
    """Enlarges an image and writes above it.

    Args:
        image: uint8 [H, W, 1 or 3].
        left: text at the left.
        right: text at the right.
        colour: of the right text.

    Returns:
        uint8 [height, width, 3], both even.
    """
    large = panes.upscale(_as_colour(image), max(1, round(_TARGET_WIDTH / image.shape[1])))
    height, width, _ = large.shape
    size = HEADER + height, width
    canvas = np.full((size[0] + size[0] % 2, size[1] + size[1] % 2, 3), panes.BACKGROUND, np.uint8)
    canvas[HEADER : HEADER + height, :width] = large
    room = width - 3 * _GAP - text_width(right, _TEXT_SCALE)
    draw_text(canvas, panes.fitting(left, room, _TEXT_SCALE), _GAP, _GAP, panes.TEXT, _TEXT_SCALE)
    edge = width - _GAP - text_width(right, _TEXT_SCALE)
    draw_text(canvas, right, _GAP, max(edge, _GAP), colour, _TEXT_SCALE)
    return canvas


def reward_colour(reward: float) -> Colour:
    """Green for a gain, red for a loss, as text otherwise."""
    if not reward:
        return panes.TEXT
    return panes.RIGHT if reward > 0 else panes.WRONG


def _as_colour(image: np.ndarray) -> np.ndarray:
    return image if image.shape[-1] == 3 else image.repeat(3, axis=-1)
