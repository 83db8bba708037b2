"""Writers are really killed, disks are really full, readers really read meanwhile."""

import errno
import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from simple_tf.data import codec
from simple_tf.data.errors import StoreError
from simple_tf.data.store import EpisodeStore

# What both kinds of writer processes share: endless appends, each acknowledged on stdout.
_WRITER = """
import dataclasses, os, random, signal, sys, time
import numpy as np
from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore

DESCRIPTION = StoreDescription("pong", (12, 10, 3), ("NOOP", "UP", "DOWN"), {"frame_skip": 4})

FRAMES = np.random.default_rng(0).integers(0, 256, (151, 12, 10, 3), dtype=np.uint8)

recorder = EpisodeRecorder(0, 0, 0, FRAMES[0])
for frame in FRAMES[1:]:
    recorder.add(1, 0.0, 0, frame)
EPISODE = recorder.finish(terminated=True, truncated=False)

def write(directory, count):
    store = EpisodeStore.create_or_open(directory, DESCRIPTION)
    begin = 1 + max((e.index for e in store.episodes), default=-1)
    for index in range(begin, begin + count):
        store.append(dataclasses.replace(EPISODE, index=index))
        os.write(1, b"%d\\n" % index)
"""

# Forks before TensorFlow has started any thread, so that each writer starts at once. One in four is
# killed while it opens the store, the others while they append.
_KILLER = """
random.seed(0)
for number in range(int(sys.argv[2])):
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write_end, 1)
        write(sys.argv[1], 10**6)
    os.close(write_end)
    if number % 4:
        os.write(1, os.read(read_end, 100))
        time.sleep(random.uniform(0.0, 0.02))
    else:
        time.sleep(random.uniform(0.0, 0.3))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the writer failed before it was killed"
    while data := os.read(read_end, 1000):
        os.write(1, data)
"""


def _run(program: str, *arguments: object) -> list[int]:
    """Runs a program to its end; returns the acknowledged indices."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


def test_a_killed_writer_loses_at_most_the_episode_it_was_writing(tmp_path):
    kills = 20
    acknowledged = _run(_WRITER + _KILLER, tmp_path / "store", kills)
    store = EpisodeStore.open(tmp_path / "store")  # Refuses any damage.
    indices = [episode.index for episode in store.episodes]
    assert indices == list(range(len(indices)))
    assert len(set(acknowledged)) == len(acknowledged) > kills // 2
    assert set(acknowledged) <= set(indices)
    assert len(indices) - len(acknowledged) <= kills  # Renamed, but killed before saying so.
    frames = np.random.default_rng(0).integers(0, 256, (151, 12, 10, 3), dtype=np.uint8)
    for episode in store.episodes:
        np.testing.assert_array_equal(codec.read_frames(episode), frames)


def test_reading_while_another_process_writes(tmp_path):
    directory = tmp_path / "store"
    command = [sys.executable, "-c", _WRITER + "write(sys.argv[1], 40)", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "0\n"
        reader = EpisodeStore.open(directory)
        seen = [len(reader.episodes)]
        while writer.poll() is None:
            reader.refresh()
            seen.append(len(reader.episodes))
        assert writer.returncode == 0
    reader.refresh()
    assert seen == sorted(seen)
    assert len(reader.episodes) == 40


def _assert_fails_then_works(store, episode, make_room) -> str:
    before = {path: path.read_bytes() for path in store.directory.rglob("*") if path.is_file()}
    with pytest.raises(StoreError, match="could not write") as error:
        store.append(episode)
    after = {path: path.read_bytes() for path in store.directory.rglob("*") if path.is_file()}
    assert after == before
    assert store.episodes == EpisodeStore.open(store.directory).episodes == ()
    make_room()
    store.append(episode)
    assert EpisodeStore.open(store.directory).num_steps() == episode.num_steps
    return str(error.value)


def test_a_file_that_may_not_grow(make_store, make_episode):
    store = make_store([])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    restore = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))  # noqa: E731
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        _assert_fails_then_works(store, make_episode(0, 0, 200), restore)
    finally:
        restore()


def test_a_full_disk(tmp_path, make_episode, description):
    """On a real, very small file system, where this process may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a file system is not permitted here")
    try:
        store = EpisodeStore.create_or_open(disk / "store", description)
        (disk / "other").write_bytes(bytes(200_000))
        episode = make_episode(0, 0, 200)
        message = _assert_fails_then_works(store, episode, (disk / "other").unlink)
        assert "the disk is full" in message
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failure_after_the_rename_leaves_nothing(make_store, make_episode, monkeypatch, code):
    store = make_store([])

    def fail(_: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr("simple_tf.data.layout.sync_directory", fail)
        with pytest.raises(StoreError, match="could not write"):
            store.append(make_episode())
    assert list(store.directory.rglob("*.tfrecord*")) == []
    store.append(make_episode())
    assert store.num_steps() == 6
