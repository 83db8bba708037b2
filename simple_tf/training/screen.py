"""What a run says to the person who started it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from simple_tf.evaluation.card import read_card
from simple_tf.evaluation.paper_scores import SD, load_paper_scores
from simple_tf.training.position import PREVIOUS, Position
from simple_tf.training.run_directory import RunDirectory
from simple_tf.training.schedule import Plan

Column = tuple[str, int, str]
"""Title and width, and the metric in it; of several with that beginning, the last."""

SIMPLE_COLUMNS: tuple[Column, ...] = (
    ("model loss", 10, "world_model/loss"),
    ("reward accuracy", 15, "world_model_evaluation/reward_accuracy"),
    ("dreamed return", 14, "policy/return"),
    ("played score", 12, "collection/mean_raw_return"),
    ("real score", 10, "evaluation/mean_score"),
)
MODEL_FREE_COLUMNS: tuple[Column, ...] = (
    ("loss", 8, "learning/loss"),
    ("played score", 12, "learning/mean_raw_return"),
    ("real score", 10, "evaluation/mean_score"),
)


def opening(
    directory: RunDirectory,
    game: str,
    seed: int,
    schedule: Plan,
    position: Position,
    columns: Sequence[Column] = SIMPLE_COLUMNS,
) -> str:
    """Says what is going to happen, and where it can be watched."""
    plan = (
        f"{game}, seed {seed}: {schedule.iterations} iteration{'s' * (schedule.iterations > 1)}, "
        f"{schedule.total_interactions:,} interactions with the real game"
    )
    if position.finished:
        return f"{plan}. This run is finished already."
    if position.seconds:
        plan += (
            f"; going on in iteration {position.iteration}, {position.phase.replace('_', ' ')}, "
            f"after {duration(position.seconds)} of work"
        )
    elif position.interactions:
        plan += f", after {position.interactions:,} that its first policy was trained with"
    titles = "  ".join(f"{title:>{width}}" for title, width, _ in columns)
    watched = f"Watch it: tensorboard --logdir={directory.tensorboard}"
    return f"{plan}.\n{watched}\niteration  interactions  {titles}  time"


def iteration(
    position: Position, schedule: Plan, columns: Sequence[Column] = SIMPLE_COLUMNS
) -> str:
    """One line of the table, about the iteration that has just ended.

    Before it comes another about the iteration before, if there is late news of that.
    """
    cells = [_number(_find(position.summary, metric)).rjust(width) for _, width, metric in columns]
    line = (
        f"{position.iteration:>4}/{schedule.iterations:<4}  {position.interactions:>12,}  "
        f"{'  '.join(cells)}  {duration(position.seconds)}"
    )
    late = any(name.startswith(PREVIOUS) for name in position.summary)
    return f"{_late(position, schedule, columns)}\n{line}" if late else line


def _late(position: Position, schedule: Plan, columns: Sequence[Column]) -> str:
    values = [_find(position.summary, f"{PREVIOUS}{metric}") for _, _, metric in columns]
    widths = [width for _, width, _ in columns]
    cells = [
        f"{'' if math.isnan(value) else _number(value):>{width}}"
        for value, width in zip(values, widths, strict=True)
    ]
    place = f"{position.iteration - 1:>4}/{schedule.iterations:<4}"
    played = f"{position.interactions_before:>12,}"
    return f"{place}  {played}  {'  '.join(cells)}  (evaluated meanwhile)"


def interrupted(signal_name: str | None, directory: RunDirectory, position: Position) -> str:
    """Says that nothing is lost, and how to go on."""
    return (
        f"Stopped by {signal_name} in iteration {position.iteration}, "
        f"{position.phase.replace('_', ' ')}. Everything is saved: the same command goes on from "
        f"here, with --output_dir={directory.path}."
    )


def closing(directory: RunDirectory, game: str, position: Position) -> str:
    """Says how it came out, and where everything is."""
    folders = {
        "policies": directory.policies,
        "checkpoints": directory.checkpoints,
        "evaluations": directory.evaluations,
        "filmstrips": directory.filmstrips,
        "videos": directory.videos,
        "metrics": directory.metrics,
    }
    places: dict[str, object] = {name: path for name, path in folders.items() if path.exists()}
    places["curves"] = f"tensorboard --logdir={directory.tensorboard}"
    used = f"{position.interactions:,} interactions, {duration(position.seconds)} of work"
    return "\n".join(
        [f"Done: {used}.", *scores(directory, game), *(f"  {k:<13} {v}" for k, v in places.items())]
    )


def scores(directory: RunDirectory, game: str) -> list[str]:
    """The policy's score between the random player's and the paper's; what there is of them."""
    rows = [
        ("random player", _score(directory.evaluation("random"))),
        ("this policy", _score(directory.evaluation("final"))),
    ]
    paper = load_paper_scores().find(game, SD)
    if paper is not None:
        spread = "" if paper.std is None else f" ± {paper.std:.4g}"
        rows.append(("paper's SD", f"{paper.mean:.4g}{spread} over 5 runs, 100K interactions"))
    return [f"  {name:<13} {text}" for name, text in rows if text]


def _score(path: Path) -> str | None:
    if not path.exists():
        return None
    card = read_card(path)
    numbers = card.statistics
    spread = "" if numbers.std is None else f" ± {numbers.std:.4g}"
    how = "" if card.temperature is None else f", temperature {card.temperature:g}"
    cut = f", {card.unfinished} of them cut short" if card.unfinished else ""
    return f"{numbers.mean:.4g}{spread} over {card.episodes} episodes{cut}{how}"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds."""
    return str(datetime.timedelta(seconds=round(seconds)))


def _find(summary: Mapping[str, float], beginning: str) -> float:
    values = [value for name, value in summary.items() if name.startswith(f"{beginning}_")]
    return summary.get(beginning, values[-1] if values else math.nan)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"
