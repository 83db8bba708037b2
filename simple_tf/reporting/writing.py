"""Writes a report: the page, a Markdown table and a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simple_tf.reporting import claim
from simple_tf.reporting.page import build_page
from simple_tf.reporting.results import Result, collect_results
from simple_tf.reporting.runs import Run, find_runs
from simple_tf.reporting.tables import to_csv, to_markdown
from simple_tf.training.run_directory import RunError, replace_text

PAGE = "index.html"
MARKDOWN = "scores.md"
SPREADSHEET = "scores.csv"

# What stands between these lines of a README is written by us.
BEGIN = "<!-- results: begin (python -m simple_tf.report --runs=results) -->"
END = "<!-- results: end -->"


def write_report(run_dirs: Sequence[Path], output_dir: Path) -> Path:
    """Reports on all runs in some folders; returns the path of the page.

    Args:
        run_dirs: run directories, or folders that hold some.
        output_dir: where to write; made if there is none.

    Raises:
        RunError: if a folder does not exist, or there is no run in any of them.
    """
    runs = find_runs(run_dirs)
    if not runs:
        places = ", ".join(map(str, run_dirs))
        raise RunError(f"There is no run in {places}; python -m simple_tf.train makes one.")
    results = collect_results(runs)
    replace_text(output_dir / MARKDOWN, _markdown(results) + "\n")
    replace_text(output_dir / SPREADSHEET, to_csv(results))
    replace_text(output_dir / PAGE, build_page(runs))
    return output_dir / PAGE


def renew_readme(readme: Path, runs: Sequence[Run]) -> bool:
    """Puts the table of scores between the README's two marks; returns whether it has them."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return False
    tables = _markdown(collect_results(runs))
    replace_text(readme, f"{before}{BEGIN}\n{tables}\n{END}{after}")
    return True


def _markdown(results: Sequence[Result]) -> str:
    """All tables: the scores beside the paper's, and our learners beside each other."""
    return "\n\n".join(filter(None, [to_markdown(results), claim.to_markdown(results)]))
