"""The loop of a run: the order of the phases, counting, logging and saving, and nothing else."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

import gin

from simple_tf.training.checkpoints import RunCheckpoints
from simple_tf.training.metrics import MetricsLog, RunningMean, SilentLog
from simple_tf.training.phase import Advance, Phase
from simple_tf.training.position import PREVIOUS, Position, Stopwatch
from simple_tf.training.progress import ProgressLine
from simple_tf.training.schedule import Plan

# Metrics whose names end like this are finite as long as training is in order. Others may be NaN
# for want of examples, and a gradient may overflow where a loss scale takes care of it.
_ALWAYS_FINITE = ("loss", "entropy")


class DivergedError(RuntimeError):
    """A loss or a weight is not a number any more."""


@gin.configurable(
    denylist=[
        "phases",
        "schedule",
        "checkpoints",
        "log",
        "position",
        "should_stop",
        "non_finite_weights",
        "on_iteration",
        "agree_to_save",
    ]
)
class SimpleLoop:
    """Runs all phases of all iterations, from any position.

    SimPLe's iteration 0 has only the phase "collection", which is random play. A model-free run
    has no such iteration: it begins with iteration 1, and the last of its phases are the same.

    Args:
        phases: in the order of an iteration.
        schedule: how many iterations.
        checkpoints: where the whole state goes.
        log: where metrics go.
        position: where to begin; kept up to date.
        should_stop: asked between pieces of work.
        non_finite_weights: names of weights that are not numbers any more; asked before every
            save, so that the last good state is never pushed out by a bad one.
        on_iteration: called after each iteration, with its position.
        agree_to_save: maps whether this process finds it time to save to what all workers do;
            `should_stop` has to be the same on all of them, too.
        seconds_between_saves: how much work within a phase may be lost at most.
        records_per_phase: how many records a phase adds to the log at most.
    """

    def __init__(
        self,
        phases: Sequence[Phase],
        schedule: Plan,
        checkpoints: RunCheckpoints,
        log: MetricsLog | SilentLog,
        position: Position,
        should_stop: Callable[[], bool],
        non_finite_weights: Callable[[], Sequence[str]],
        on_iteration: Callable[[Position], None] = lambda position: None,
        agree_to_save: Callable[[bool], bool] = lambda due: due,
        seconds_between_saves: float = 300.0,
        records_per_phase: int = 50,
    ) -> None:
        self._phases = {phase.name: phase for phase in phases}
        self._order = [phase.name for phase in phases]
        self._schedule = schedule
        self._checkpoints = checkpoints
        self._log = log
        self._position = position
        self._should_stop = should_stop
        self._non_finite_weights = non_finite_weights
        self._on_iteration = on_iteration
        self._agree_to_save = agree_to_save
        self._seconds_between_saves = seconds_between_saves
        self._records_per_phase = records_per_phase
        self._stopwatch = Stopwatch(position)
        self._last_save = time.perf_counter()

    def run(self) -> bool:
        """Works until the schedule is done, or it is asked to stop; saves before it returns.

        Returns:
            Whether the schedule is done.

        Raises:
            DivergedError: a loss or a weight is not finite; the last good state stays saved.
        """
        while not self._position.finished:
            if not self._run_phase(self._phases[self._position.phase]):
                return False
            self._step_to_next_phase()
            self._save()
            if self._should_stop():
                break
        return self._position.finished

    def _run_phase(self, phase: Phase) -> bool:
        """Returns whether the phase came to its end."""
        position = self._position
        size = phase.size(position.iteration)
        if not size:
            return True
        title = f"{position.iteration}/{self._schedule.iterations} {phase.name.replace('_', ' ')}"
        records = _Records(phase.name, max(size // self._records_per_phase, 1), position.step)
        with ProgressLine(title, size, phase.unit, position.step) as line:
            for advance in phase.run(position.iteration, position.step):
                _check_finite(phase.name, position.iteration, advance)
                position.interactions += advance.interactions
                line.show(advance.step, _remark(phase, advance.metrics))
                self._stopwatch.lap()
                is_last, stop = advance.step == size, self._should_stop()
                save = self._is_time_to_save(phase, is_last, stop)
                if advance.previous:
                    self._write_previous(phase, advance)
                    advance = advance._replace(metrics={})
                if records.add(advance) or is_last or save:
                    self._write(phase, advance.step, records.take())
                self._show(phase, advance)
                if save:
                    position.step = advance.step
                    self._save()
                if stop and not is_last:
                    return False
        return True

    def _is_time_to_save(self, phase: Phase, is_last: bool, stop: bool) -> bool:
        """The end of a phase is not saved here, but as the beginning of the next one."""
        elapsed = time.perf_counter() - self._last_save
        due = stop or self._agree_to_save(elapsed > self._seconds_between_saves)
        return phase.resumable and due and not is_last

    def _step_to_next_phase(self) -> None:
        position = self._position
        position.step = 0
        following = self._order.index(position.phase) + 1
        if position.iteration > 0 and following < len(self._order):
            position.phase = self._order[following]
            return
        self._finish_iteration()

    def _finish_iteration(self) -> None:
        position = self._position
        times = {name: value for name, value in position.summary.items() if "time/" in name}
        self._log.write(self._place("iteration", 0), times, position.interactions)
        self._on_iteration(position)
        position.finished = position.iteration == self._schedule.iterations
        if not position.finished:
            position.interactions_before = position.interactions
            position.iteration += 1
            position.phase = self._order[0]
            position.summary = {}

    def _write(self, phase: Phase, step: int, metrics: Mapping[str, float]) -> None:
        if metrics:
            self._position.summary.update(
                {name: value for name, value in metrics.items() if math.isfinite(value)}
            )
            self._log.write(self._place(phase.name, step), metrics, phase.global_step())

    def _write_previous(self, phase: Phase, advance: Advance) -> None:
        """Writes what the iteration before would have written, had it waited."""
        position = self._position
        metrics = {f"{phase.name}/{name}": value for name, value in advance.metrics.items()}
        for name, value in metrics.items():
            if math.isfinite(value):
                position.summary[f"{PREVIOUS}{name}"] = value
        place = {
            **self._place(phase.name, advance.step),
            "iteration": position.iteration - 1,
            "interactions": position.interactions_before,
        }
        self._log.write(place, metrics, phase.global_step())

    def _show(self, phase: Phase, advance: Advance) -> None:
        """Pictures and distributions go to TensorBoard only."""
        for name, image in advance.images.items():
            self._log.write_image(f"{phase.name}/{name}", image, phase.global_step())
        for name, values in advance.histograms.items():
            self._log.write_histogram(f"{phase.name}/{name}", values, phase.global_step())

    def _place(self, phase: str, step: int) -> dict[str, int | float | str]:
        position = self._position
        return {
            "iteration": position.iteration,
            "phase": phase,
            "step": step,
            "interactions": position.interactions,
            "seconds": round(position.seconds, 3),
        }

    def _save(self) -> None:
        self._stopwatch.lap()
        if names := self._non_finite_weights():
            raise _diverged(f"{len(names)} weights, {names[0]} among them, are not numbers")
        self._log.flush()
        self._position.metric_lines = self._log.num_lines
        self._checkpoints.save(self._position.to_json())
        self._last_save = time.perf_counter()


class _Records:
    """Gathers the metrics of small pieces of work into records of about equal size."""

    def __init__(self, phase: str, steps_per_record: int, step: int) -> None:
        self._phase = phase
        self._steps_per_record = steps_per_record
        self._step = self._recorded = step
        self._mean = RunningMean()

    def add(self, advance: Advance) -> bool:
        """Adds a piece; returns whether a record is full."""
        self._mean.add(advance.metrics, advance.step - self._step or 1)
        self._step = advance.step
        return self._step - self._recorded >= self._steps_per_record

    def take(self) -> dict[str, float]:
        """Returns the means by full names, and starts the next record."""
        self._recorded = self._step
        return {f"{self._phase}/{name}": value for name, value in self._mean.take().items()}


def _check_finite(phase: str, iteration: int, advance: Advance) -> None:
    for name, value in advance.metrics.items():
        if name.endswith(_ALWAYS_FINITE) and not math.isfinite(value):
            raise _diverged(
                f"{phase}/{name} is {value} in iteration {iteration}, by step {advance.step}"
            )


def _diverged(what: str) -> DivergedError:
    return DivergedError(
        f"{what}: training has diverged. The last good checkpoint is kept. Look at the curves, and "
        "lower the learning rate in a new run."
    )


def _remark(phase: Phase, metrics: Mapping[str, float]) -> str:
    named = [(name, metrics[name]) for name in phase.headline if name in metrics]
    return ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in named)
