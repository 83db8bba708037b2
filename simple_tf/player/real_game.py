"""The real game, brought to where somebody once was."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simple_tf.data.codec import StoredEpisode
from simple_tf.envs.agent_view import AgentView
from simple_tf.envs.game import GameSource


class RealStep(NamedTuple):
    """What one action has brought.

    Attributes:
        reward: in {-1, 0, 1}.
        raw_reward: the game's own.
    """

    reward: int
    raw_reward: float


class RealGame:
    """One instance of the real game, as the agent sees it.

    Args:
        source: the game as it was played.
        stack: K, how many frames an observation has.
    """

    def __init__(self, source: GameSource, stack: int) -> None:
        self._game = source.make()
        self._view = AgentView(self._game, max_steps=None)
        self.action_meanings = self._game.action_meanings
        self.observation = np.zeros((stack, *self._game.frame_shape), np.uint8)
        self.over = False

    def go_to(self, episode: StoredEpisode, step: int) -> None:
        """Plays the first steps of an episode again: the same seed and actions, the same game."""
        self.over = False
        self._view.start(episode.seed, self.observation)
        for action in episode.actions[:step].tolist():
            self.step(action)

    def step(self, action: int) -> RealStep:
        """Goes on with an action; where the game is over, nothing happens any more."""
        if self.over:
            return RealStep(0, 0.0)
        seen = self._view.step(action, self.observation, self.observation)
        self.over = seen.terminated or seen.truncated
        return RealStep(seen.reward, seen.raw_reward)

    def screen(self) -> np.ndarray:
        """Returns what a person would see, uint8 [height, width, 3]."""
        return self._game.screen()

    def close(self) -> None:
        """Ends the game; nothing can be asked of it any more."""
        self._game.close()
        del self._view, self._game
