"""`python -m simple_tf.play` on a real, tiny run."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from ..training.killed_runs import TINY, finish


def run(module, *arguments):
    command = [sys.executable, "-m", f"simple_tf.{module}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "pong"
    finish(path, *TINY)
    return path


def ask(url, name, **content):
    body = json.dumps(content).encode()
    request = urllib.request.Request(f"{url}api/{name}", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_a_run_is_played_and_filmed_until_ctrl_c(tiny_run):
    command = [sys.executable, "-m", "simple_tf.play", f"--run={tiny_run}", "--port=0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            _play_and_film(tiny_run, process)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, stdout) == (130, "")
    assert stderr.strip() == "Stopping after the work at hand; once more ends at once."


def _play_and_film(tiny_run, process):
    assert process.stdout.readline() == f"Loading {tiny_run} ...\n"
    line = process.stdout.readline()
    url = re.fullmatch(r"Play pong at (http://localhost:\d+/) \(Ctrl-C ends it\)\.\n", line)[1]
    about = ask(url, "about")
    assert about["actions"] == ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]
    assert (about["iteration"], about["rollout_length"]) == (1, 10)
    start = ask(url, "start", kind="beginning")
    assert start["real"]["score"] == 0  # It has come to the same moment of the real game.
    by_hand = [ask(url, "step", action=2) for _ in range(3)]
    by_others = [ask(url, "step", chooser=chooser) for chooser in ("dream", "real", "record")]
    assert [moment["step"] for moment in by_hand + by_others] == [1, 2, 3, 4, 5, 6]
    video = ask(url, "video")["path"]
    assert video == str(tiny_run / "videos" / "played_001.mp4")
    assert ask(url, "video")["path"].endswith("played_002.mp4")
    assert (tiny_run / "videos" / "played_001.mp4").stat().st_size > 1000


def test_a_recorded_run_without_its_checkpoints_cannot_be_played():
    recorded = Path(__file__).parents[2] / "results" / "pong-cpu-0"
    done = run("play", f"--run={recorded}", "--port=0")
    assert (done.returncode, done.stdout) == (1, f"Loading {recorded} ...\n")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert "pong-cpu-0/checkpoints" in done.stderr
