"""The top of the page: did it work? One box for each game, readable in ten seconds."""

from __future__ import annotations

from collections.abc import Sequence

from simple_tf.evaluation.paper_scores import BASELINES, HUMAN
from simple_tf.reporting.charts import score_scale
from simple_tf.reporting.markup import card, escape, grid, paragraph, pill, section
from simple_tf.reporting.numbers import count_text, game_text, score_text
from simple_tf.reporting.results import (
    ABOVE,
    BELOW,
    CUT_SHORT,
    MIN_SEEDS,
    NOT_IN_PAPER,
    TOO_FEW,
    UNFINISHED,
    WITHIN,
    Result,
)
from simple_tf.reporting.tables import reference

_KINDS = {
    ABOVE: "good",
    WITHIN: "good",
    BELOW: "bad",
    TOO_FEW: "unsure",
    CUT_SHORT: "unsure",
    UNFINISHED: "unsure",
    NOT_IN_PAPER: "plain",
}
_PAPER_INTERACTIONS = 100_000


def overview(results: Sequence[Result]) -> str:
    """Returns the boxes, and one sentence that sums them up."""
    return section(
        "At a glance",
        "glance",
        paragraph(summary(results), "lead"),
        grid(_box(result) for result in results),
        paragraph(
            "Dots: our runs, one for each seed. Blue box: the paper's SimPLe (SD long), mean "
            "± standard deviation of 5 runs with 100K interactions; of a model-free learner, the "
            "paper's own, after as many interactions. Ticks: what others score.",
            "note",
        ),
    )


def summary(results: Sequence[Result]) -> str:
    """Returns how many results are better than random play, and how many reach the paper's."""
    better = sum(result.better_than_random() is True for result in results)
    if len(results) == 1:
        text = f"{'Better' if better else 'Not better'} than random play."
    else:
        text = f"{better} of {len(results)} results are better than random play."
    judged = [result.verdict() for result in results if result.verdict() in (ABOVE, WITHIN, BELOW)]
    if not judged:
        needs = f"at least {MIN_SEEDS} seeds and whole episodes"
        return f"{text} Nothing can be compared with the paper yet: that needs {needs}."
    reached = sum(verdict != BELOW for verdict in judged)
    share = f"{reached} of {len(judged)} with {MIN_SEEDS} seeds or more"
    return f"{text} {share} reach the paper's spread."


def _box(result: Result) -> str:
    better = result.better_than_random()
    kind = "unsure" if better is None else ("good" if better else "bad")
    return card(
        f"<h3>{escape(game_text(result.game))}</h3>",
        f'<div class="soft">{escape(_subtitle(result))}</div>',
        f'<div class="pills">{_pills(result, better)}</div>',
        _scale(result),
        kind=kind,
    )


def _subtitle(result: Result) -> str:
    seeds = f"{len(result.runs)} seed{'s' if len(result.runs) > 1 else ''}"
    return f"{result.configuration}, {seeds}, {count_text(result.interactions)} interactions"


def _pills(result: Result, better: bool | None) -> str:
    pills = []
    if better is not None:
        text = "better than random" if better else "not better than random"
        pills.append(pill(text, "good" if better else "bad"))
    pills.append(pill(result.verdict(), _KINDS[result.verdict()]))
    if result.interactions is not None and not _as_many_as_the_paper(result.interactions):
        pills.append(pill(f"{count_text(result.interactions)}, not 100K", "plain"))
    return "".join(pills)


def _as_many_as_the_paper(interactions: int) -> bool:
    return 0.9 * _PAPER_INTERACTIONS <= interactions <= 1.1 * _PAPER_INTERACTIONS


def _scale(result: Result) -> str:
    methods = {"Rainbow": BASELINES["Rainbow 100K"], "PPO": BASELINES["PPO 100K"], "human": HUMAN}
    marks = {name: cell.mean for name, m in methods.items() if (cell := result.paper(m))}
    if result.random_score is not None:
        marks["random"] = result.random_score
    spread = reference(result)
    if spread:
        marks["paper"] = spread[1]
    title = f"{game_text(result.game)}: ours {score_text(result.statistics.mean)}"
    return score_scale(title, result.scores, marks, spread)
