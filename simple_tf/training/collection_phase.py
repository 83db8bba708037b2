"""Playing the real game: the only phase that costs interactions."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence

import gin
import tensorflow as tf
from absl import logging

from simple_tf.agents.acting import PolicyPlayer
from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.data.store import EpisodeStore
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.game import GameSource
from simple_tf.seeding import derive_seed
from simple_tf.training.collection import (
    Collection,
    CollectionSummary,
    OtherPlayError,
    Policy,
)
from simple_tf.training.phase import Advance
from simple_tf.training.schedule import Schedule

_SECONDS_BETWEEN_REPORTS = 0.5


@gin.configurable(denylist=["source", "store", "network", "schedule", "num_input_frames", "seed"])
class CollectionPhase:
    """See `Phase`. Iteration 0 is random play, later ones are played by the policy.

    A collection is not saved half-way. It is played again instead, with the same seed and the same
    policy: the episodes come out the same, and those in the store already are not stored twice. On
    another device, or in a game that does not repeat itself, they may come out differently. Nothing
    has learned from them yet: they are given up, with a warning, and the collection is a new one.

    Args:
        source: the game.
        store: where episodes go, under the iteration's number.
        network: the policy's network.
        schedule: how many interactions.
        num_input_frames: K, frames of an observation.
        num_slots: games side by side; 1 as in the original. More are faster, but with the same
            budget each of them sees less of a long game.
        temperature: of the policy's choice of actions.
        random_hold: for how many steps the random player keeps an action, see `RandomPolicy`.
        seed: decides every draw.
    """

    name = "collection"
    unit = "interactions"
    headline = ("mean_raw_return",)
    resumable = False

    def __init__(
        self,
        source: GameSource,
        store: EpisodeStore,
        network: tf.keras.Model,
        schedule: Schedule,
        num_input_frames: int,
        num_slots: int = 1,
        temperature: float = 1.0,
        random_hold: float | Sequence[float] = 1.0,
        seed: int = 0,
    ) -> None:
        self._source = source
        self._store = store
        self._network = network
        self._schedule = schedule
        self._num_input_frames = num_input_frames
        self._num_slots = num_slots
        self._temperature = temperature
        self._random_hold = random_hold
        self._seed = seed

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return self._schedule.interactions(iteration)

    def global_step(self) -> int:
        """See `Phase`."""
        return self._store.num_steps()

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        del step  # Always from the start.
        try:
            yield from self._play(iteration)
        except OtherPlayError as error:
            lost = self._store.discard_from(iteration)
            logging.warning("%s. These %d interactions are given up.", error, lost)
            yield from self._play(iteration)

    def _play(self, iteration: int) -> Iterator[Advance]:
        seed = derive_seed(self._seed, "collection", iteration)
        with GameBatch(self._source, self._num_slots, seed, self._num_input_frames) as batch:
            collection = Collection(
                batch,
                self._store,
                self._player(iteration, batch.num_actions, seed),
                iteration,
                self.size(iteration),
                keep_unfinished=False,
            )
            yield from _reports(collection)
        self._check(iteration)
        # Counted at the end: what was interrupted is played again.
        size = self.size(iteration)
        yield Advance(size, _metrics(collection.summary()), interactions=size)

    def _player(self, iteration: int, num_actions: int, seed: int) -> Policy:
        if iteration == 0:
            return RandomPolicy(num_actions, seed, self._random_hold)
        return PolicyPlayer(self._network, self._temperature, seed)

    def _check(self, iteration: int) -> None:
        """The budget is a promise: what is in the store is what was planned, to the step."""
        played, planned = self._store.num_steps(iteration), self.size(iteration)
        if played != planned:
            raise RuntimeError(
                f"Iteration {iteration} has {played} interactions in {self._store.directory}, but "
                f"{planned} were planned."
            )


def _reports(collection: Collection) -> Iterator[Advance]:
    played, last = 0, time.perf_counter()
    for count in collection:
        played += count
        if time.perf_counter() - last > _SECONDS_BETWEEN_REPORTS:
            yield Advance(played, {})
            last = time.perf_counter()


def _metrics(summary: CollectionSummary) -> dict[str, float]:
    return {name: float(value) for name, value in dataclasses.asdict(summary).items()}
