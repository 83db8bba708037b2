"""Real games that can be left and taken up again in the middle of their episodes.

An episode is a function of its seed and its actions. What has to be remembered of a game are
therefore the number of its episode and the actions since that began: whoever plays them again is
where the game was, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from simple_tf.envs.batch import BatchStep, GameBatch
from simple_tf.envs.slot import FIRST, LAST

MakeBatch = Callable[[tuple[int, ...]], GameBatch]
"""Makes the games, given the number of each slot's first episode."""


class BatchState(NamedTuple):
    """Where N games are.

    Attributes:
      episodes: the number of the episode that each slot is playing.
      actions: of each slot, since its episode began.
    """

    episodes: tuple[int, ...]
    actions: tuple[tuple[int, ...], ...]


class FinishedEpisodes(NamedTuple):
    """What has ended since somebody asked last.

    Attributes:
      raw_returns: the game's own rewards, summed over each finished episode.
      interactions: agent steps that were played, in these and in unfinished episodes.
    """

    raw_returns: list[float]
    interactions: int


class ResumableBatch:
    """A `GameBatch` that remembers what was done to it.

    Args:
      make_batch: makes the games; the same ones every time.
    """

    def __init__(self, make_batch: MakeBatch):
        self._make_batch = make_batch
        self.batch = make_batch(())
        self._sent: np.ndarray | None = None
        self._step: BatchStep | None = None
        self._episodes: list[int] = []
        self._actions: list[list[int]] = []
        self._returns: list[float] = []
        self._finished: list[float] = []
        self._interactions = 0
        self._forget(self.batch.num_slots)

    @property
    def num_slots(self) -> int:
        """N."""
        return self.batch.num_slots

    @property
    def step(self) -> BatchStep:
        """What the games show now; starts them, and waits for a step that is under way."""
        if self._sent is not None:
            self._receive()
        if self._step is None:
            self.reset()
        assert self._step is not None
        return self._step

    def reset(self) -> None:
        """Starts the next episode in every slot."""
        self._sent = None
        self._step = self.batch.reset()
        for slot in range(self.num_slots):
            self._begin_episode(slot)

    def send(self, actions: np.ndarray) -> None:
        """Starts a step of all games without waiting for it; `step` waits."""
        assert self.step is not None  # Started, and nothing under way.
        self._sent = np.array(actions, np.int32)
        self.batch.send(self._sent)

    def take_finished(self) -> FinishedEpisodes:
        """Returns what was played since the last call."""
        self.step  # noqa: B018 (waits)
        finished = FinishedEpisodes(self._finished, self._interactions)
        self._finished, self._interactions = [], 0
        return finished

    def state(self) -> BatchState:
        """Returns where the games are; `restore` brings other ones there."""
        self.step  # noqa: B018 (waits)
        return BatchState(tuple(self._episodes), tuple(tuple(actions) for actions in self._actions))

    def restore(self, state: BatchState) -> None:
        """Brings the games to where others were: plays the actions of their episodes again."""
        self.batch.close()
        self.batch = self._make_batch(state.episodes)
        self._sent = None
        self._forget(self.num_slots)
        self._episodes = [number - 1 for number in state.episodes]
        self.reset()
        longest = max(map(len, state.actions), default=0)
        again = {"desc": "playing unfinished episodes again", "unit": " steps"}
        for t in tqdm(range(longest), disable=None, leave=False, dynamic_ncols=True, **again):
            active = np.array([t < len(actions) for actions in state.actions])
            actions = [actions[t] if t < len(actions) else 0 for actions in state.actions]
            self._sent = np.array(actions, np.int32)
            self.batch.send(self._sent, active)
            self._receive(active)
        self._finished, self._interactions = [], 0

    def close(self) -> None:
        """Ends the games."""
        self.batch.close()

    def _forget(self, num_slots: int) -> None:
        self._episodes = [-1] * num_slots
        self._actions = [[] for _ in range(num_slots)]
        self._returns = [0.0] * num_slots
        self._finished, self._interactions = [], 0

    def _begin_episode(self, slot: int) -> None:
        self._episodes[slot] += 1
        self._actions[slot] = []
        self._returns[slot] = 0.0

    def _receive(self, active: np.ndarray | None = None) -> None:
        assert self._sent is not None
        step = self.batch.receive()
        for slot, action in enumerate(self._sent.tolist()):
            if active is None or active[slot]:
                self._note(slot, action, step)
        self._sent, self._step = None, step

    def _note(self, slot: int, action: int, step: BatchStep) -> None:
        if step.step_type[slot] == FIRST:  # The action was ignored.
            self._begin_episode(slot)
            return
        self._actions[slot].append(action)
        self._interactions += 1
        self._returns[slot] += float(step.raw_reward[slot])
        if step.step_type[slot] == LAST:
            self._finished.append(self._returns[slot])
