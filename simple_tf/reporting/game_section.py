"""How each game was learned: curves over interactions, the world model, time, pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simple_tf.evaluation.paper_scores import SD_LONG
from simple_tf.reporting.charts import Series, line_chart, stacked_bars
from simple_tf.reporting.markup import card, figure, grid, section
from simple_tf.reporting.media import filmstrips, typical_run, videos
from simple_tf.reporting.numbers import game_text
from simple_tf.reporting.results import Result
from simple_tf.reporting.runs import Run
from simple_tf.reporting.svg import Point

_ACCURACY = re.compile(r"world_model_evaluation/(no_)?reward_accuracy_(\d+)")
_TIME = "time/"


def game_details(results: Sequence[Result]) -> str:
    """Returns a section for each result."""
    return "".join(_details(number, result) for number, result in enumerate(results))


def _details(number: int, result: Result) -> str:
    typical = typical_run(result.runs)
    charts = [_learning(result), _accuracy(typical), _times(result)]
    pictures = [card(picture) for picture in (*filmstrips(typical), *videos(typical))]
    return section(
        f"{game_text(result.game)}, {result.configuration}",
        f"game-{number}",
        grid(card(chart) for chart in charts if chart),
        grid(pictures, "wide") if pictures else "",
    )


def _learning(result: Result) -> str:
    series = [Series(f"seed {run.seed}", _learning_points(run)) for run in result.runs]
    if not any(one.points for one in series):
        return ""
    levels = {}
    if result.random_score is not None:
        levels["random"] = result.random_score
    paper = result.paper(SD_LONG)
    if paper is not None:
        levels["paper, SD long"] = paper.mean
    chart = line_chart("Learning curve", series, "interactions", "score", levels)
    cap = result.runs[0].in_training[0].max_steps
    caption = "Score in the real game after each iteration" + (
        f" (episodes cut at {cap:,} steps)." if cap else "."
    )
    return "<h3>Learning curve</h3>" + figure(chart, caption)


def _learning_points(run: Run) -> list[Point]:
    return [
        (float(card.interactions), card.statistics.mean)
        for card in run.in_training
        if card.interactions is not None
    ]


def _accuracy(run: Run) -> str:
    """How long the world model's rewards stay true, of one run."""
    points: dict[str, list[Point]] = {}
    for record in run.records:
        for name, value in record["metrics"].items():
            match = _ACCURACY.fullmatch(name)
            if match and value is not None:
                what = "no reward at all" if match[1] else "the model"
                key = f"{what}, {match[2]} steps"
                points.setdefault(key, []).append((float(record["iteration"]), float(value)))
    if not points:
        return ""
    ordered = sorted(points.items(), key=lambda pair: (_is_trivial(pair[0]), len(pair[0])))
    series = [Series(name, line, dashed=_is_trivial(name)) for name, line in ordered]
    chart = line_chart("Reward accuracy", series, "iteration", "accuracy", y_range=(0.0, 1.0))
    return "<h3>World model: reward accuracy</h3>" + figure(
        chart,
        "Share of rollouts whose summed reward equals the game's; dashed: a model that never "
        f"gives a reward (seed {run.seed}).",
    )


def _is_trivial(name: str) -> bool:
    return name.startswith("no")


def _times(result: Result) -> str:
    rows = {f"seed {run.seed}": phase_seconds(run) for run in result.runs}
    rows = {name: row for name, row in rows.items() if row}
    if not rows:
        return ""
    parts = list(dict.fromkeys(part for row in rows.values() for part in row))
    return "<h3>Time</h3>" + figure(
        stacked_bars("Time by phase", rows, parts), "Time of work, by phase."
    )


def phase_seconds(run: Run) -> dict[str, float]:
    """Returns the seconds that a run has spent in each phase."""
    seconds: dict[str, float] = {}
    for record in run.records:
        if record.get("phase") == "iteration":
            for name, value in record["metrics"].items():
                if name.startswith(_TIME) and value is not None:
                    part = name.removeprefix(_TIME)
                    seconds[part] = seconds.get(part, 0.0) + float(value)
    return seconds
