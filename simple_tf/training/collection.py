"""Plays real games and stores every episode: the only place where interactions are paid for."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Generator

import numpy as np

from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.errors import StoreError
from simple_tf.data.store import EpisodeStore
from simple_tf.envs.batch import BatchStep, GameBatch
from simple_tf.envs.slot import FIRST, LAST

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


class OtherPlayError(StoreError):
    """A collection that is played again is not what is in the store."""


class Collection:
    """Plays exactly so many interactions, from new episodes in all slots, and stores them.

    Iterating plays: it yields the number of interactions of every step of the batch. Episodes go
    into the store as they end. Those still running at the end are stored as truncated.

    A collection that was ended half-way can be played again: with the same seed and policy the
    episodes are the same, and those that are stored already are not stored twice. Should they not
    be the same, iterating raises `OtherPlayError`.

    Args:
      batch: the games.
      store: where the episodes go.
      policy: chooses the actions.
      iteration: under which the episodes are stored.
      num_interactions: how many agent steps to play, over all slots.
      keep_unfinished: whether running episodes are stored also if the end comes early, by an
        exception or because the iteration is given up: what was paid for is kept. Not for a
        collection that will be played again.
    """

    def __init__(
        self,
        batch: GameBatch,
        store: EpisodeStore,
        policy: Policy,
        iteration: int,
        num_interactions: int,
        keep_unfinished: bool = True,
    ):
        check_num_interactions(num_interactions)
        self._batch = batch
        self._policy = policy
        self._num_interactions = num_interactions
        self._keep_unfinished = keep_unfinished
        self._recording = _Recording(store, iteration, batch.num_slots)

    def __iter__(self) -> Generator[int, None, None]:
        recording, batch = self._recording, self._batch
        step = batch.reset()
        recording.start_episodes(step)
        complete = False
        try:
            while recording.played < self._num_interactions:
                actions = self._policy(step.observations)
                active = _affordable(step, self._num_interactions - recording.played)
                batch.send(actions, active)
                recording.encode()  # The step before, while the workers play this one.
                step = batch.receive()
                yield recording.add(actions, step, active)
            complete = True
        finally:
            if complete or self._keep_unfinished:
                recording.finish()

    def summary(self) -> CollectionSummary:
        """What has been added to the store."""
        return self._recording.summary()


def collect(
    batch: GameBatch,
    store: EpisodeStore,
    policy: Policy,
    iteration: int,
    num_interactions: int,
    report: Callable[[int], object] = lambda played: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> CollectionSummary:
    """Plays a whole `Collection`, or as much of it as is wanted.

    Args:
      batch: see `Collection`, as for the next four.
      store: …
      policy: …
      iteration: …
      num_interactions: …
      report: called with the number of interactions just played.
      should_stop: asked after every step; True ends the collection early.
    """
    collection = Collection(batch, store, policy, iteration, num_interactions)
    with contextlib.closing(iter(collection)) as steps:
        while not should_stop() and (played := next(steps, None)) is not None:
            report(played)
    return collection.summary()


def check_num_interactions(num_interactions: int) -> None:
    """Raises ValueError unless there is something to play."""
    if not isinstance(num_interactions, int) or num_interactions < 1:
        raise ValueError(
            f"num_interactions must be a whole number of at least 1, not {num_interactions!r}."
        )


def _affordable(step: BatchStep, left: int) -> np.ndarray:
    """Which slots to play, bool [N]: starting the next episode is free, a step is not."""
    costs = step.step_type != LAST
    return ~costs | (np.cumsum(costs) <= left)


class _Recording:
    """The episodes of one collection: those being played, and a count of all.

    Encoding frames takes a fair part of the time that playing them does. A step is therefore first
    noted (`add`) and encoded while the next one is being played (`encode`); its observations stay
    valid until then, because the batch alternates between two buffers.
    """

    def __init__(self, store: EpisodeStore, iteration: int, num_slots: int):
        self.played = 0
        self._store = store
        self._iteration = iteration
        self._recorders: list[EpisodeRecorder | None] = [None] * num_slots
        self._started = 0
        self._stored = 0
        self._finished_returns: list[float] = []
        self._noted: tuple[np.ndarray, BatchStep, np.ndarray] | None = None

    def add(self, actions: np.ndarray, after: BatchStep, active: np.ndarray) -> int:
        """Notes one step of the batch; returns how many slots played an interaction."""
        played = active & (after.step_type != FIRST)
        self._noted = actions, after, played
        self.played += int(played.sum())
        return int(played.sum())

    def encode(self) -> None:
        """Records the noted step, if any; episodes that it ended go into the store."""
        if self._noted is None:
            return
        (actions, after, played), self._noted = self._noted, None
        for slot in np.flatnonzero(played).tolist():
            recorder = self._recorders[slot]
            assert recorder is not None
            recorder.add(
                int(actions[slot]),
                float(after.raw_reward[slot]),
                int(after.reward[slot]),
                after.observations[slot, -1],
            )
        self._store_ended(after, played)
        self.start_episodes(after)

    def start_episodes(self, step: BatchStep) -> None:
        """Begins an episode in every slot that shows its first frame and has none yet."""
        for slot in np.flatnonzero(step.step_type == FIRST).tolist():
            if self._recorders[slot] is None:
                self._recorders[slot] = EpisodeRecorder(
                    self._iteration,
                    self._started,
                    int(step.episode_seed[slot]),
                    step.observations[slot, -1],
                )
                self._started += 1

    def finish(self) -> None:
        """Stores what is still being played, as truncated."""
        self.encode()
        for slot, recorder in enumerate(self._recorders):
            if recorder is not None and recorder.num_steps:
                self._save(slot, recorder, terminated=False, truncated=True)

    def summary(self) -> CollectionSummary:
        """What has been added to the store."""
        returns = self._finished_returns
        mean = float(np.mean(returns)) if returns else float("nan")
        return CollectionSummary(self.played, self._stored, len(returns), mean)

    def _store_ended(self, after: BatchStep, played: np.ndarray) -> None:
        for slot in np.flatnonzero(played & (after.step_type == LAST)).tolist():
            recorder = self._recorders[slot]
            assert recorder is not None
            raw_return = self._save(
                slot, recorder, bool(after.terminated[slot]), bool(after.truncated[slot])
            )
            self._finished_returns.append(raw_return)

    def _save(
        self, slot: int, recorder: EpisodeRecorder, terminated: bool, truncated: bool
    ) -> float:
        """Stores the slot's episode and returns its score; a failed attempt keeps the episode."""
        episode = recorder.finish(terminated, truncated)
        stored = self._store.get(episode.key)
        if stored is None:
            stored = self._store.append(episode)
        elif not stored.same_play(episode):
            raise OtherPlayError(
                f"{stored.path} was played before and came out differently now, with the same "
                "seed and policy: the game is not repeatable, or versions or devices have changed"
            )
        self._recorders[slot] = None
        self._stored += 1
        return stored.raw_return
