"""Reports on runs: one HTML page, a Markdown table and a CSV file, beside the paper's scores.

python -m simple_tf.report --runs=runs/pong --runs=runs/freeway --output_dir=report

Without --output_dir, --runs=results renews the tables in the README beside that folder, too.
"""

from __future__ import annotations

from pathlib import Path

from absl import flags

from simple_tf.reporting.runs import find_runs
from simple_tf.reporting.writing import MARKDOWN, SPREADSHEET, renew_readme, write_report
from simple_tf.training import command_line

_RECORDED = "results"

_RUNS = flags.DEFINE_multi_string(
    "runs", None, "Run directories, or folders that hold some at any depth.", required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Where to write; by default the folder report/ in the first of --runs."
)


def main(_: list[str]) -> int:
    folders = [Path(folder) for folder in _RUNS.value]
    # The repository's README has a table of the runs in results/ beside it.
    for folder in [] if _OUTPUT_DIR.value else folders:
        readme = folder.resolve().parent / "README.md"
        if folder.resolve().name == _RECORDED and renew_readme(readme, find_runs([folder])):
            print(f"table     {readme}")
    output_dir = Path(_OUTPUT_DIR.value) if _OUTPUT_DIR.value else folders[0] / "report"
    page = write_report(folders, output_dir)
    print(
        f"page      {page}\ntable     {output_dir / MARKDOWN}\nnumbers   {output_dir / SPREADSHEET}"
    )
    return 0


if __name__ == "__main__":
    command_line.run(main)
