"""`python -m simple_tf.diagnose` on a real, tiny run."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.evaluation.segments import Segments
from simple_tf.training.diagnosis_file import DiagnosisSize, read_diagnosis
from simple_tf.training.position import Position
from simple_tf.training.run_diagnosis import _held_out, _policy_iteration
from simple_tf.training.run_directory import RunDirectory, RunError


def _diagnose(*arguments):
    command = [sys.executable, "-m", "simple_tf.diagnose", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_run(tiny_run):
    size = ["--episodes=2", "--max_steps=50", "--segments=6"]
    done = _diagnose(f"--run={tiny_run}", *size)
    assert (done.returncode, done.stderr) == (0, "")
    folder = RunDirectory(tiny_run).diagnosis
    found = read_diagnosis(folder / "diagnosis.json")
    measured = found.measured
    assert (found.game, found.seed, found.iteration, len(found.scores)) == ("pong", 3, 1, 2)
    # Iteration 1 was trained on the random play before it, not on what it played then.
    assert measured.steps_in_data == 200
    assert (measured.num_segments, measured.horizon, measured.reward_kind) == (6, 10, "likeliest")
    assert measured.novelty is not None
    assert len(measured.motion.changed_right) == 10
    lines = done.stdout.splitlines()
    assert found.verdict in lines
    assert f"numbers   {folder / 'diagnosis.json'}" in lines
    assert json.loads((folder / "diagnosis.json").read_text())["verdict"] == found.verdict
    page = (folder / "index.html").read_text()
    assert page.count("<svg") >= 4
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", page)


def test_held_out_play_knows_how_long_ago_the_last_reward_was(tmp_path):
    """Rewards come with every ninth frame; the first pixel is the number of the frame."""
    store = EpisodeStore.create_or_open(tmp_path, StoreDescription("nine", (4, 4, 3), ("NOOP",)))
    frames = np.arange(230, dtype=np.uint8)[:, None, None, None] * np.ones((4, 4, 3), np.uint8)
    recorder = EpisodeRecorder(0, 0, seed=0, first_frame=frames[0])
    for number, frame in enumerate(frames[1:], start=1):
        recorder.add(0, float(number % 9 == 0), int(number % 9 == 0), frame)
    store.append(recorder.finish(terminated=True, truncated=False))
    like = Segments(np.zeros((1, 4 + 5, 4, 4, 3)), *[np.zeros((1, 5))] * 3, np.zeros(1))
    held_out = _held_out(store, [0], like, seed=1)
    newest = held_out.history[:, -1, 0, 0, 0].astype(int)
    np.testing.assert_array_equal(held_out.ages, newest % 9)
    assert held_out.ages.dtype == np.int32
    assert len(np.unique(held_out.ages)) > 3


def test_a_mistake_is_answered_in_one_line(tmp_path):
    done = _diagnose(f"--run={tmp_path}")
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert f"There is no run in {tmp_path}" in line


@pytest.mark.parametrize("name", ["episodes", "segments", "horizon", "max_steps", "batch_size"])
def test_nothing_to_compare_is_refused(name):
    with pytest.raises(ValueError, match=f"--{name} must be at least 1, not 0."):
        DiagnosisSize(**{name: 0})


def test_which_iteration_trained_the_policy(tmp_path):
    run = RunDirectory(tmp_path)
    assert _policy_iteration(Position(2, "policy", step=1), run) == 2
    assert _policy_iteration(Position(2, "policy"), run) == 1
    assert _policy_iteration(Position(2, "collection"), run) == 2
    assert _policy_iteration(Position(2, "world_model", step=30), run) == 1
    assert _policy_iteration(Position(2, "final_evaluation", finished=True), run) == 2
    for early in (Position(), Position(1, "world_model", step=5), Position(1, "policy")):
        with pytest.raises(RunError, match="not trained a policy yet"):
            _policy_iteration(early, run)


@pytest.mark.parametrize("text", ["", "{}", '{"format": "simple_tf diagnosis"}', "[1]"])
def test_a_damaged_diagnosis_is_named(tmp_path, text):
    path = tmp_path / "diagnosis.json"
    path.write_text(text)
    with pytest.raises(RunError, match=r"diagnosis.json cannot be read .* diagnose the run again"):
        read_diagnosis(path)
