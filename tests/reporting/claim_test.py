"""SimPLe, PPO and Rainbow beside each other, from runs whose scores are known."""

import dataclasses

import pytest
from synthetic_runs import write_run

from simple_tf.reporting.claim import NOT_RUN, TIE, cells, comparisons, summary
from simple_tf.reporting.page import build_page
from simple_tf.reporting.results import collect_results
from simple_tf.reporting.runs import find_runs
from simple_tf.reporting.writing import write_report

BUDGET = {"ModelFreeSchedule.interactions": "64000"}
PPO = BUDGET | {"ModelFreeExperiment.learner": "@PPOInRealGame"}
RAINBOW = BUDGET | {"ModelFreeExperiment.learner": "@RainbowInRealGame"}


def _write(folder, name, final, bindings=None, game="pong", interactions=64_000, **options):
    write_run(
        folder / f"{game}-{name}-{options.get('seed', 0)}",
        game,
        curve=(-20.0, -19.0),
        final=final,
        gin_file=f"{name}.gin",
        bindings=bindings,
        interactions=interactions,
        filmstrip=False,
        **options,
    )


@pytest.fixture
def folder(tmp_path):
    for seed in range(3):
        _write(tmp_path, "cpu", (5.0 + seed, 7.0 + seed), seed=seed)
    _write(tmp_path, "cpu_ppo", (-4.0, -2.0), PPO, interactions=63_200)
    _write(tmp_path, "ppo", (1.0, 3.0), PPO, interactions=500_000)
    _write(tmp_path, "cpu_rainbow", (8.0, 10.0), RAINBOW)
    _write(tmp_path, "cpu", (20.0, 22.0), game="freeway", random=(0.0, 0.0))
    return tmp_path


def test_as_many_interactions_stand_side_by_side(folder):
    rows = comparisons(collect_results(find_runs([folder])))
    assert [cells(row) for row in rows] == [
        ["Freeway", "64K", "21 (cpu, 1 seed)", NOT_RUN, NOT_RUN, "0"],
        [
            *("Pong", "64K", "7 ± 1 (cpu, 3 seeds)"),
            *("\N{MINUS SIGN}3 (cpu_ppo, 1 seed)", "9 (cpu_rainbow, 1 seed)", "\N{MINUS SIGN}20.5"),
        ],
        ["Pong", "500K", NOT_RUN, "2 (ppo, 1 seed)", NOT_RUN, "\N{MINUS SIGN}20.5"],
    ]
    assert [row.best for row in rows] == [None, "Rainbow", None]
    assert summary(rows).endswith("SimPLe in 0, PPO in 0, Rainbow in 1.")


def test_a_tie_is_nobodys_and_unfinished_runs_are_not_judged(tmp_path):
    _write(tmp_path, "cpu", (9.0, 9.0), seed=0)
    _write(tmp_path, "cpu_ppo", (9.0, 9.0), PPO)
    _write(tmp_path, "cpu_rainbow", (8.0, 10.0), RAINBOW)
    rows = comparisons(collect_results(find_runs([tmp_path])))
    assert [row.best for row in rows] == [TIE]
    assert summary(rows).endswith("SimPLe in 0, PPO in 0, Rainbow in 0, 1 tied.")
    _write(tmp_path, "cpu", None, game="freeway")
    _write(tmp_path, "cpu_ppo", (1.0, 1.0), PPO, game="freeway")
    _write(tmp_path, "cpu_rainbow", (1.0, 1.0), RAINBOW, game="freeway")
    rows = comparisons(collect_results(find_runs([tmp_path])))
    assert [row.best for row in rows] == [None, TIE]


def test_it_is_on_the_page_and_in_the_markdown(folder, tmp_path):
    write_report([folder], tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    assert "after the same number of interactions" in page
    assert NOT_RUN in page
    markdown = (tmp_path / "report" / "scores.md").read_text()
    assert "| Freeway | 64K | 21 (cpu, 1 seed) | not run | not run | 0 |" in markdown


def test_nothing_is_claimed_of_simple_alone_or_of_runs_that_go_on_from_another(folder):
    runs = find_runs([folder])
    simple = [run for run in runs if run.learner is None]
    later = [dataclasses.replace(run, init_from="run") for run in runs if run.learner]
    assert comparisons(collect_results([*simple, *later])) == []
    assert "after the same number" not in build_page(simple)
