"""However the work is split, it is the same work: real devices and processes, compared."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.replicas import ReplicaVariable, rows_per_replica

PROGRAM = Path(__file__).parent / "split_work.py"


def _start(what, directory, **environment):
    return subprocess.Popen(
        [sys.executable, PROGRAM, what, directory.name, directory],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _check_ended_well(process):
    printed, _ = process.communicate()
    assert process.returncode == 0, printed[-3000:]


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _read(directory, name):
    return json.loads((directory / f"{name}.json").read_text())


def _assert_same(found, expected):
    for part in ("fresh", "resumed"):
        for one, other in zip(found[part], expected[part], strict=True):
            assert one.keys() == other.keys()
            for name in one:
                np.testing.assert_allclose(one[name], other[name], rtol=2e-3, atol=1e-5)


@pytest.fixture(
    scope="module", params=["patch", pytest.param("stochastic", marks=pytest.mark.slow)]
)
def work(request, tmp_path_factory):
    """One replica, two, and two in parts have worked; the folder is named for their model."""
    directory = tmp_path_factory.mktemp("work") / request.param
    directory.mkdir()
    # Logical devices must be set before TensorFlow starts: another process.
    _check_ended_well(_start("replicas", directory))
    return directory


def test_two_replicas_do_the_work_of_one_and_each_resumes_what_the_other_saved(work):
    one = _read(work, "one")
    assert (len(one["fresh"]), len(one["resumed"])) == (4, 2)
    # The draws matter: two updates or steps never have the same loss.
    losses = [metrics["loss"] for metrics in one["fresh"] + one["resumed"]]
    assert len(set(losses)) == 6
    _assert_same(_read(work, "two"), one)


def test_so_do_two_replicas_that_cut_their_rows_into_parts(work):
    cut, one = _read(work, "cut"), _read(work, "one")
    for part in cut, one:  # The first two steps are the world model's.
        part["fresh"], part["policy"] = part["fresh"][:2], part["fresh"][2:]
    _assert_same(cut, one)
    # A part is one row, which is multiplied otherwise than two: of an untrained model's values,
    # which are nearly equal, another may then be the likeliest of a pixel.
    for mine, other in zip(cut["policy"], one["policy"], strict=True):
        for name in other:
            np.testing.assert_allclose(mine[name], other[name], rtol=0.05, atol=1e-5)


def test_two_workers_do_the_work_of_one_and_only_the_chief_saves(work):
    addresses = [f"localhost:{port}" for port in _free_ports(2)]
    processes = [
        _start(
            "worker",
            work,
            TF_CONFIG=json.dumps(
                {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            ),
        )
        for index in range(2)
    ]
    for process in processes:
        _check_ended_well(process)
    for index in range(2):
        _assert_same(_read(work, f"worker_{index}"), _read(work, "one"))
    (saved,) = (work / "by_workers").iterdir()
    rollouts = tf.train.load_checkpoint(str(saved / "state")).get_variable_to_shape_map()
    (history,) = [shape for name, shape in rollouts.items() if "/_history/" in name]
    assert history == [4, 4, 10, 9, 1]  # Of all workers.


def test_in_the_real_game_replicas_share_what_was_played_together(tmp_path):
    directory = tmp_path / "real"
    directory.mkdir()
    _check_ended_well(_start("replicas", directory))
    one = _read(directory, "one")
    assert len({metrics["loss"] for metrics in one["fresh"] + one["resumed"]}) == 3
    _assert_same(_read(directory, "two"), one)


def test_a_variable_of_replicas_is_saved_as_any_other(tmp_path):
    ours, plain = ReplicaVariable([2, 3], tf.uint8), tf.Variable(tf.zeros([2, 3], tf.uint8))
    ours.assign(tf.constant([[1, 2, 3], [4, 5, 255]], tf.uint8))
    path = tf.train.Checkpoint(x=ours).write(str(tmp_path / "ours"))
    tf.train.Checkpoint(x=plain).read(path).assert_consumed()
    np.testing.assert_array_equal(plain, [[1, 2, 3], [4, 5, 255]])
    path = tf.train.Checkpoint(x=tf.Variable(tf.ones([2, 3], tf.uint8))).write(str(tmp_path / "x"))
    tf.train.Checkpoint(x=ours).read(path).assert_existing_objects_matched()
    np.testing.assert_array_equal(ours.read_value(), np.ones([2, 3]))


def test_a_batch_that_cannot_be_shared_is_refused():
    class Strategy:
        num_replicas_in_sync = 4

    original = tf.distribute.get_strategy
    tf.distribute.get_strategy = Strategy
    try:
        assert rows_per_replica(8, "x") == 2
        with pytest.raises(ValueError, match="batch_size is 10, which 4 replicas cannot share"):
            rows_per_replica(10, "batch_size")
    finally:
        tf.distribute.get_strategy = original
