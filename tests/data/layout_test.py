"""Names in a store's directory, and its lock."""

import threading
from pathlib import Path

import pytest

from simple_tf.data import layout

STORE = Path("runs") / "17" / "store"


@pytest.mark.parametrize("key", [(0, 0), (3, 17), (1234, 123456)])
def test_a_place_and_its_key(key):
    assert layout.key_of(layout.episode_path(STORE, key)) == key


@pytest.mark.parametrize(
    "name",
    [
        "iteration_003/episode_17.tfrecord",
        "iteration_3/episode_00017.tfrecord",
        "iteration_003/episode_00017.tfrecord.1",
        "iteration_003/episode_-0017.tfrecord",
        "iteration_003/copy.tfrecord",
    ],
)
def test_what_is_no_place(name):
    assert layout.key_of(STORE / name) is None


def test_files_in_the_order_of_their_keys(make_store):
    store = make_store([[1] * 12, [1]])
    found = layout.find_episode_files(store.directory)
    assert [layout.key_of(path) for path in found] == [(0, i) for i in range(12)] + [(1, 0)]


def test_the_lock_lets_one_in_at_a_time(tmp_path):
    entered = threading.Event()

    def enter() -> None:
        with layout.lock(tmp_path):
            entered.set()

    thread = threading.Thread(target=enter)
    with layout.lock(tmp_path):
        thread.start()
        assert not entered.wait(0.1)
    thread.join(10)
    assert entered.is_set()
