"""The claim on the page: see `claim`."""

from __future__ import annotations

from collections.abc import Sequence

from simple_tf.reporting.claim import HEADER, NOTE, cells, comparisons, summary
from simple_tf.reporting.markup import paragraph, section, table
from simple_tf.reporting.results import Result


def claim(results: Sequence[Result]) -> str:
    """Returns the table; nothing where there is no model-free run."""
    rows = comparisons(results)
    if not rows:
        return ""
    return section(
        "SimPLe, PPO and Rainbow after the same number of interactions",
        "claim",
        paragraph(summary(rows), "lead"),
        table(HEADER, [cells(row) for row in rows], ["", "", "ours", "text", "text", ""]),
        paragraph(NOTE, "note"),
    )
