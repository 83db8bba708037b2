"""The table of all scores beside the paper's, and how they compare."""

from __future__ import annotations

from collections.abc import Sequence

from simple_tf.evaluation.normalization import difference_in_human_scores, fraction_of_baseline
from simple_tf.evaluation.paper_scores import COLUMNS, HUMAN, RANDOM, Method
from simple_tf.reporting.markup import paragraph, section, table
from simple_tf.reporting.numbers import NONE, count_text, game_text, score_text
from simple_tf.reporting.results import MIN_SEEDS, Result
from simple_tf.reporting.tables import baseline_rows, counterpart_title, ours_text, paper_cell


def scores(results: Sequence[Result]) -> str:
    """Returns our scores, each seed, and the paper's columns."""
    own = ["game", "configuration", "interactions", "ours", "median", "best", "each seed"]
    header = [*own, "random, ours", *(f"paper: {title}" for title in COLUMNS)]
    classes = ["", "text", "", "ours", "", "", "text", "", *(["edge"] + [""] * (len(COLUMNS) - 1))]
    rows = [
        [*_own_cells(result), *(paper_cell(result.paper(method)) for method in COLUMNS.values())]
        for result in results
    ]
    return section(
        "Scores",
        "scores",
        table(header, rows, classes),
        paragraph(
            "Ours: mean over seeds ± standard deviation over seeds (sample), where there are at "
            f"least {MIN_SEEDS}; each seed's score is the mean over the episodes of its final "
            "evaluation. The paper's: mean ± standard deviation over 5 runs.",
            "note",
        ),
    )


def comparison(results: Sequence[Result]) -> str:
    """Returns whether each result lies within the paper's spread."""
    rows = []
    for result in results:
        paper = result.paper()
        interval = result.difference_from_paper()
        rows.append(
            [
                game_text(result.game),
                result.configuration,
                ours_text(result),
                counterpart_title(result),
                paper_cell(paper),
                _range(interval),
                result.verdict(),
            ]
        )
    header = ["game", "configuration", "ours", "compared with", "paper"]
    header += ["difference, 95 %", "verdict"]
    return section(
        "Compared with the paper",
        "paper",
        table(header, rows, ["", "text", "ours", "text", "", "", "text"]),
        paragraph(
            "Within the paper's spread: our mean is at most one of the paper's standard deviations "
            "from the paper's mean. The difference of the means has Welch's interval, from our "
            "seeds and the paper's 5 runs; it is compatible with none where it contains 0. Fewer "
            f"than {MIN_SEEDS} seeds say nothing.",
            "note",
        ),
    )


def paper_formulas(results: Sequence[Result]) -> str:
    """Returns the paper's own two comparisons with model-free learners."""
    usable = [result for result in results if result.paper(RANDOM) and not result.cut_short]
    baselines = baseline_rows(usable)
    if not usable or not baselines:
        return ""
    header = ["game", "configuration", *(title for title, _ in baselines)]
    classes = ["", "text", *[""] * len(baselines)]
    fractions = [_row(result, [_fraction(result, m) for _, m in baselines]) for result in usable]
    differences = [
        _row(result, [_difference(result, m) for _, m in baselines]) for result in usable
    ]
    return section(
        "Compared with model-free learners, by the paper's formulas",
        "formulas",
        paragraph("Fraction of the baseline's score: (ours - random) / (baseline - random)"),
        table(header, fractions, classes),
        paragraph(
            "Where the denominator is below 0, the paper adds 1 to both sides of the fraction.",
            "note",
        ),
        paragraph("Difference in human scores: (ours - baseline) / human"),
        table(header, differences, classes),
    )


def _own_cells(result: Result) -> list[str]:
    each = ", ".join(score_text(score) for score in result.scores)
    return [
        game_text(result.game),
        result.configuration,
        count_text(result.interactions),
        ours_text(result),
        score_text(result.statistics.median),
        score_text(result.best),
        each,
        score_text(result.random_score),
    ]


def _range(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return NONE
    return f"{score_text(interval[0])} to {score_text(interval[1])}"


def _row(result: Result, cells: list[str]) -> list[str]:
    return [game_text(result.game), result.configuration, *cells]


def _fraction(result: Result, method: Method) -> str:
    random, baseline = result.paper(RANDOM), result.paper(method)
    if random is None or baseline is None:
        return NONE
    return score_text(fraction_of_baseline(result.statistics.mean, random.mean, baseline.mean))


def _difference(result: Result, method: Method) -> str:
    human, baseline = result.paper(HUMAN), result.paper(method)
    if human is None or baseline is None:
        return NONE
    ours = result.statistics.mean
    return score_text(difference_in_human_scores(ours, baseline.mean, human.mean))
