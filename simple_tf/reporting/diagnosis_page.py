"""A diagnosis on a page of its own, and on the screen."""

from __future__ import annotations

from pathlib import Path

from simple_tf.reporting.diagnosis_section import diagnosis_boxes, gap_row
from simple_tf.reporting.markup import document, escape
from simple_tf.reporting.numbers import game_text, score_text
from simple_tf.training.diagnosis_file import RunDiagnosis, write_diagnosis
from simple_tf.training.run_directory import replace_text

NUMBERS = "diagnosis.json"
PAGE = "index.html"


def write_diagnosis_page(folder: Path, found: RunDiagnosis) -> Path:
    """Writes the numbers and the page; returns the path of the page."""
    title = f"What limits {game_text(found.game)}, seed {found.seed}"
    write_diagnosis(folder / NUMBERS, found)
    body = f"<h1>{escape(title)}</h1>{diagnosis_boxes(found)}"
    replace_text(folder / PAGE, document(title, body))
    return folder / PAGE


def to_text(found: RunDiagnosis) -> str:
    """Returns a diagnosis for the screen: circumstances, gaps, and the verdict last."""
    measured = found.measured
    mean = sum(found.scores) / len(found.scores)
    head = (
        f"{found.game}, seed {found.seed}: policy of iteration {found.iteration}, trained on "
        f"{measured.steps_in_data:,} interactions; mean score {score_text(mean)} over "
        f"{len(found.scores)} episodes at temperature 1, cut at {found.size.max_steps:,} steps; "
        f"{measured.num_segments} segments of {measured.horizon} steps."
    )
    titles = ["gap", "error", "threshold", "severity", "what was found"]
    rows = [titles, *(gap_row(gap) for gap in found.gaps)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(titles) - 1)]
    lines = [
        f"{row[0]:<{widths[0]}}  "
        + "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:4], widths[1:], strict=True))
        + f"  {row[4]}"
        for row in rows
    ]
    return "\n".join([head, "", *lines, "", found.verdict])
