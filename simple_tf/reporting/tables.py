"""The scores as tables: for a spreadsheet, for a README, for the page."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from simple_tf.evaluation.paper_scores import BASELINES, COLUMNS, Method, PaperScore
from simple_tf.reporting.numbers import NONE, count_text, game_text, score_text
from simple_tf.reporting.results import MIN_SEEDS, Result

_MARKDOWN_PAPER = ("SD long", "SD", "Rainbow 100K", "PPO 100K", "human")


def to_csv(results: Sequence[Result]) -> str:
    """Returns every number, unrounded, one line for each game and configuration."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    own = ["game", "configuration", "interactions", "final", "seeds", "scores"]
    statistics = ["mean", "std", "median", "best", "human_normalized_mean", "verdict"]
    papers = [f"paper {title} {part}" for title in COLUMNS for part in ("mean", "std")]
    writer.writerow([*own, *statistics, *papers])
    for result in results:
        writer.writerow(_csv_row(result))
    return file.getvalue()


def to_markdown(results: Sequence[Result]) -> str:
    """Returns the table of a README: ours with their seeds beside the paper's."""
    if not results:
        return "No run has been recorded yet."
    header = ["game", "configuration", "interactions", "ours", "seeds", "random"]
    header += [f"paper: {title}" for title in _MARKDOWN_PAPER]
    rows = [[*_own_cells(result), *_paper_cells(result)] for result in results]
    return f"{markdown_table(header, rows)}\n\n{_footnote(results)}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table of plain text."""
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *escaped]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def mean_and_std(mean: float, std: float | None) -> str:
    """Returns both, as far as there are both."""
    return score_text(mean) if std is None else f"{score_text(mean)} ± {score_text(std)}"


def paper_cell(cell: PaperScore | None) -> str:
    """Returns a cell of the paper's tables."""
    return NONE if cell is None else mean_and_std(cell.mean, cell.std)


def ours_text(result: Result) -> str:
    """Returns our mean over seeds, with its standard deviation if that means anything."""
    numbers = result.statistics
    std = numbers.std if result.enough_seeds else None
    remarks = {"unfinished": not result.is_final, "cut short": result.cut_short}
    remark = ", ".join(name for name, holds in remarks.items() if holds)
    return mean_and_std(numbers.mean, std) + (f" ({remark})" if remark else "")


def _csv_row(result: Result) -> list[object]:
    numbers = result.statistics
    normalized = result.normalized
    cells = [result.paper(method) for method in COLUMNS.values()]
    return [
        result.game,
        result.configuration,
        result.interactions,
        result.is_final,
        " ".join(str(run.seed) for run in result.runs),
        " ".join(repr(score) for score in result.scores),
        numbers.mean,
        numbers.std,
        numbers.median,
        result.best,
        None if normalized is None else sum(normalized) / len(normalized),
        result.verdict(),
        *(part for cell in cells for part in (cell and cell.mean, cell and cell.std)),
    ]


def _own_cells(result: Result) -> list[str]:
    return [
        game_text(result.game),
        result.configuration,
        count_text(result.interactions),
        ours_text(result),
        _seeds_text(result),
        score_text(result.random_score),
    ]


def _seeds_text(result: Result) -> str:
    """Returns how many there are and, of several, how each has come out."""
    if len(result.runs) == 1:
        return "1"
    return f"{len(result.runs)}: {', '.join(map(score_text, result.scores))}"


def _paper_cells(result: Result) -> list[str]:
    return [paper_cell(result.paper(COLUMNS[title])) for title in _MARKDOWN_PAPER]


def _footnote(results: Sequence[Result]) -> str:
    note = (
        "Ours: mean of the final evaluation over the seeds, ± standard deviation over the seeds "
        f"where there are at least {MIN_SEEDS}; the column seeds has their number and, of "
        "several, each score. The paper: mean ± standard deviation of 5 runs of "
        "100K interactions."
    )
    if any(result.cut_short for result in results):
        note += " Cut short: a cap below the paper's 50,000 steps has ended some episodes."
    return note + _too_few(results)


def _too_few(results: Sequence[Result]) -> str:
    """Names the results with too few seeds, or the others if these are fewer."""
    few, enough = (
        [
            f"{game_text(result.game)} ({result.configuration})"
            for result in results
            if result.enough_seeds is wanted
        ]
        for wanted in (False, True)
    )
    if not few:
        return ""
    names = ", ".join(few)
    if len(few) > len(enough):
        names = f"all but {', '.join(enough)}" if enough else "all"
    return f" Too few seeds to say anything about the method: {names}."


def baseline_rows(results: Sequence[Result]) -> list[tuple[str, Method]]:
    """Returns the baselines that the paper has for at least one of the games."""
    return [
        (title, method)
        for title, method in BASELINES.items()
        if any(result.paper(method) for result in results)
    ]


def reference(result: Result) -> tuple[str, float, float] | None:
    """Returns what a result is compared with: name, mean and standard deviation."""
    paper = result.paper()
    if paper is None or paper.std is None:
        return None
    return f"the paper's {counterpart_title(result)}", paper.mean, paper.std


def counterpart_title(result: Result) -> str:
    """Returns what a result is compared with, as the paper's tables call it."""
    titles = [title for title, method in COLUMNS.items() if method == result.counterpart]
    return titles[0] if titles else NONE
