"""`python -m simple_tf.evaluate` on a real, tiny run."""

import os
import subprocess
import sys

import pytest

from simple_tf.evaluation.card import read_card

sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120
import killed_runs

TINY = (
    "Schedule.iterations=1",
    "Schedule.initial_interactions=200",
    "Schedule.interactions_per_iteration=60",
    "Schedule.world_model_steps=2",
    "Schedule.policy_updates=1",
    "ROLLOUT_LENGTH=10",
    "WorldModelEvaluationPhase.every=0",
    "in_training/EvaluationProtocol.max_steps=4",
    "final/EvaluationProtocol.max_steps=4",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "pong"
    killed_runs.finish(path, *TINY)
    return path


def _evaluate(*arguments):
    command = [sys.executable, "-m", "simple_tf.evaluate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_policies_of_a_run(run):
    done = _evaluate(
        f"--run={run}",
        "--which=all",
        "--episodes=3",
        "--max_steps=6",
        "--temperatures=0,1",
        "--noops=off",
        "--sticky_probability=0.25",
        "--video",
    )
    assert (done.returncode, done.stderr) == (0, "")
    names = sorted(path.stem for path in (run / "evaluations").glob("evaluated_*"))
    assert names == [
        f"evaluated_iteration_001_temperature_{temperature}_no_noops_sticky_0.25_3x6_seed_3"
        for temperature in (0, 1)
    ]
    card = read_card(run / "evaluations" / f"{names[-1]}.json")
    assert (card.checkpoint, card.iteration, card.interactions) == (
        "policies/iteration_001",
        1,
        200,
    )
    assert (card.temperature, card.lengths, card.unfinished) == (1.0, (6, 6, 6), 3)
    assert card.game_settings["noop_range"] == [0, 0]
    assert card.game_settings["sticky_probability"] == 0.25
    assert card.game_settings["grayscale"] is True  # As the run was configured.
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("iteration_00")]
    assert [row[:2] for row in rows] == [
        ["iteration_001", "0"],
        ["iteration_001", "1"],
    ]
    assert "policies/iteration_001, greedy" in done.stdout
    videos = {path.name for path in (run / "videos").iterdir()}
    assert videos == {
        "dream.mp4",
        "final_best_episode.mp4",  # The run's own.
        "final_median_episode.mp4",
        "iteration_001_best_episode.mp4",
        "iteration_001_median_episode.mp4",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Say whom to evaluate"),
        (["--run={run}", "--which=7"], "none of latest, best, all and the iterations 1."),
        (["--random"], "--game is missing"),
    ],
)
def test_a_mistake_is_answered_in_one_line(run, arguments, message):
    done = _evaluate(*(argument.format(run=run) for argument in arguments))
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert message in line
