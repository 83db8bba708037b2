"""What a run says to the person who started it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping

from simple_tf.training.position import Position
from simple_tf.training.run_directory import RunDirectory
from simple_tf.training.schedule import Schedule

# Title and width of each column, and the metric in it; of several with that beginning, the last.
_COLUMNS = (
    ("model loss", 10, "world_model/loss"),
    ("reward accuracy", 15, "world_model_evaluation/reward_accuracy"),
    ("dreamed return", 14, "policy/return"),
    ("played score", 12, "collection/mean_raw_return"),
    ("real score", 10, "evaluation/mean_score"),
)


def opening(game: str, seed: int, schedule: Schedule, position: Position) -> str:
    """Says what is going to happen."""
    plan = (
        f"{game}, seed {seed}: {schedule.iterations} iterations, "
        f"{schedule.total_interactions:,} interactions with the real game"
    )
    if position.finished:
        return f"{plan}. This run is finished already."
    if position.iteration or position.step:
        plan += (
            f"; going on in iteration {position.iteration}, {position.phase.replace('_', ' ')}, "
            f"after {duration(position.seconds)} of work"
        )
    titles = "  ".join(f"{title:>{width}}" for title, width, _ in _COLUMNS)
    return f"{plan}.\niteration  interactions  {titles}  time"


def iteration(position: Position, schedule: Schedule) -> str:
    """One line of the table, about the iteration that has just ended."""
    cells = [_number(_find(position.summary, metric)).rjust(width) for _, width, metric in _COLUMNS]
    return (
        f"{position.iteration:>4}/{schedule.iterations:<4}  {position.interactions:>12,}  "
        f"{'  '.join(cells)}  {duration(position.seconds)}"
    )


def interrupted(signal_name: str | None, position: Position) -> str:
    """Says that nothing is lost, and how to go on."""
    return (
        f"Stopped by {signal_name} in iteration {position.iteration}, "
        f"{position.phase.replace('_', ' ')}. Everything is saved: the same command goes on from "
        "here."
    )


def closing(directory: RunDirectory, position: Position) -> str:
    """Says where everything is."""
    return (
        f"Done: {position.interactions:,} interactions, {duration(position.seconds)}.\n"
        f"  policies      {directory.policies}\n"
        f"  evaluations   {directory.evaluations}\n"
        f"  filmstrips    {directory.filmstrips}\n"
        f"  metrics       {directory.metrics}\n"
        f"  curves        tensorboard --logdir={directory.tensorboard}"
    )


def duration(seconds: float) -> str:
    """Hours, minutes and seconds."""
    return str(datetime.timedelta(seconds=round(seconds)))


def _find(summary: Mapping[str, float], beginning: str) -> float:
    values = [value for name, value in summary.items() if name.startswith(f"{beginning}_")]
    return summary.get(beginning, values[-1] if values else math.nan)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"
