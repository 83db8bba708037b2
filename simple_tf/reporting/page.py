"""The whole page: one file, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from simple_tf import __version__
from simple_tf.reporting.aggregate_section import aggregates
from simple_tf.reporting.claim_section import claim
from simple_tf.reporting.diagnosis_section import diagnoses
from simple_tf.reporting.efficiency_section import sample_efficiency
from simple_tf.reporting.game_section import game_details
from simple_tf.reporting.markup import document, escape, paragraph
from simple_tf.reporting.numbers import game_text
from simple_tf.reporting.overview import overview
from simple_tf.reporting.results import collect_results, uncounted
from simple_tf.reporting.run_section import protocol_cards, run_list
from simple_tf.reporting.runs import DAMAGED, FINISHED, UNFINISHED, Run
from simple_tf.reporting.score_section import comparison, paper_formulas, scores


def build_page(runs: Sequence[Run]) -> str:
    """Returns the HTML of a report on at least one run."""
    results = collect_results(runs)
    games = list(dict.fromkeys(game_text(run.game) for run in runs if run.game))
    title = f"SimPLe: {', '.join(games[:3])}{' and more' if len(games) > 3 else ''}"
    sections = [f"<h1>{escape(title)}</h1>", paragraph(_counted(runs), "soft")]
    if results:
        sections += [
            overview(results),
            scores(results),
            comparison(results),
            claim(results),
            aggregates(results),
            sample_efficiency(results),
            paper_formulas(results),
            game_details(results),
            diagnoses(runs),
            protocol_cards(results),
        ]
    else:
        sections.append(paragraph("None of these runs has been evaluated yet.", "lead"))
    sections.append(run_list(runs, uncounted(runs, results)))
    return document(title, "".join(sections))


def _counted(runs: Sequence[Run]) -> str:
    states = [
        f"{count} {state}"
        for state in (FINISHED, UNFINISHED, DAMAGED)
        if (count := sum(run.status == state for run in runs))
    ]
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    noun = "run" if len(runs) == 1 else "runs"
    return f"{len(runs)} {noun} ({', '.join(states)}). Made by simple_tf {__version__}, {day}."
