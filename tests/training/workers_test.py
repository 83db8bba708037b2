"""The chief works, the others follow: two threads that agree as two processes would."""

import threading
import types

import pytest
import tensorflow as tf

from simple_tf.training.phase import Advance, Pacer
from simple_tf.training.workers import (
    ChiefPhase,
    WorkerLostError,
    Workers,
    led_by_chief,
    losses_explained,
    signs_of_life,
)


def test_a_batch_that_cannot_be_shared_equally_is_refused(monkeypatch):
    workers = Workers()
    assert workers.rows_per_replica(4, "WorldModelPhase.batch_size") == 4
    eight = types.SimpleNamespace(num_replicas_in_sync=8)
    monkeypatch.setattr(tf.distribute, "get_strategy", lambda: eight)
    with pytest.raises(ValueError, match=r"WorldModelPhase.batch_size is 4, which 8 replicas"):
        workers.rows_per_replica(4, "WorldModelPhase.batch_size")


class _Pair:
    """Adds up what two threads say, as soon as both have."""

    def __init__(self):
        self._barrier = threading.Barrier(2, timeout=30)
        self._values = [0, 0]

    def total(self, index, value):
        self._values[index] = value
        self._barrier.wait()
        result = sum(self._values)
        self._barrier.wait()
        return result


class _OneOfTwo(Workers):
    def __init__(self, pair, index):
        super().__init__()
        self.index, self.count = index, 2
        self._pair = pair

    def _over_workers(self, value):
        return self._pair.total(self.index, value)


class _Store:
    refreshed = 0

    def refresh(self):
        self.refreshed += 1


class _Playing:
    """A phase of two pieces, the second of which takes long."""

    name, unit, resumable, headline = "playing", "steps", False, ("score",)

    def __init__(self, asked):
        self.began = 0
        self._asked = asked

    def size(self, iteration):
        return 10 * iteration

    def global_step(self):
        return 3

    def run(self, iteration, step):
        self.began += 1
        yield Advance(4, {"score": 1.0})
        for _ in range(3):
            assert not self._asked()
        yield Advance(self.size(iteration), {"score": 2.0})


def _in_two_threads(function):
    pair, results = _Pair(), {}
    threads = [
        threading.Thread(target=lambda i=i: results.update({i: function(_OneOfTwo(pair, i))}))
        for i in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results[0], results[1]


def test_the_chief_decides_and_anybody_may_object():
    def agree(workers):
        pacer = Pacer(agree=workers.chief_says)
        sizes = []
        for _ in range(3):
            sizes.append(pacer.next(100))
            pacer._size *= 2 + workers.index  # One is faster than the other.
        return workers.is_chief, sizes, workers.any(workers.index == 1), workers.any(False)

    sizes = [1, 2, 4]
    assert _in_two_threads(agree) == ((True, sizes, True, False), (False, sizes, True, False))


def test_the_others_follow_the_chief_step_by_step_and_then_read_its_episodes(monkeypatch):
    monkeypatch.setattr("simple_tf.training.workers._SECONDS_BETWEEN_SIGNS", -1.0)

    def work(workers):
        store, playing = _Store(), _Playing(signs_of_life(workers, lambda: False))
        phase = led_by_chief(playing, workers, store)
        assert isinstance(phase, ChiefPhase)
        assert (phase.name, phase.size(2), phase.headline) == ("playing", 20, ("score",))
        return list(phase.run(2, 0)), playing.began, store.refreshed

    chief, other = _in_two_threads(work)
    assert chief == ([Advance(4, {"score": 1.0}), Advance(20, {"score": 2.0})], 1, 0)
    assert other == ([Advance(4, {}), Advance(20, {})], 0, 1)


def test_alone_nothing_is_different():
    alone, asked = Workers(), lambda: True
    playing = _Playing(asked)
    assert (alone.index, alone.count, alone.is_chief) == (0, 1, True)
    assert (alone.chief_says(5), alone.any(True), alone.any(False)) == (5, True, False)
    assert led_by_chief(playing, alone, _Store()) is playing
    assert signs_of_life(alone, asked) is asked


def test_a_lost_worker_is_an_error_for_people_but_only_where_there_are_workers(monkeypatch):
    lost = tf.errors.UnavailableError(None, None, "Connection reset by peer")
    strategy = tf.distribute.get_strategy()
    with pytest.raises(tf.errors.UnavailableError), losses_explained(strategy):
        raise lost
    monkeypatch.setattr("simple_tf.training.workers.position_of_process", lambda strategy: (1, 2))
    with (
        pytest.raises(WorkerLostError, match=r"so does worker 1(.|\n)*Connection reset"),
        losses_explained(strategy),
    ):
        raise lost
