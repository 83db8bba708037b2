"""Every run with its state, and the protocol card of every number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simple_tf.evaluation.card import Card, protocol_rows
from simple_tf.reporting.markup import card, definitions, details, escape, grid, section, table
from simple_tf.reporting.numbers import NONE, duration_text, game_text, score_text
from simple_tf.reporting.results import Result
from simple_tf.reporting.runs import Run


def protocol_cards(results: Sequence[Result]) -> str:
    """Returns the card of every score on the page, and of the other evaluations of its run."""
    boxes = [_run_cards(result, run) for result in results for run in result.runs]
    return section("Protocol cards", "cards", grid(boxes))


def run_list(runs: Sequence[Run], reasons: Mapping[str, str]) -> str:
    """Returns all runs that were found, damaged and half-finished ones included."""
    header = ["run", "game", "seed", "configuration", "state", "iterations", "time", "remarks"]
    classes = ["", "text", "", "text", "text", "", "", "text wrap"]
    return section("Runs", "runs", table(header, [_row(run, reasons) for run in runs], classes))


def _run_cards(result: Result, run: Run) -> str:
    assert run.score is not None
    main = run.score
    others = {name: one for name, one in run.cards.items() if one is not main}
    opened = [
        details(f"{name}: {score_text(one.statistics.mean)}", definitions(_rows(one)))
        for name, one in others.items()
    ]
    title = f"{game_text(result.game)}, seed {run.seed}: {score_text(main.statistics.mean)}"
    return card(
        f"<h3>{escape(title)}</h3>",
        f'<div class="soft">{escape(result.configuration)}</div>',
        definitions(_rows(main)),
        *opened,
    )


def _rows(one: Card) -> dict[str, str]:
    numbers = one.statistics
    spread = NONE if numbers.std is None else score_text(numbers.std)
    return {
        "mean, std": f"{score_text(numbers.mean)}, {spread} over episodes",
        "median": score_text(numbers.median),
        "range": f"{score_text(numbers.min)} to {score_text(numbers.max)}",
        **protocol_rows(one),
        "each episode": ", ".join(
            score_text(score) + ("*" if cut else "")
            for score, cut in zip(one.returns, one.cut, strict=True)
        )
        + (" (* cut at the cap)" if one.unfinished else ""),
    }


def _row(run: Run, reasons: Mapping[str, str]) -> list[str]:
    done, planned = run.iterations
    remarks = [*run.problems]
    if run.name in reasons:
        remarks.append(f"Not counted: it {reasons[run.name]}.")
    return [
        run.name,
        game_text(run.game) if run.game else "unknown",
        NONE if run.seed is None else str(run.seed),
        run.configuration,
        run.status,
        f"{done} of {planned}" if planned else str(done),
        duration_text(run.seconds),
        " ".join(remarks),
    ]
