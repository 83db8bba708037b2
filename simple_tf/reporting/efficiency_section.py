"""The paper's figure: interactions that model-free learners need to reach SimPLe's score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simple_tf.reporting.efficiency import Crossing, Efficiency, efficiencies
from simple_tf.reporting.markup import card, figure, grid, paragraph, section, table
from simple_tf.reporting.numbers import NONE, count_text, game_text, score_text
from simple_tf.reporting.results import Result
from simple_tf.reporting.svg import Plane, drawing, element, text

_ROW, _TOP = 30.0, 10.0


def sample_efficiency(results: Sequence[Result]) -> str:
    """Returns bars and a table; nothing where there is no model-free run."""
    found = efficiencies(results)
    if not found:
        return ""
    charts = [
        card(figure(crossing_bars(title, rows, budget), caption))
        for title, rows, budget, caption in _charts(found)
    ]
    header = ["game", "learner", "seeds", "SimPLe", "its score", "reached after", "x SimPLe's"]
    header += ["paper: reached after"]
    return section(
        "Sample efficiency: what model-free learners need to reach SimPLe's score",
        "efficiency",
        grid(charts),
        table(header, [_cells(one) for one in found], ["", "text", "", "text", "", "", "", "edge"]),
        paragraph(
            "Ours: scores of the evaluations in training, mean over seeds, with straight lines "
            "between them; SimPLe's is that after its last iteration, and is only compared where "
            "episodes were cut at the same length. The paper's: its learner against its SD long, "
            "with straight lines between random play and its scores after 100K, 500K and 1M "
            "interactions. More than: not reached within the run, or within the paper's 1M.",
            "note",
        ),
    )


def crossing_bars(title: str, rows: Mapping[str, Crossing], budget: float | None) -> str:
    """Draws one bar for each row; an open end where the score was never reached.

    Args:
        title: for screen readers.
        rows: by name.
        budget: SimPLe's interactions, drawn as a line; None: unknown.
    """
    most = max([c.interactions for c in rows.values()] + [budget or 0.0]) or 1.0
    height = len(rows) * _ROW + _TOP + 28
    plane = Plane((0.0, most), (0.0, 1.0), (420.0, height), (150.0, _TOP, 66.0, 28.0))
    parts = []
    for number, (name, one) in enumerate(rows.items()):
        y = _TOP + number * _ROW
        length = plane.x(one.interactions) - plane.left
        kind = "bar c0" if one.reached else "bar c1"
        parts.append(text(name, plane.left - 8, y + 16, "axis", "end"))
        parts.append(element("rect", x=plane.left, y=y + 4, width=length, height=16.0, class_=kind))
        parts.append(text(crossing_text(one), plane.left + length + 6, y + 16, "tick"))
    if budget:
        x = plane.x(budget)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=plane.bottom, class_="paper"))
        parts.append(text("SimPLe", x, plane.bottom + 16, "tick", "middle"))
    return drawing("".join(parts), plane.width, height, title)


def crossing_text(one: Crossing | None) -> str:
    """Returns the interactions; with a sign where they were not enough."""
    if one is None:
        return NONE
    return (
        count_text(round(one.interactions))
        if one.reached
        else (f"> {count_text(round(one.interactions))}")
    )


def _charts(
    found: Sequence[Efficiency],
) -> list[tuple[str, dict[str, Crossing], float | None, str]]:
    """Ours and the paper's, as far as there are any."""
    ours = {_name(one): one.ours for one in found if one.ours is not None}
    paper = {_paper_name(one): one.paper for one in found if one.paper is not None}
    budgets = {one.simple.interactions for one in found if one.simple and one.simple.interactions}
    budget = float(budgets.pop()) if len(budgets) == 1 else None
    charts: list[tuple[str, dict[str, Crossing], float | None, str]] = []
    if ours:
        charts.append(("Ours", ours, budget, "Our learners, to reach our SimPLe."))
    if paper:
        charts.append(("The paper", paper, 100_000.0, "The paper's, to reach its SD long."))
    return charts


def _name(one: Efficiency) -> str:
    return f"{game_text(one.baseline.game)}, {one.baseline.configuration}"[:24]


def _paper_name(one: Efficiency) -> str:
    names = {"ppo": "PPO", "rainbow": "Rainbow"}
    return f"{game_text(one.baseline.game)}, {names[one.baseline.learner or '']}"


def _cells(one: Efficiency) -> list[str]:
    simple = one.simple
    return [
        game_text(one.baseline.game),
        one.baseline.configuration,
        str(len(one.baseline.runs)),
        NONE if simple is None else simple.configuration,
        score_text(one.score),
        crossing_text(one.ours),
        _ratio(one),
        crossing_text(one.paper),
    ]


def _ratio(one: Efficiency) -> str:
    if one.ours is None or one.simple is None or not one.simple.interactions:
        return NONE
    sign = "" if one.ours.reached else "> "
    return f"{sign}{one.ours.interactions / one.simple.interactions:.2g}"
