"""How well a model draws what moves: most of an Atari screen never does."""

from __future__ import annotations

import dataclasses

import numpy as np

from simple_tf.evaluation.segments import Segments

# Colours closer than this, of 255, look alike: a palette may have replaced one by the other.
TOLERANCE = 12
_SEGMENTS_AT_ONCE = 16
_MOST_FRAMES_OF_BACKGROUND = 256


@dataclasses.dataclass(frozen=True)
class MotionQuality:
    """Curves over the steps of a rollout; entry t - 1 belongs to step t. None: nothing moved.

    Attributes:
        changed_right: of the pixels that the game has changed since the start, the share that the
            model shows as the game does.
        visible_mass: how much the model's frames differ from the background, as a share of how
            much the game's do. Below 1 things fade, above 1 it shows more than there is.
    """

    changed_right: tuple[float | None, ...]
    visible_mass: tuple[float | None, ...]

    @property
    def mean_changed_right(self) -> float | None:
        """Mean over the steps."""
        known = [share for share in self.changed_right if share is not None]
        return float(np.mean(known)) if known else None


def motion_quality(segments: Segments, simulated: np.ndarray) -> MotionQuality:
    """Compares a model's frames under the real actions with the game's.

    Args:
        segments: real play.
        simulated: the model's frames, uint8 [S, T, H, W, C].
    """
    background = _background(segments.frames)
    totals = np.zeros((4, segments.horizon))
    for begin in range(0, len(segments), _SEGMENTS_AT_ONCE):
        part = slice(begin, begin + _SEGMENTS_AT_ONCE)
        totals += _counts(
            segments.history[part, -1], segments.real[part], simulated[part], background
        )
    changed, right, real_mass, simulated_mass = totals
    return MotionQuality(_shares(right, changed), _shares(simulated_mass, real_mass))


def _counts(
    start: np.ndarray, real: np.ndarray, simulated: np.ndarray, background: np.ndarray
) -> np.ndarray:
    """Changed pixels, right ones among them, and the mass of both kinds of frames, [4, T]."""
    start, real, simulated = (x.astype(np.int16) for x in (start, real, simulated))
    changed = (np.abs(real - start[:, None]) > TOLERANCE).any(axis=-1)
    right = changed & (np.abs(simulated - real) <= TOLERANCE).all(axis=-1)
    pixels = [x.sum(axis=(0, 2, 3)) for x in (changed, right)]
    masses = [np.abs(x - background).sum(axis=(0, 2, 3, 4)) for x in (real, simulated)]
    return np.stack([*pixels, *masses]).astype(np.float64)


def _background(frames: np.ndarray) -> np.ndarray:
    """The median of frames from all segments, int16 [H, W, C]."""
    flat = frames.reshape(-1, *frames.shape[2:])
    chosen = np.linspace(0, len(flat) - 1, min(len(flat), _MOST_FRAMES_OF_BACKGROUND)).astype(int)
    return np.median(flat[chosen], axis=0).astype(np.int16)


def _shares(parts: np.ndarray, wholes: np.ndarray) -> tuple[float | None, ...]:
    return tuple(
        float(part / whole) if whole else None for part, whole in zip(parts, wholes, strict=True)
    )
