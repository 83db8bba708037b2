"""A run from its start, or its last checkpoint, to its end: whatever it is that learns."""

from __future__ import annotations

import abc
import contextlib
import json
import signal
import zlib
from collections.abc import Callable, Iterator, Sequence

import gin
import tensorflow as tf

from simple_tf.training import screen
from simple_tf.training.background_work import BackgroundWork
from simple_tf.training.checkpoints import RunCheckpoints
from simple_tf.training.interruption import Interruption
from simple_tf.training.loop import SimpleLoop
from simple_tf.training.metrics import MetricsLog, SilentLog
from simple_tf.training.phase import Phase
from simple_tf.training.position import Position
from simple_tf.training.run_directory import (
    RunDescription,
    RunDirectory,
    RunError,
    replace_text,
)
from simple_tf.training.schedule import Plan
from simple_tf.training.workers import Workers


class LoopRun(abc.ABC):
    """What all runs share; sub-classes say what learns, in which phases.

    Args:
        directory: the run's, claimed already.
        description: of the run.
        schedule: how much of everything.
        checkpoints: where the whole state goes.
        columns: of the table on the screen.
        workers: the processes that are this run together; default: this one.
    """

    def __init__(
        self,
        directory: RunDirectory,
        description: RunDescription,
        schedule: Plan,
        checkpoints: RunCheckpoints,
        columns: Sequence[screen.Column],
        workers: Workers | None = None,
    ) -> None:
        self.directory = directory
        self._description = description
        self._schedule = schedule
        self._checkpoints = checkpoints
        self._columns = columns
        self.workers = workers or Workers()
        self.beside = BackgroundWork()
        self._position = Position()

    def run(self) -> str | None:
        """Runs the loop to its end, or until a signal; prints what a person wants to know.

        Returns:
            The name of the signal that ended it early, or None.
        """
        position = self._position = self._restored_position()
        game, seed = self._description.game, self._description.seed
        self._say(
            screen.opening(self.directory, game, seed, self._schedule, position, self._columns)
        )
        with Interruption() as interruption, self._log(position) as log, self.beside:
            loop = self._loop(position, log, interruption.requested)
            self._keep_configuration()
            finished = loop.run()
            self._keep_configuration()  # By now everything has been built that ever is.
            if finished:
                self._close(position)
                return None
            self.beside.check()  # Whether it was this that ended the loop.
        # It may have reached another worker only.
        stopped_by = interruption.signal_name or signal.SIGTERM.name
        self._say(screen.interrupted(stopped_by, self.directory, position))
        return stopped_by

    def _close(self, position: Position) -> None:
        if self.workers.is_chief:
            self._leave_pictures()
        self.workers.chief_says(0)  # Nobody leaves before the chief is done.
        self._say(screen.closing(self.directory, self._description.game, position))

    def _restored_position(self) -> Position:
        fields = self._checkpoints.restore()
        found = zlib.crc32(json.dumps(fields).encode())
        if self.workers.any(self.workers.chief_says(found) != found):
            raise RunError(
                f"The workers have found different checkpoints in {self.directory.path}: all of "
                "them need the same --output_dir, on a file system that they share."
            )
        return self._first_position() if fields is None else Position.from_json(fields)

    def _say(self, text: str) -> None:
        if self.workers.is_chief:
            print(text)

    def _keep_configuration(self) -> None:
        if self.workers.is_chief:
            replace_text(self.directory.configuration, gin.operative_config_str())

    @abc.abstractmethod
    def phases(self, should_stop: Callable[[], bool]) -> list[Phase]:
        """The phases of an iteration, in their order."""

    @abc.abstractmethod
    def _variables(self) -> Sequence[tf.Variable]:
        """The weights; they have to stay numbers."""

    @abc.abstractmethod
    def _first_position(self) -> Position:
        """Where a run begins that has no checkpoint; may prepare what learns."""

    def _leave_pictures(self) -> None:  # noqa: B027 (most runs leave none)
        """Called when the run is done."""

    @contextlib.contextmanager
    def _log(self, position: Position) -> Iterator[MetricsLog | SilentLog]:
        log: MetricsLog | SilentLog = (
            MetricsLog(self.directory, lines_to_keep=position.metric_lines)
            if self.workers.is_chief
            else SilentLog()
        )
        try:
            yield log
        finally:
            log.close()

    def _loop(
        self, position: Position, log: MetricsLog | SilentLog, should_stop: Callable[[], bool]
    ) -> SimpleLoop:
        workers = self.workers
        return SimpleLoop(
            self.phases(should_stop),
            self._schedule,
            self._checkpoints,
            log,
            position,
            lambda: workers.any(should_stop() or self.beside.failed),
            lambda: non_finite(self._variables()),
            on_iteration=lambda place: self._say(
                screen.iteration(place, self._schedule, self._columns)
            ),
            agree_to_save=lambda due: bool(workers.chief_says(due)),
        )


def non_finite(variables: Sequence[tf.Variable]) -> list[str]:
    """Names of the variables that hold anything but numbers."""
    finite = tf.stack([tf.reduce_all(tf.math.is_finite(v)) for v in variables]).numpy()
    return [v.name for v, is_finite in zip(variables, finite, strict=True) if not is_finite]
