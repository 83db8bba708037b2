"""Results are grouped, and judged as documented."""

import numpy as np
import pytest
from synthetic_runs import make_card, write_run

from simple_tf.evaluation.card import Statistics, write_card
from simple_tf.evaluation.paper_scores import SD_LONG, load_paper_scores
from simple_tf.reporting.results import (
    ABOVE,
    BELOW,
    CUT_SHORT,
    NOT_IN_PAPER,
    TOO_FEW,
    UNFINISHED,
    WITHIN,
    collect_results,
    difference_interval,
    uncounted,
)
from simple_tf.reporting.runs import find_runs
from simple_tf.reporting.tables import ours_text


@pytest.fixture
def results_of(tmp_path):
    def make(*scores, game="pong", **options):
        for seed, score in enumerate(scores):
            write_run(tmp_path / f"{game}_{seed}", game, seed, final=(score,), **options)
        return collect_results(find_runs([tmp_path]))

    return make


def test_seeds_become_one_result(results_of):
    (result,) = results_of(10.0, 4.0, 1.0)
    assert result.scores == [10.0, 4.0, 1.0]
    assert result.statistics == Statistics(5.0, np.std([10, 4, 1], ddof=1), 4.0, 1.0, 10.0)
    assert (result.best, result.interactions, result.is_final) == (10.0, 100_000, True)
    assert result.random_score == -20.5
    # The paper's random is -20.4, its human 15.0.
    assert result.normalized[0] == pytest.approx(30.4 / 35.4)


def test_games_and_configurations_are_kept_apart(tmp_path):
    write_run(tmp_path / "a", seed=0)
    write_run(tmp_path / "b", seed=0, gin_file="cpu.gin")
    write_run(tmp_path / "c", seed=0, bindings={"PPOLearner.discount": "0.9"})
    write_run(tmp_path / "d", "boxing", seed=0)
    found = [(r.game, r.configuration) for r in collect_results(find_runs([tmp_path]))]
    assert found[:2] == [("boxing", "sd (2030-01-01)"), ("pong", "cpu")]
    assert found[2:] == [("pong", "sd"), ("pong", "sd (2030-01-01)")]


def test_scores_on_the_way_are_not_mixed_with_final_ones(tmp_path):
    for seed, final in enumerate([(2.0,), None, None]):
        write_run(tmp_path / f"{seed}", seed=seed, curve=(30.0, 32.0), final=final)
    runs = find_runs([tmp_path])
    (result,) = results = collect_results(runs)
    assert (result.scores, result.is_final, result.verdict()) == ([2.0], True, TOO_FEW)
    reason = "has not come to its end, as others like it have"
    assert uncounted(runs, results) == {"1": reason, "2": reason}


def test_unfinished_runs_alone_are_shown_but_not_judged(tmp_path):
    for seed in range(3):
        write_run(tmp_path / f"{seed}", seed=seed, curve=(30.0, 32.0), final=None)
    (result,) = collect_results(find_runs([tmp_path]))
    assert result.scores == [32.0] * 3
    assert ours_text(result).endswith("(unfinished)")
    assert result.verdict() == UNFINISHED
    judged = (result.normalized, result.better_than_random(), result.difference_from_paper())
    assert judged == (None, None, None)


def test_runs_that_do_not_count_are_told(tmp_path):
    write_run(tmp_path / "a", seed=0)
    write_run(tmp_path / "copy", seed=0)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("")
    path = write_run(tmp_path / "new", seed=3, curve=(1.0,), final=None)
    (path / "evaluations" / "iteration_001.json").unlink()
    runs = find_runs([tmp_path])
    results = collect_results(runs)
    assert [run.name for result in results for run in result.runs] == ["a"]
    assert uncounted(runs, results) == {
        "copy": "has the same game, configuration and seed as another",
        "broken": "cannot be read",
        "new": "has not been evaluated yet",
    }


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        # Pong, SD long: 12.8 ± 17.2.
        ((12.0, 13.0, 14.0), WITHIN),
        ((-4.3, -4.3, -4.3), WITHIN),
        ((-4.5, -4.5, -4.5), BELOW),
        ((30.1, 30.1, 30.1), ABOVE),
        ((12.0, 13.0), TOO_FEW),
    ],
)
def test_the_paper_s_spread(results_of, scores, verdict):
    assert load_paper_scores().find("pong", SD_LONG).std == 17.2
    assert results_of(*scores)[0].verdict() == verdict


def test_games_that_the_paper_has_not(results_of):
    (result,) = results_of(1.0, 2.0, 3.0, game="tennis", random=None)
    assert result.verdict() == NOT_IN_PAPER
    assert result.normalized is None
    assert result.random_score is None
    assert result.better_than_random() is None


def test_episodes_cut_by_a_smaller_cap_are_not_compared(tmp_path):
    for seed in range(3):
        path = write_run(tmp_path / str(seed), seed=seed)
        card = make_card("pong", [12.0, 13.0], 3, 100_000, max_steps=200, cut=[True, False])
        write_card(path / "evaluations" / "final.json", card)
    (result,) = collect_results(find_runs([tmp_path]))
    assert result.verdict() == CUT_SHORT
    assert result.difference_from_paper() is None
    assert result.normalized is None
    assert ours_text(result) == "12.5 ± 0 (cut short)"


def test_better_than_random(tmp_path):
    write_run(tmp_path / "a", final=(-20.0, -18.0, -17.0, -19.0))
    write_run(tmp_path / "b", gin_file="cpu.gin", final=(-20.0, -21.0, -20.0, -21.0))
    write_run(tmp_path / "c", gin_file="det.gin", final=(-19.0, -18.0, -18.5), random=None)
    results = collect_results(find_runs([tmp_path]))
    better = {result.configuration: result.better_than_random() for result in results}
    assert better == {"sd": True, "cpu": False, "det": True}


def test_welch_s_interval():
    # By hand: means 10 and 7, standard errors 1 and 2, so 4.07 degrees of freedom and t = 2.776.
    first = Statistics(10.0, 2.0, 0.0, 0.0, 0.0)
    second = Statistics(7.0, 4.0, 0.0, 0.0, 0.0)
    low, high = difference_interval(first, 4, second, 4)
    margin = 2.776 * np.sqrt(1.0 + 4.0)
    assert (low, high) == (pytest.approx(3.0 - margin), pytest.approx(3.0 + margin))
    # Many: t approaches the normal distribution's 1.96.
    low, _ = difference_interval(first, 10**6, second, 10**6)
    assert 3.0 - low == pytest.approx(1.96 * np.sqrt(20.0 / 10**6), rel=1e-4)
    # One score has no spread.
    assert difference_interval(Statistics.of([1.0]), 1, second, 4) == (-np.inf, np.inf)


def test_student_s_t_beyond_the_table():
    one = Statistics(0.0, 1.0, 0.0, 0.0, 0.0)
    low, high = difference_interval(one, 7, one, 7)
    assert high == pytest.approx(2.1788 * np.sqrt(2 / 7), rel=1e-3)  # 12 degrees of freedom.
    assert low == -high
