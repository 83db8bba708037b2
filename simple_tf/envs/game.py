"""What the rest of the system asks of a game: start it, act in it, look at its screen."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """What one agent step brought.

    Attributes:
      raw_reward: the game's own reward, summed over the repeated frames.
      terminated: the game is over.
      truncated: the game was cut off without being over (a time limit of its own).
    """

    raw_reward: float
    terminated: bool
    truncated: bool


class Game(abc.ABC):
    """One real game. Knows neither history nor episode caps: see `agent_view.AgentView`.

    Attributes:
      action_meanings: a name for each action; their number is the number of actions.
      frame_shape: height, width and channels of a frame.
    """

    action_meanings: tuple[str, ...]
    frame_shape: tuple[int, int, int]

    @abc.abstractmethod
    def reset(self, seed: int) -> None:
        """Starts a new episode; the same seed and actions give the same episode."""

    @abc.abstractmethod
    def step(self, action: int) -> Outcome:
        """Plays one agent step with `action` in [0, number of actions)."""

    @abc.abstractmethod
    def write_frame(self, out: np.ndarray) -> None:
        """Writes the current frame, as the agent sees it, into `out` (uint8, `frame_shape`)."""

    @abc.abstractmethod
    def screen(self) -> np.ndarray:
        """Returns the screen as a person would see it, uint8 [height, width, 3]."""

    def close(self) -> None:  # noqa: B027 (most games hold nothing)
        """Frees what the game holds."""


class GameSource(abc.ABC):
    """A game chosen by name with its settings: small, picklable, makes any number of instances."""

    name: str

    @abc.abstractmethod
    def make(self) -> Game:
        """Makes a new, independent instance of the game."""

    @abc.abstractmethod
    def settings_dict(self) -> dict[str, Any]:
        """Returns the settings as plain JSON values, to be saved with the data they produced."""
