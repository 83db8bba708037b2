"""The paper's formulas, against numbers worked out by hand from the paper's table."""

import math

import pytest

from simple_tf.evaluation.normalization import (
    count_at_least_median,
    count_best,
    difference_in_human_scores,
    fraction_of_baseline,
    human_normalized,
)
from simple_tf.evaluation.paper_scores import (
    BASELINES,
    CONFIGURATIONS,
    HUMAN,
    RANDOM,
    SD_LONG,
    load_paper_scores,
)


def test_human_normalized():
    assert human_normalized(-20.4, -20.4, 15.0) == 0.0
    # Pong, SD long: (12.8 + 20.4) / (15.0 + 20.4)
    scores = load_paper_scores()
    values = [scores.mean("pong", method) for method in (SD_LONG, RANDOM, HUMAN)]
    assert human_normalized(*values) == pytest.approx(33.2 / 35.4)


def test_fraction_of_baseline():
    scores = load_paper_scores()
    # Alien, SD long and Rainbow at 100K: (616.9 - 184.8) / (290.6 - 184.8)
    values = [scores.mean("alien", m) for m in (SD_LONG, RANDOM, BASELINES["Rainbow 100K"])]
    assert fraction_of_baseline(*values) == pytest.approx(432.1 / 105.8)
    # Pong, PPO at 100K is below random play: (33.2 + 1) / (-20.5 + 20.4 + 1)
    values = [scores.mean("pong", m) for m in (SD_LONG, RANDOM, BASELINES["PPO 100K"])]
    assert values[2] == -20.5
    assert fraction_of_baseline(*values) == pytest.approx(34.2 / 0.9)
    assert math.isnan(fraction_of_baseline(3.0, 1.0, 1.0))


def test_difference_in_human_scores():
    scores = load_paper_scores()
    # Boxing: (7.8 - 0.9) / 12.0
    values = [scores.mean("boxing", m) for m in (SD_LONG, BASELINES["Rainbow 100K"], HUMAN)]
    assert values == [7.8, 0.9, 12.0]
    assert difference_in_human_scores(*values) == pytest.approx(6.9 / 12.0)


def test_games_best_and_at_least_median():
    rows = {
        "a": {"x": 3.0, "y": 2.0, "z": 1.0},
        "b": {"x": 1.0, "y": 5.0, "z": 5.0},
        "c": {"x": 0.0, "y": -1.0, "z": -2.0},
    }
    assert count_best(rows) == {"x": 2, "y": 1, "z": 1}
    assert count_at_least_median(rows) == {"x": 2, "y": 3, "z": 1}


def test_every_game_has_a_best_configuration_and_half_of_them_reach_the_median():
    scores = load_paper_scores()
    rows = {
        game: {title: scores.mean(game, method) for title, method in CONFIGURATIONS.items()}
        for game in scores.games
    }
    best = count_best(rows)
    assert sum(best.values()) >= len(rows)
    assert max(best, key=best.get) == "SD long"
    assert sum(count_at_least_median(rows).values()) >= len(rows) * len(CONFIGURATIONS) / 2
