"""Reports are written whole, and the README's table is that of the recorded runs."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import write_run

from simple_tf.reporting.runs import find_runs
from simple_tf.reporting.writing import BEGIN, END, renew_readme, write_report
from simple_tf.training.run_directory import RunError

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    for seed, score in enumerate((11.0, 14.0, 5.5)):
        write_run(folder / f"pong_{seed}", seed=seed, final=(score,))
    write_run(folder / "freeway", "freeway", final=(20.0, 23.0), random=None)
    return folder


def test_three_files(runs, tmp_path):
    page = write_report([runs], tmp_path / "out")
    assert page == tmp_path / "out" / "index.html"
    names = sorted(path.name for path in page.parent.iterdir())
    assert names == ["index.html", "scores.csv", "scores.md"]


def test_a_run_reports_on_itself_and_again(runs):
    run = runs / "pong_0"
    for _ in range(2):
        page = write_report([run], run / "report")
    assert "1 run (1 finished)" in page.read_text()


def test_the_csv_has_every_number_unrounded(runs, tmp_path):
    write_report([runs], tmp_path)
    freeway, pong = csv.DictReader((tmp_path / "scores.csv").open())
    assert pong["scores"] == "11.0 14.0 5.5"
    assert pong["seeds"] == "0 1 2"
    assert float(pong["mean"]) == np.mean([11, 14, 5.5])
    assert float(pong["std"]) == np.std([11, 14, 5.5], ddof=1)
    assert (pong["median"], pong["best"], pong["final"]) == ("11.0", "14.0", "True")
    assert float(pong["paper SD long mean"]) == 12.8
    assert float(pong["paper Rainbow 1M std"]) == 0.2
    assert pong["verdict"] == "within the paper's spread"
    assert freeway["std"] == ""
    assert freeway["mean"] == "21.5"


def test_the_markdown_table(runs, tmp_path):
    write_report([runs], tmp_path)
    lines = (tmp_path / "scores.md").read_text().splitlines()
    assert len({line.count("|") for line in lines[:4]}) == 1
    freeway, pong = ([cell.strip() for cell in line.split("|")] for line in lines[2:4])
    assert pong[1:7] == ["Pong", "sd", "100K", "10.2 ± 4.31", "3: 11, 14, 5.5", "−20.5"]  # noqa: RUF001
    assert freeway[1:6] == ["Freeway", "sd", "100K", "21.5", "1"]
    assert "Too few seeds to say anything about the method: Freeway (sd)." in lines[-1]


@pytest.mark.parametrize(
    ("remaining", "named"), [(("freeway", "pong_0", "boxing"), "all"), (None, "all but Pong (sd)")]
)
def test_results_with_too_few_seeds_are_named_the_short_way(runs, tmp_path, remaining, named):
    write_run(runs / "boxing", "boxing", final=(1.0, 2.0))
    chosen = [runs / name for name in remaining] if remaining else [runs]
    write_report(chosen, tmp_path / "out")
    note = (tmp_path / "out" / "scores.md").read_text().splitlines()[-1]
    assert note.endswith(f"Too few seeds to say anything about the method: {named}.")


def test_an_empty_folder_is_a_sentence(tmp_path):
    with pytest.raises(RunError, match="There is no run in"):
        write_report([tmp_path], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_readme_is_renewed_between_its_marks(runs, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert renew_readme(readme, find_runs([runs]))
    text = readme.read_text()
    assert text.startswith(f"before\n{BEGIN}\n| game |")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert renew_readme(readme, [])
    assert readme.read_text() == f"before\n{BEGIN}\nNo run has been recorded yet.\n{END}\nafter\n"
    readme.write_text("no marks")
    assert not renew_readme(readme, [])
    assert readme.read_text() == "no marks"


def test_the_readme_s_tables_are_those_of_the_recorded_runs(tmp_path):
    readme = (ROOT / "README.md").read_text()
    renewed = tmp_path / "README.md"
    renewed.write_text(readme)
    assert renew_readme(renewed, find_runs([ROOT / "results"]))
    assert renewed.read_text() == readme, "run: python -m simple_tf.report --runs=results"


def _report(*arguments, **options):
    command = [sys.executable, "-m", "simple_tf.report", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_the_binary(runs, tmp_path):
    done = _report(
        f"--runs={runs / 'pong_0'}", f"--runs={runs}", f"--output_dir={tmp_path / 'out'}"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"page      {tmp_path / 'out' / 'index.html'}" in done.stdout
    assert "4 runs (4 finished)" in (tmp_path / "out" / "index.html").read_text()


def test_the_binary_renews_the_readme_beside_the_recorded_results_only(runs):
    readme = runs.parent / "README.md"
    readme.write_text(f"{BEGIN}\n{END}\n")
    done = _report("--runs=runs", cwd=runs.parent)
    assert done.returncode == 0, done.stderr
    assert (runs / "report" / "index.html").exists()
    assert readme.read_text() == f"{BEGIN}\n{END}\n"
    runs.rename(runs.parent / "results")
    done = _report("--runs=results", cwd=runs.parent)
    assert done.returncode == 0, done.stderr
    assert "| Freeway | sd |" in readme.read_text()


@pytest.mark.parametrize("folder", ["empty", "nowhere"])
def test_nothing_to_report_is_one_sentence(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    done = _report(f"--runs={tmp_path / folder}")
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert "There is no" in line
    assert list((tmp_path / "empty").iterdir()) == []
