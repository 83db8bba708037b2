"""A game as the agent sees it: the last K frames, clipped rewards, a cap on the episode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simple_tf.envs.game import Game


class SeenStep(NamedTuple):
    """What one step of the agent brought."""

    raw_reward: float
    reward: int  # in {-1, 0, 1}
    terminated: bool
    truncated: bool


class AgentView:
    """Plays one game, writing observations (uint8 [K, H, W, C], oldest first) where it is told.

    Args:
      game: the game.
      max_steps: episodes are truncated after so many agent steps; None: never.
    """

    def __init__(self, game: Game, max_steps: int | None):
        self.game = game
        self._max_steps = max_steps
        self._steps = 0

    def start(self, seed: int, observation: np.ndarray) -> None:
        """Starts an episode; its first frame fills the whole history, as in the original."""
        self._steps = 0
        self.game.reset(seed)
        self.game.write_frame(observation[-1])
        observation[:-1] = observation[-1]

    def step(self, action: int, before: np.ndarray, after: np.ndarray) -> SeenStep:
        """Plays one step, from the observation `before` to `after`; they may be one array."""
        raw_reward, terminated, truncated = self.game.step(action)
        self._steps += 1
        at_cap = self._max_steps is not None and self._steps >= self._max_steps
        after[:-1] = before[1:]
        self.game.write_frame(after[-1])
        truncated = not terminated and (truncated or at_cap)
        return SeenStep(raw_reward, _clip(raw_reward), terminated, truncated)


def _clip(raw_reward: float) -> int:
    """Returns the raw reward clipped to [-1, 1] and rounded: the reward class minus one."""
    return round(max(-1.0, min(1.0, raw_reward)))
