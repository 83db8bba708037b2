"""How games are presented to the agent: what gin can set about them.

Apart from the games themselves, so that every setting is known when gin files are parsed, while
the libraries behind the games are imported only where they are played.
"""

from __future__ import annotations

import dataclasses

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
    """

    frame_skip: int = 4
    resize_factor: int = 2
    grayscale: bool = False
    noop_range: tuple[int, int] = (1, 8)
    sticky_probability: float = 0.0

    def __post_init__(self) -> None:
        fewest, most = self.noop_range
        if self.frame_skip < 1:
            raise ValueError(f"frame_skip must be at least 1, not {self.frame_skip}.")
        if not 0 <= fewest <= most:
            raise ValueError(f"noop_range must be (fewest, most), not {self.noop_range}.")
        if not 0.0 <= self.sticky_probability < 1.0:
            raise ValueError(
                f"sticky_probability must be in [0, 1), not {self.sticky_probability}."
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
