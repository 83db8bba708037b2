"""The three panes of every picture of a world model: model | real | difference."""

from __future__ import annotations

import numpy as np

from simple_tf.evaluation.comparison import Comparison
from simple_tf.evaluation.pixel_font import Colour, text_width

BACKGROUND = 24
TEXT: Colour = (225, 225, 225)
RIGHT: Colour = (110, 210, 120)
WRONG: Colour = (255, 105, 95)

# The faintest difference is shown this bright, so that none is overlooked.
_FAINTEST = 80
# Models whose dreams pay expected rewards pay fractions: sums that round to the same agree.
_HALF_A_REWARD = 0.5


def difference(simulated: np.ndarray, real: np.ndarray, tolerance: int = 0) -> np.ndarray:
    """Returns where and how much two uint8 images differ, uint8 of the same shape.

    Black is equal; otherwise the brighter, the farther apart, from `_FAINTEST` to 255.

    Args:
        simulated: [H, W, C].
        real: [H, W, C].
        tolerance: shades no farther apart than this count as equal.
    """
    distance = np.abs(simulated.astype(np.int32) - real)
    shown = _FAINTEST + distance * (255 - _FAINTEST) // 255
    return np.where(distance > tolerance, shown, 0).astype(np.uint8)


def panes_at(
    comparison: Comparison, rollout: int, step: int, tolerance: int = 0
) -> tuple[np.ndarray, ...]:
    """Returns model, real and difference after `step` steps, uint8 [H, W, 3] each.

    Step 0 is the start: all real, no difference. See `difference` for the tolerance.
    """
    if step:
        simulated = comparison.simulated[rollout, step - 1]
        real = comparison.real[rollout, step - 1]
    else:
        simulated = real = comparison.start[rollout]
    images = simulated, real, difference(simulated, real, tolerance)
    return tuple(_as_colour(image) for image in images)


def captions_at(
    comparison: Comparison, rollout: int, step: int, tolerance: int = 0
) -> list[tuple[str, Colour]]:
    """Returns a caption for each pane: the cumulative rewards, and the share of wrong pixels.

    Rewards are green while the model agrees with the game, red while it does not. See `difference`
    for the tolerance.
    """
    simulated = float(comparison.simulated_rewards[rollout, :step].sum())
    real = float(comparison.real_rewards[rollout, :step].sum())
    wrong = float(panes_at(comparison, rollout, step, tolerance)[2].any(axis=-1).mean())
    reward_colour = RIGHT if abs(simulated - real) < _HALF_A_REWARD else WRONG
    return [
        (_reward_text(simulated), reward_colour),
        (_reward_text(real), TEXT),
        (f"WRONG {100 * wrong:.1f}%" if wrong else "WRONG 0%", WRONG if wrong else RIGHT),
    ]


def _reward_text(total: float) -> str:
    text = f"{total:+.2f}".rstrip("0").rstrip(".")
    return "REWARD 0" if text in ("+0", "-0") else f"REWARD {text}"


def fitting(text: str, width: int, scale: int) -> str:
    """Drops leading words until the text fits; the last word, the number, always stays."""
    words = text.split()
    while len(words) > 1 and text_width(" ".join(words), scale) > width:
        words.pop(0)
    return " ".join(words)


def upscale(image: np.ndarray, scale: int) -> np.ndarray:
    """Repeats every pixel of [H, W, C] `scale` times in both directions."""
    return image.repeat(scale, 0).repeat(scale, 1)


def _as_colour(image: np.ndarray) -> np.ndarray:
    return image if image.shape[-1] == 3 else image.repeat(3, axis=-1)
