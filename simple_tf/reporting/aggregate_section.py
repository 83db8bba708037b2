"""All games of a configuration in one number, with intervals, and performance profiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simple_tf.evaluation.aggregates import REPETITIONS, estimate_all, performance_profile
from simple_tf.evaluation.normalization import count_at_least_median, count_best
from simple_tf.evaluation.paper_scores import CONFIGURATIONS, load_paper_scores
from simple_tf.reporting.charts import interval_chart, profile_chart
from simple_tf.reporting.markup import card, escape, figure, grid, paragraph, section, table
from simple_tf.reporting.results import MIN_SEEDS, Result, by_configuration

_THRESHOLDS = np.linspace(0.0, 2.0, 81)


def aggregates(results: Sequence[Result]) -> str:
    """Returns human-normalised aggregates and profiles of each configuration."""
    groups = {
        name: [result for result in group if result.normalized is not None]
        for name, group in by_configuration(results).items()
    }
    groups = {name: group for name, group in groups.items() if len(group) > 1}
    if not groups:  # One game needs no aggregate.
        return ""
    return section(
        "All games together, human-normalised",
        "aggregates",
        grid([*(_box(name, group) for name, group in groups.items()), card(_profiles(groups))]),
        paragraph(
            "Of configurations with at least two games. Random play is 0, a person is 1 (both from "
            "the paper). Mean and median are over games, IQM is the mean of the middle half of all "
            "runs, the optimality gap is how much runs fall short of 1. Bars: 95 % of "
            f"{REPETITIONS:,} stratified bootstraps over seeds.",
            "note",
        ),
        _counts(groups),
    )


def _box(name: str, group: Sequence[Result]) -> str:
    enough = all(result.enough_seeds for result in group)
    chart = interval_chart(
        f"Aggregates of {name}", estimate_all(_normalized(group)), with_intervals=enough
    )
    games = f"{len(group)} game{'s' if len(group) > 1 else ''}"
    caption = f"{games}, {sum(len(result.runs) for result in group)} runs"
    if not enough:
        caption += f"; no intervals, because some games have fewer than {MIN_SEEDS} seeds"
    return card(f"<h3>{escape(name)}</h3>", figure(chart, caption))


def _profiles(groups: dict[str, list[Result]]) -> str:
    profiles = {
        name: performance_profile(_normalized(group), _THRESHOLDS) for name, group in groups.items()
    }
    enough = all(result.enough_seeds for group in groups.values() for result in group)
    chart = profile_chart("Performance profiles", profiles, with_bands=enough)
    return "<h3>Performance profiles</h3>" + figure(
        chart, "Share of runs, games alike, that score above each human-normalised score."
    )


def _normalized(group: Sequence[Result]) -> dict[str, list[float]]:
    return {result.game: result.normalized for result in group if result.normalized is not None}


def _counts(groups: dict[str, list[Result]]) -> str:
    """Number of games in which each configuration is best or at least median, as the paper has."""
    rows = []
    for name, group in groups.items():
        scores = _beside_the_paper(f"ours: {name}", group)
        best, median = count_best(scores), count_at_least_median(scores)
        rows += [
            [contestant, name, str(best[contestant]), str(median[contestant]), str(len(scores))]
            for contestant in best
        ]
    header = ["configuration", "among the games of", "best", "at least median", "of games"]
    text = "Games in which a configuration has the best, or at least the median, mean score:"
    return paragraph(text) + table(header, rows, ["", "text", "", "", ""])


def _beside_the_paper(name: str, group: Sequence[Result]) -> dict[str, dict[str, float]]:
    paper = load_paper_scores()
    rows = {}
    for result in group:
        theirs = {title: paper.mean(result.game, m) for title, m in CONFIGURATIONS.items()}
        known = {title: mean for title, mean in theirs.items() if mean is not None}
        rows[result.game] = {name: result.statistics.mean, **known}
    return rows
