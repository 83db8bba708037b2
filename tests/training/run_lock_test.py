import errno
import fcntl
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from absl import logging

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.training.run_directory import RunDescription, RunDirectory, RunError
from simple_tf.training.run_lock import LOCK_NAME, InUseError, take_lock

RUN = RunDescription("pong", 3, {})

# Takes the lock, says so, and lives until it is killed. No TensorFlow: it starts at once.
HOLDER = """
import sys
from pathlib import Path
from simple_tf.training.run_lock import take_lock
take_lock(Path(sys.argv[1]))
print("taken", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path):
    """A directory, and the process that has it."""
    directory = tmp_path / "run"
    directory.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "taken\n"
    yield directory, process
    process.kill()
    process.communicate()


def test_a_second_process_is_told_which_one_was_first(held):
    directory, process = held
    with pytest.raises(InUseError, match=f"process {process.pid} on .*, since 20.* UTC$"):
        take_lock(directory)
    with pytest.raises(RunError, match=f"is in use: .*process {process.pid}.*--output_dir"):
        RunDirectory(directory).claim(RUN)
    assert [path.name for path in directory.iterdir()] == [LOCK_NAME]


def test_the_run_of_a_killed_process_can_be_taken_up_at_once(held):
    directory, process = held
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert RunDirectory(directory).claim(RUN) is False  # It had got no further than to the lock.
    assert f"process {os.getpid()} " in (directory / LOCK_NAME).read_text()
    assert str(process.pid) not in (directory / LOCK_NAME).read_text().split()


def test_readers_are_not_hindered(held):
    directory, _ = held
    (directory / "run.json").write_text('{"game": "pong", "seed": 3, "bindings": {}}')
    assert RunDirectory(directory).check(RUN)
    assert RunDirectory(directory).read()[0] == RUN


def test_what_is_refused_anyway_gets_no_lock(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match=r"thesis\.tex"):
        RunDirectory(tmp_path).claim(RUN)
    assert not (tmp_path / LOCK_NAME).exists()


def test_a_new_directory_of_the_same_name_is_locked_anew(tmp_path):
    """Whether this process has the lock is a matter of the file, not of its name."""
    directory = tmp_path / "run"
    for _ in range(2):
        directory.mkdir()
        take_lock(directory)
        take_lock(directory)
        with (directory / LOCK_NAME).open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (directory / LOCK_NAME).unlink()
        directory.rmdir()


def test_where_there_are_no_locks_the_run_begins_with_a_warning(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    warnings = []
    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(logging, "warning", lambda text, *values: warnings.append(text % values))
    assert RunDirectory(tmp_path).claim(RUN) is False
    (warning,) = warnings
    assert "file system without locks (No locks available)" in warning


def test_where_there_are_no_locks_episodes_are_stored_with_one_warning(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    def play():
        store = EpisodeStore.create_or_open(tmp_path, StoreDescription("toy", (4, 4, 1), ("NOOP",)))
        frame = np.zeros((4, 4, 1), np.uint8)
        for index in range(2):
            recorder = EpisodeRecorder(0, index, 0, frame)
            recorder.add(0, 0.0, 0, frame)
            store.append(recorder.finish(True, False))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.warns(UserWarning, match=r"without locks \(No locks available\)") as caught:
        play()
    assert len(caught) == 1
    assert EpisodeStore.open(tmp_path).num_steps() == 2
