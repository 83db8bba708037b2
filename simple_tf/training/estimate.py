"""What a run will cost: time, memory and disk, from a trial on this machine and the schedule."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import tempfile
from pathlib import Path

from simple_tf.cores import usable_cores
from simple_tf.evaluation.protocol import FINAL, IN_TRAINING, protocol_for
from simple_tf.training.arithmetic import sum_over_iterations
from simple_tf.training.configuration import bound_value
from simple_tf.training.hardware import ACCELERATORS
from simple_tf.training.loop import SimpleLoop
from simple_tf.training.schedule import Schedule
from simple_tf.training.screen import duration
from simple_tf.training.trial import TRIED_INTERACTIONS, Cost, Measurements, measure

_CHECKPOINTS = 3


@dataclasses.dataclass(frozen=True)
class Row:
    """One kind of work of a run.

    Attributes:
        work: what it is.
        amount: how much of it, for people.
        seconds: in all.
    """

    work: str
    amount: str
    seconds: float


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Of one run.

    Attributes:
        rows: the parts of its time.
        accelerated: those that an accelerator would do, in seconds here.
        flops: arithmetic of these.
        disk_bytes: in the run's directory at the end.
        peak_bytes: of memory.
    """

    rows: tuple[Row, ...]
    accelerated: float
    flops: float
    disk_bytes: float
    peak_bytes: int

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        return sum(row.seconds for row in self.rows)


def estimate_run(game: str, seed: int) -> str:
    """Tries the configured run for a minute or more; returns what it would take, for people."""
    schedule = Schedule()
    with tempfile.TemporaryDirectory(prefix="simple_tf_estimate_") as folder:
        measurements = measure(game, seed, Path(folder))
    return describe(game, estimate(schedule, measurements))


def estimate(schedule: Schedule, measured: Measurements) -> Estimate:
    """Multiplies what was measured with what is planned."""
    training = _training(schedule, measured)
    rows = [*_playing(schedule, measured), *training, *_judging(measured)]
    work = sum(row.seconds for row in rows)
    saves = measured.saves + work / _seconds_between_saves()
    rows.append(Row("saving", f"{saves:,.0f} checkpoints", measured.save.seconds(saves)))
    disk = (
        schedule.total_interactions * measured.bytes_per_step
        + _CHECKPOINTS * measured.checkpoint_bytes
        + schedule.iterations * measured.policy_bytes
    )
    return Estimate(
        rows=tuple(rows),
        accelerated=sum(row.seconds for row in training),
        flops=measured.arithmetic.of_run(schedule),
        disk_bytes=disk,
        peak_bytes=measured.peak_bytes,
    )


def _playing(schedule: Schedule, measured: Measurements) -> list[Row]:
    first = schedule.initial_interactions
    later = schedule.total_interactions - first
    return [
        Row("random play", f"{first:,} real steps", measured.random_play.seconds(first)),
        Row(
            "play",
            f"{later:,} real steps",
            measured.policy_play.seconds(later, schedule.iterations),
        ),
    ]


def _training(schedule: Schedule, measured: Measurements) -> list[Row]:
    steps = sum_over_iterations(schedule.world_model_steps_of, schedule)
    updates = sum_over_iterations(schedule.policy_updates_of, schedule)
    dreamed = updates * measured.arithmetic.steps_per_update * measured.environments
    # Before they train, both look at the play before them.
    looks = _real_steps_read(schedule, everything=measured.looks_at_everything)
    starts = _real_steps_read(schedule, everything=measured.starts_from_everything)
    return [
        Row(
            "world model",
            f"{steps:,} training steps",
            measured.world_model.seconds(steps, looks / TRIED_INTERACTIONS),
        ),
        Row(
            "policy",
            f"{updates:,} updates with {dreamed:,} dreamed steps",
            measured.policy.seconds(updates, starts / TRIED_INTERACTIONS),
        ),
    ]


def _real_steps_read(schedule: Schedule, everything: bool) -> int:
    """Real steps that are read before the training of all iterations: the newest, or all so far."""
    played = [schedule.interactions(iteration) for iteration in range(schedule.iterations)]
    return sum(itertools.accumulate(played)) if everything else sum(played)


def _judging(measured: Measurements) -> list[Row]:
    compared = measured.comparison.seconds(measured.comparisons)
    in_training, _ = _evaluations(measured.evaluation, measured.evaluations, IN_TRAINING, measured)
    final, length = _evaluations(measured.final, measured.finals, FINAL, measured)
    random, _ = _evaluations(measured.final_random, measured.final_randoms, FINAL, measured)
    video = measured.video.seconds(measured.videos * length, int(measured.videos > 0))
    number = measured.finals + measured.final_randoms
    return [
        Row("world model's evaluation", f"{measured.comparisons} times", compared),
        Row("evaluation", f"{measured.evaluations} times", in_training),
        Row(
            "final evaluation", f"{number} times, episodes of {length:,.0f}", final + random + video
        ),
    ]


def _evaluations(
    cost: Cost, number: int, purpose: str, measured: Measurements
) -> tuple[float, float]:
    """Seconds of so many evaluations, and the length of their episodes."""
    cap = protocol_for(purpose).max_steps
    length = min(measured.episode_steps, cap) if cap else measured.episode_steps
    return cost.seconds(number * length, number), length


def _seconds_between_saves() -> float:
    try:
        return float(bound_value("SimpleLoop.seconds_between_saves"))
    except ValueError:  # Not bound: the default.
        return float(inspect.signature(SimpleLoop).parameters["seconds_between_saves"].default)


def describe(game: str, result: Estimate) -> str:
    """The estimate as a page of text."""
    cores = usable_cores()
    return "\n".join(
        [
            f"{game} on this machine, {cores} core{'s' if cores > 1 else ''}; tried, not run:",
            *(_line(row.work, row.seconds, row.amount) for row in result.rows),
            _line("in all", result.seconds, "if episodes are as long as those of random play"),
            f"  memory {result.peak_bytes / 1e9:.1f} GB, disk {result.disk_bytes / 1e9:.2f} GB",
            f"Elsewhere, projected and never run: {result.flops / 1e15:,.3g} PFLOP of training, "
            "the rest as fast as here.",
            "Small networks do not fill an accelerator and take longer than this; "
            "docs/scaling.md has the assumptions.",
            *_projections(result),
        ]
    )


def _line(title: str, seconds: float, remark: str) -> str:
    return f"  {title:<25}{duration(seconds):>18}   {remark}"


def _projections(result: Estimate) -> list[str]:
    here = result.seconds - result.accelerated
    return [
        _line(
            device.name,
            device.seconds(result.flops) + here,
            f"{device.arithmetic} at {device.share:.0%} of {device.peak / 1e12:,.0f} TFLOP/s",
        )
        for device in ACCELERATORS
    ]
