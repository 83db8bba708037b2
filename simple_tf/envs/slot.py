"""One place in a batch of games, where episode after episode is played.

Slots write into arrays that the batch owns, which may be memory shared between processes.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from simple_tf.envs.agent_view import AgentView, SeenStep
from simple_tf.envs.game import Game
from simple_tf.seeding import derive_seed

# The values of `tf_agents.trajectories.StepType`, which cannot be imported without TensorFlow.
FIRST, MID, LAST = 0, 1, 2


@dataclasses.dataclass(frozen=True)
class EpisodeRules:
    """What holds for every episode of a batch.

    Attributes:
      seed: episodes are seeded by this, the slot's index and the episode's number.
      max_steps: an episode is truncated after so many agent steps; None: never.
      first_episodes: the number of each slot's first episode; empty: 0 for all.
    """

    seed: int
    max_steps: int | None
    first_episodes: tuple[int, ...] = ()


class BatchArrays(NamedTuple):
    """The state of N slots. Observations alternate between two buffers: see `GameBatch.step`."""

    observations: np.ndarray  # uint8 [2, N, K, H, W, C]
    actions: np.ndarray  # int32 [N]
    active: np.ndarray  # bool [N]
    step_type: np.ndarray  # int32 [N]
    raw_reward: np.ndarray  # float32 [N]
    reward: np.ndarray  # float32 [N]
    terminated: np.ndarray  # bool [N]
    truncated: np.ndarray  # bool [N]
    episode_seed: np.ndarray  # int64 [N]


class Slot:
    """Plays one game at one index of the batch's arrays."""

    def __init__(self, game: Game, rules: EpisodeRules, index: int, arrays: BatchArrays):
        self._view = AgentView(game, rules.max_steps)
        self._seed = rules.seed
        self._index = index
        self._arrays = arrays
        self._observations = arrays.observations[0, index], arrays.observations[1, index]
        self._episode = rules.first_episodes[index] if rules.first_episodes else 0

    def restart(self, buffer: int) -> None:
        """Starts the next episode."""
        arrays, i = self._arrays, self._index
        seed = derive_seed(self._seed, "episode", i, self._episode)
        self._episode += 1
        self._view.start(seed, self._observations[buffer])
        arrays.episode_seed[i] = seed
        self._write(FIRST, SeenStep(0.0, 0, False, False))

    def advance(self, buffer: int) -> None:
        """Plays one step, from the other buffer's observation into this one's.

        A slot whose episode has ended starts the next one instead, whatever the action. An
        inactive slot stays as it is.
        """
        arrays, i = self._arrays, self._index
        before, after = self._observations[1 - buffer], self._observations[buffer]
        if not arrays.active[i]:
            after[:] = before
        elif arrays.step_type[i] == LAST:
            self.restart(buffer)
        else:
            step = self._view.step(int(arrays.actions[i]), before, after)
            self._write(LAST if step.terminated or step.truncated else MID, step)

    def close(self) -> None:
        """Frees the game."""
        self._view.game.close()

    def _write(self, step_type: int, step: SeenStep) -> None:
        arrays, i = self._arrays, self._index
        arrays.step_type[i] = step_type
        arrays.raw_reward[i] = step.raw_reward
        arrays.reward[i] = step.reward
        arrays.terminated[i] = step.terminated
        arrays.truncated[i] = step.truncated
