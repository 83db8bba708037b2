"""The paper's figure from curves that are known."""

import pytest
from synthetic_runs import write_run

from simple_tf.reporting.efficiency import Crossing, crossing, curve, efficiencies, paper_crossing
from simple_tf.reporting.page import build_page
from simple_tf.reporting.results import collect_results
from simple_tf.reporting.runs import find_runs

PPO = {
    "ModelFreeSchedule.interactions": "%BUDGET",
    "BUDGET": "500000",
    "ModelFreeSchedule.evaluate_every": "100000",
    "ModelFreeExperiment.learner": "@PPOInRealGame",
}
RAINBOW = PPO | {"ModelFreeExperiment.learner": "@RainbowInRealGame"}


@pytest.fixture
def results(tmp_path):
    for seed in range(3):
        write_run(tmp_path / f"sd-{seed}", seed=seed, curve=(-20.0, -10.0, 2.0))
        write_run(
            tmp_path / f"ppo-{seed}",
            seed=seed,
            # Means over seeds: -20, -14, -8, 4, 10.
            curve=(-20.0, -15.0 + seed, -8.0, 4.0, 10.0),
            final=(9.0, 11.0),
            gin_file="ppo.gin",
            bindings=PPO,
            interactions=500_000,
        )
    write_run(
        tmp_path / "rainbow",
        curve=(-21.0, -19.0),
        gin_file="rainbow.gin",
        bindings=RAINBOW,
    )
    return collect_results(find_runs([tmp_path]))


def test_where_a_curve_crosses():
    points = [(100.0, 0.0), (200.0, 10.0), (300.0, 5.0)]
    assert crossing(points, 2.5) == Crossing(125.0, True)
    assert crossing(points, 10.0) == Crossing(200.0, True)
    assert crossing(points, -1.0) == Crossing(100.0, True)
    assert crossing(points, 11.0) == Crossing(300.0, False)


def test_model_free_runs_are_configurations_of_their_own(results):
    assert [(r.configuration, r.learner, len(r.runs)) for r in results] == [
        ("ppo", "ppo", 3),
        ("rainbow", "rainbow", 1),
        ("sd", None, 3),
    ]
    ppo, rainbow, simple = (result.counterpart for result in results)
    assert (ppo.name, ppo.interactions) == ("ppo", 500_000)
    assert (rainbow.name, rainbow.interactions) == ("rainbow", 100_000)
    assert simple.name == "sd_long"
    assert results[0].runs[0].iterations == (5, 5)


def test_interactions_to_reach_simple(results):
    ppo, rainbow = efficiencies(results)
    assert curve(results[0])[1] == (200_000.0, -14.0)
    # SimPLe ends with 2; PPO has -8 after 300K and 4 after 400K.
    assert ppo.score == 2.0
    assert ppo.ours.reached
    assert ppo.ours.interactions == pytest.approx(300_000 + 100_000 * 10 / 12)
    assert rainbow.ours == Crossing(100_000.0, False)


def test_the_paper_s_numbers_are_read_off_its_points(results):
    # Pong: SD long 12.8; random -20.4; PPO -20.5, -8.6, 14.7 after 100K, 500K and 1M.
    found = paper_crossing(results[0])
    assert found.reached
    share = (12.8 + 8.6) / (14.7 + 8.6)
    assert found.interactions == pytest.approx(500_000 + share * 500_000)


def test_other_caps_are_not_compared(results, tmp_path):
    card = tmp_path / "ppo-0" / "evaluations" / "iteration_001.json"
    card.write_text(card.read_text().replace('"max_steps": 1000', '"max_steps": 2000'))
    ppo = efficiencies(collect_results(find_runs([tmp_path])))[0]
    assert (ppo.score, ppo.ours) == (None, None)


def test_the_page_has_the_figure(results, tmp_path):
    page = build_page(find_runs([tmp_path]))
    assert "what model-free learners need to reach SimPLe" in page
    assert "383K" in page
    assert "&gt; 100K" in page
    alone = build_page([run for run in find_runs([tmp_path]) if run.learner is None])
    assert "Sample efficiency" not in alone
