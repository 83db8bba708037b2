"""Plays real games and stores every episode: the only place where interactions are paid for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.envs.batch import BatchStep, GameBatch
from simple_tf.envs.slot import FIRST, LAST
from simple_tf.seeding import derive_seed

Policy = Callable[[np.ndarray], np.ndarray]
"""From observations, uint8 [N, K, H, W, C], to actions, int [N]."""


@dataclasses.dataclass(frozen=True)
class CollectionSummary:
    """What a collection has added to the store.

    Attributes:
      interactions: agent steps played; no-op steps at an episode's start are not counted.
      episodes: how many were stored, unfinished ones included.
      finished: how many came to their end.
      mean_raw_return: mean score of the finished ones; NaN if there are none.
    """

    interactions: int
    episodes: int
    finished: int
    mean_raw_return: float


class RandomPolicy:
    """Uniformly random actions, all decided by the seed."""

    def __init__(self, num_actions: int, seed: int):
        self._num_actions = num_actions
        self._rng = np.random.default_rng(derive_seed(seed, "random policy"))

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        return self._rng.integers(0, self._num_actions, len(observations))


class Collector:
    """Plays `batch` with a policy and records what happens.

    Args:
      batch: the games; every collection starts new episodes in all slots.
      store: where episodes go as soon as they end.
    """

    def __init__(self, batch: GameBatch, store: EpisodeStore):
        self._batch = batch
        self._store = store
        self._recorders: list[EpisodeRecorder | None] = [None] * batch.num_slots
        self._iteration = 0
        self._started = 0
        self._finished_returns: list[float] = []

    def collect(
        self,
        policy: Policy,
        iteration: int,
        num_interactions: int,
        report: Callable[[int], object] = lambda played: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> CollectionSummary:
        """Plays exactly so many interactions; episodes cut short by that are stored as truncated.

        Args:
          policy: chooses the actions.
          iteration: under which the episodes are stored; must be new.
          num_interactions: how many agent steps to play, over all slots.
          report: called with the number of interactions just played.
          should_stop: asked before every step; True ends the collection early.
        """
        self._begin(iteration)
        step = self._batch.reset()
        played = 0
        while played < num_interactions and not should_stop():
            actions = policy(step.observations)
            active = self._affordable(step, num_interactions - played)
            after = self._batch.step(actions, active)
            now = self._record(step, actions, after, active)
            played += now
            report(now)
            step = after
        self._finish_all()
        return self._summary(played)

    def _begin(self, iteration: int) -> None:
        self._iteration = iteration
        self._started = 0
        self._finished_returns = []

    def _affordable(self, step: BatchStep, left: int) -> np.ndarray:
        """Which slots to play, bool [N]: starting the next episode is free, a step is not."""
        costs = step.step_type != LAST
        return ~costs | (np.cumsum(costs) <= left)

    def _record(
        self, before: BatchStep, actions: np.ndarray, after: BatchStep, active: np.ndarray
    ) -> int:
        """Records one step of each slot that played one; returns how many did."""
        played = np.flatnonzero(active & (after.step_type != FIRST))
        for slot in played.tolist():
            recorder = self._recorders[slot] or self._start(slot, before)
            recorder.add(
                int(actions[slot]),
                float(after.raw_reward[slot]),
                int(after.reward[slot]),
                after.observations[slot, -1],
            )
            if after.step_type[slot] == LAST:
                self._finished_returns.append(
                    self._save(slot, bool(after.terminated[slot]), bool(after.truncated[slot]))
                )
        return len(played)

    def _start(self, slot: int, first: BatchStep) -> EpisodeRecorder:
        recorder = EpisodeRecorder(
            self._iteration,
            self._started,
            int(first.episode_seed[slot]),
            first.observations[slot, -1],
        )
        self._started += 1
        self._recorders[slot] = recorder
        return recorder

    def _save(self, slot: int, terminated: bool, truncated: bool) -> float:
        """Stores the slot's episode and returns its score."""
        recorder, self._recorders[slot] = self._recorders[slot], None
        assert recorder is not None
        return self._store.append(recorder.finish(terminated, truncated)).raw_return

    def _finish_all(self) -> None:
        for slot, recorder in enumerate(self._recorders):
            if recorder is not None:
                self._save(slot, terminated=False, truncated=True)

    def _summary(self, played: int) -> CollectionSummary:
        returns = self._finished_returns
        mean = float(np.mean(returns)) if returns else float("nan")
        return CollectionSummary(played, self._started, len(returns), mean)
