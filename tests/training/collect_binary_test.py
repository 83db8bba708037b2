"""`python -m simple_tf.collect` as a user meets it: a real process, real signals."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from simple_tf.data.store import EpisodeStore

COMMAND = [sys.executable, "-m", "simple_tf.collect"]


def _run(*arguments):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_plays_stores_and_says_what_it_did(tmp_path):
    bindings = "--gin_bindings=collect_random_play.num_interactions=150"
    for _ in range(2):
        done = _run(f"--output_dir={tmp_path}", "--game=freeway", bindings)
        assert done.returncode == 0
        assert done.stderr == ""
    assert "interactions  150 in" in done.stdout
    store = EpisodeStore.open(tmp_path / "episodes")
    # A second run adds an iteration with other episodes: nothing that was paid for is replaced.
    assert store.iterations == (0, 1)
    assert store.num_steps() == 300
    assert store.episodes[0].seed != store.episodes[1].seed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game=kungfumaster"], "Did you mean kung_fu_master or"),
        (["--gin_file=sdd.gin"], "There is no gin file 'sdd.gin'."),
        (["--gin_bindings=AtariSettings.frame_skip=0"], "at least 1, not 0."),
        (["--game=no_module:Foo-v0"], "No module named 'no_module'"),
        (["--gin_file=atari.gin"], "The gin files are incomplete. Required bindings"),
        (["pong"], "Not a flag: pong."),
    ],
)
def test_a_mistake_is_answered_in_one_line(tmp_path, arguments, message):
    done = _run(f"--output_dir={tmp_path}", *arguments)
    assert done.returncode != 0
    (line,) = done.stderr.strip().splitlines()
    assert message in line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_everything_stored(tmp_path, number):
    process = subprocess.Popen(
        [
            *COMMAND,
            f"--output_dir={tmp_path}",
            "--gin_bindings=collect_random_play.num_interactions=1000000",
            "--gin_bindings=collect_random_play.num_slots=2",
        ],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    _wait_until_playing(tmp_path)
    # As a terminal or a scheduler does it: to all processes of the group, workers included.
    os.killpg(process.pid, number)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    store = EpisodeStore.open(tmp_path / "episodes")
    steps = store.num_steps()
    assert f"Stopped by {number.name} after {steps} of 1000000 interactions" in printed
    # What was being played is kept, too; one slot may just have begun a new episode.
    assert sum(episode.truncated for episode in store.episodes) in (1, 2)


def _wait_until_playing(directory):
    """The first finished game of Pong shows that play is under way."""
    deadline = time.monotonic() + 60
    while not list(directory.rglob("*.tfrecord")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_terminal_sees_progress(tmp_path):
    leader, follower = pty.openpty()
    fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    bindings = "--gin_bindings=collect_random_play.num_interactions=400"
    process = subprocess.Popen(
        [*COMMAND, f"--output_dir={tmp_path}", bindings], stdout=follower, stderr=follower
    )
    os.close(follower)
    shown = b""
    while process.poll() is None or shown[-1:] != b"\n":
        try:
            shown += os.read(leader, 4096)
        except OSError:  # The other side is closed.
            break
    assert process.wait() == 0
    assert b"playing pong" in shown
    assert b"400/400" in shown
