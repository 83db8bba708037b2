"""Several processes that are one run: who leads, and how the others follow.

Every worker goes through the same phases in the same order. Training is shared: each worker has
its part of every batch. The real game is played, and everything is written, by the chief alone;
the others wait, and then read the chief's episodes from the file system that all of them share.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import tensorflow as tf

from simple_tf.data.store import EpisodeStore
from simple_tf.replicas import (
    on_replicas,
    position_of_process,
    rows_per_replica,
    this_replica,
    total,
)
from simple_tf.training.phase import Advance, Phase

# What TensorFlow raises when a worker has gone.
_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
)

# What the chief may say instead of a step.
_DONE, _WAIT = -1, -2

_SECONDS_BETWEEN_SIGNS = 5.0


class WorkerLostError(RuntimeError):
    """Another worker has stopped."""


class Workers:
    """The processes of a strategy, in agreement. With one process there is nothing to agree on.

    Args:
        strategy: the run's.

    Attributes:
        index: number of this process.
        count: how many there are.
    """

    def __init__(self, strategy: tf.distribute.Strategy | None = None) -> None:
        self._strategy = strategy or tf.distribute.get_strategy()
        self.index, self.count = position_of_process(self._strategy)
        self._replicas_per_worker = self._strategy.num_replicas_in_sync // self.count
        self._sum = on_replicas(self._strategy, self._summed)

    @property
    def is_chief(self) -> bool:
        """Whether this process plays and writes."""
        return self.index == 0

    def chief_says(self, value: int) -> int:
        """What the chief has called this with; all workers wait for each other."""
        return self._over_workers(value if self.is_chief else 0)

    def any(self, flag: bool) -> bool:
        """Whether any worker has called this with True; all workers wait for each other."""
        return self._over_workers(int(flag)) > 0

    def rows_per_replica(self, batch_size: int, name: str) -> int:
        """Rows of a batch for each replica; raises a ValueError if these are not whole."""
        with self._strategy.scope():
            return rows_per_replica(batch_size, name)

    def _over_workers(self, value: int) -> int:
        if self.count == 1:
            return value
        return int(self._sum(tf.constant(value, tf.int64)))

    def _summed(self, value: tf.Tensor) -> tf.Tensor:
        """Counts the first replica of every worker."""
        leads = tf.equal(this_replica()[0] % self._replicas_per_worker, 0)
        return total(tf.where(leads, value, tf.zeros_like(value)))


@contextlib.contextmanager
def losses_explained(strategy: tf.distribute.Strategy) -> Iterator[None]:
    """Turns TensorFlow's error about a lost worker into one for people."""
    index, count = position_of_process(strategy)
    try:
        yield
    except _LOST as error:
        if count == 1:
            raise
        reason = error.message.strip().splitlines()[0]
        raise WorkerLostError(
            f"Another worker of this run has stopped, and so does worker {index}. Its own messages "
            "say why. What was saved is whole: the same command on every worker goes on from "
            f"there. (TensorFlow: {reason})"
        ) from error


class ChiefPhase:
    """A phase that the chief does while the others wait; see `Phase`.

    Args:
        phase: what the chief does.
        workers: who does.
        store: what the others read again when the chief is done.
    """

    def __init__(self, phase: Phase, workers: Workers, store: EpisodeStore) -> None:
        self.name = phase.name
        self.unit = phase.unit
        self.resumable = phase.resumable
        self._phase = phase
        self._workers = workers
        self._store = store

    @property
    def headline(self) -> tuple[str, ...]:
        """See `Phase`."""
        return self._phase.headline

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return self._phase.size(iteration)

    def global_step(self) -> int:
        """See `Phase`."""
        return self._phase.global_step()

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        return self._lead(iteration, step) if self._workers.is_chief else self._follow()

    def _lead(self, iteration: int, step: int) -> Iterator[Advance]:
        for advance in self._phase.run(iteration, step):
            self._workers.chief_says(advance.step)
            yield advance
        self._workers.chief_says(_DONE)

    def _follow(self) -> Iterator[Advance]:
        while (said := self._workers.chief_says(0)) != _DONE:
            if said != _WAIT:
                yield Advance(said, {})
        self._store.refresh()


def signs_of_life(workers: Workers, should_stop: Callable[[], bool]) -> Callable[[], bool]:
    """A `should_stop` for long work inside a `ChiefPhase`.

    The waiting workers hear from the chief every few seconds, and it finds out if one has gone.
    """
    if workers.count == 1:
        return should_stop
    last = time.monotonic()

    def asked() -> bool:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_SIGNS:
            workers.chief_says(_WAIT)
            last = time.monotonic()
        return should_stop()

    return asked


def led_by_chief(phase: Phase, workers: Workers, store: EpisodeStore) -> Phase:
    """The phase as it is if there is one worker, and a `ChiefPhase` otherwise."""
    return phase if workers.count == 1 else ChiefPhase(phase, workers, store)
