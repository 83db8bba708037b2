"""How games are presented to the agent: what gin can set about them.

Apart from the games themselves, so that every setting is known when gin files are parsed, while
the libraries behind the games are imported only where they are played.
"""

from __future__ import annotations

import dataclasses
import numbers

import gin


@gin.configurable
@dataclasses.dataclass(frozen=True)
class AtariSettings:
    """How an Atari game is presented to the agent; the defaults are the original's.

    Attributes:
      frame_skip: emulator frames per agent step; the action is held, rewards are summed, and the
        frame is the pixelwise maximum of the last two.
      resize_factor: both sides of the 210x160 screen are divided by this (area mean, truncated).
      grayscale: one channel instead of three.
      noop_range: fewest and most agent steps without action at the start of an episode, drawn
        uniformly, both included. (0, 0) starts at the first screen.
      sticky_probability: chance that an emulator frame repeats the action of the frame before, as
        recommended by Machado et al. (2018), section 5.
      frame_shape: height, width and channels (1: grey, or 3) of a frame, e.g. (84, 84, 1), as most
        model-free learners have it; None: as `resize_factor` and `grayscale` give.
      whole_blocks: leave out the last rows and columns of the screen that do not fill a block of
        `resize_factor` pixels (two of 210 rows at a factor of 4). Otherwise blocks are a little
        larger (4.04 rows), and what moves by whole pixels changes its shades on the way. Nothing
        to do with a `frame_shape`.
    """

    frame_skip: int = 4
    resize_factor: int = 2
    grayscale: bool = False
    noop_range: tuple[int, int] = (1, 8)
    sticky_probability: float = 0.0
    frame_shape: tuple[int, int, int] | None = None
    whole_blocks: bool = False

    def __post_init__(self) -> None:
        _check_counts(frame_skip=self.frame_skip, resize_factor=self.resize_factor)
        if not _is_range(self.noop_range):
            raise ValueError(f"noop_range must be (fewest, most), not {self.noop_range!r}.")
        probability = self.sticky_probability
        if not (isinstance(probability, numbers.Real) and 0.0 <= probability < 1.0):
            raise ValueError(f"sticky_probability must be in [0, 1), not {probability!r}.")
        if self.frame_shape is not None and not _is_shape(self.frame_shape):
            raise ValueError(
                f"frame_shape must be (height, width, 1 or 3) or None, not {self.frame_shape!r}."
            )


@gin.configurable
@dataclasses.dataclass(frozen=True)
class GymnasiumSettings:
    """How a Gymnasium environment is presented to the agent: by default, just as it is.

    Attributes:
      frame_skip: environment steps per agent step; the action is held, rewards are summed.
      resize_factor: both sides of the image are divided by this (area mean, truncated).
      grayscale: one channel instead of three.
    """

    frame_skip: int = 1
    resize_factor: int = 1
    grayscale: bool = False

    def __post_init__(self) -> None:
        _check_counts(frame_skip=self.frame_skip, resize_factor=self.resize_factor)


def _check_counts(**values: object) -> None:
    """Raises ValueError for whatever is not a whole number of at least 1; gin checks no types."""
    for name, value in values.items():
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")


def _is_range(values: object) -> bool:
    match values:
        case (int() as fewest, int() as most):
            return 0 <= fewest <= most
    return False


def _is_shape(values: object) -> bool:
    match values:
        case (int() as height, int() as width, 1 | 3):
            return min(height, width) >= 1
    return False
