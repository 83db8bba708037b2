"""A run from its start, or its last checkpoint, to its end: whatever it is that learns."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Iterator, Sequence

import gin
import tensorflow as tf

from simple_tf.training import screen
from simple_tf.training.checkpoints import RunCheckpoints
from simple_tf.training.interruption import Interruption
from simple_tf.training.loop import SimpleLoop
from simple_tf.training.metrics import MetricsLog
from simple_tf.training.phase import Phase
from simple_tf.training.position import Position
from simple_tf.training.run_directory import RunDescription, RunDirectory, replace_text
from simple_tf.training.schedule import Plan


class LoopRun(abc.ABC):
    """What all runs share; sub-classes say what learns, in which phases.

    Args:
        directory: the run's, claimed already.
        description: of the run.
        schedule: how much of everything.
        checkpoints: where the whole state goes.
        columns: of the table on the screen.
    """

    def __init__(
        self,
        directory: RunDirectory,
        description: RunDescription,
        schedule: Plan,
        checkpoints: RunCheckpoints,
        columns: Sequence[screen.Column],
    ) -> None:
        self.directory = directory
        self._description = description
        self._schedule = schedule
        self._checkpoints = checkpoints
        self._columns = columns
        self._position = Position()

    def run(self) -> str | None:
        """Runs the loop to its end, or until a signal; prints what a person wants to know.

        Returns:
            The name of the signal that ended it early, or None.
        """
        fields = self._checkpoints.restore()
        position = self._first_position() if fields is None else Position.from_json(fields)
        self._position = position
        game, seed = self._description.game, self._description.seed
        print(screen.opening(game, seed, self._schedule, position, self._columns))
        with Interruption() as interruption, self._log(position) as log:
            loop = self._loop(position, log, interruption.requested)
            replace_text(self.directory.configuration, gin.operative_config_str())
            finished = loop.run()
            # Once more: by now everything has been built that ever is.
            replace_text(self.directory.configuration, gin.operative_config_str())
            if finished:
                self._leave_pictures()
                print(screen.closing(self.directory, game, position))
                return None
        print(screen.interrupted(interruption.signal_name, position))
        return interruption.signal_name

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
    def _log(self, position: Position) -> Iterator[MetricsLog]:
        log = MetricsLog(self.directory, lines_to_keep=position.metric_lines)
        try:
            yield log
        finally:
            log.close()

    def _loop(
        self, position: Position, log: MetricsLog, should_stop: Callable[[], bool]
    ) -> SimpleLoop:
        return SimpleLoop(
            self.phases(should_stop),
            self._schedule,
            self._checkpoints,
            log,
            position,
            should_stop,
            lambda: non_finite(self._variables()),
            on_iteration=lambda place: print(
                screen.iteration(place, self._schedule, self._columns)
            ),
        )


def non_finite(variables: Sequence[tf.Variable]) -> list[str]:
    """Names of the variables that hold anything but numbers."""
    finite = tf.stack([tf.reduce_all(tf.math.is_finite(v)) for v in variables]).numpy()
    return [v.name for v, is_finite in zip(variables, finite, strict=True) if not is_finite]
