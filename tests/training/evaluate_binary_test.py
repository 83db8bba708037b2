"""`python -m simple_tf.evaluate` on a real, tiny run."""

import pathlib
import subprocess
import sys

import pytest

from simple_tf.evaluation.card import read_card


def _evaluate(*arguments):
    command = [sys.executable, "-m", "simple_tf.evaluate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_policies_of_a_run(tiny_run):
    run = tiny_run
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


def test_of_a_recorded_run_there_are_episodes_but_no_dream(tmp_path):
    recorded = pathlib.Path(__file__).parents[2] / "results" / "pong-cpu-0"
    assert not (recorded / "checkpoints").exists()
    short = ["--episodes=1", "--max_steps=6"]
    done = _evaluate(f"--run={recorded}", f"--output_dir={tmp_path}", "--video", *short)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pong-cpu-0 has no checkpoints/, which would hold its world model" in done.stdout
    assert {path.name for path in (tmp_path / "videos").iterdir()} == {
        "iteration_014_best_episode.mp4",
        "iteration_014_median_episode.mp4",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Say whom to evaluate"),
        (["--run={run}", "--which=7"], "none of latest, best, all and the iterations 1."),
        (["--random"], "--game is missing"),
    ],
)
def test_a_mistake_is_answered_in_one_line(tiny_run, arguments, message):
    done = _evaluate(*(argument.format(run=tiny_run) for argument in arguments))
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert message in line
