import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.training.schedule import Schedule
from simple_tf.training.selection_phase import (
    KeptPolicy,
    PointRate,
    SelectionPhase,
    rate_of,
    rate_of_rewards,
)

SHAPE = (4, 3, 1)
SCHEDULE = Schedule(
    iterations=4,
    initial_interactions=10,
    interactions_per_iteration=10,
    max_interactions=40,
    world_model_steps=1,
    policy_updates=1,
)


def play(store, iteration, *returns, steps=100):
    """Stores an episode in which each of the returns comes in one of so many steps."""
    recorder = EpisodeRecorder(iteration, 0, 0, np.zeros(SHAPE, np.uint8))
    for raw_return in returns:
        for step in range(steps):
            recorder.add(0, raw_return if step == 2 else 0.0, 0, np.zeros(SHAPE, np.uint8))
    store.append(recorder.finish(True, False))


@pytest.fixture
def store(tmp_path):
    return EpisodeStore.create_or_open(tmp_path, StoreDescription("toy", SHAPE, ("A", "B")))


def select(phase, iteration):
    (advance,) = phase.run(iteration, 0)
    return advance.metrics


def test_points_are_counted_per_interaction(store):
    play(store, 1, 3.0, 1.0)
    play(store, 2, -7.0, steps=5)  # Even of so little play there are two stretches.
    assert rate_of(store, 1) == PointRate(20.0, pytest.approx(10.0))
    assert rate_of(store, 2) == PointRate(-1400.0, pytest.approx(1400.0))


@pytest.mark.parametrize("burst", [1, 4])
def test_the_error_is_that_of_points_that_come_by_chance(store, burst):
    """Alone, or several within a short time."""
    bursts = np.random.RandomState(0).poisson(0.5 / burst, (24, 32))
    for iteration, points in enumerate(burst * bursts):
        play(store, iteration, *points.astype(float))
    rates = [rate_of(store, iteration) for iteration in range(24)]
    deviation = np.std([rate.points for rate in rates])
    assert np.mean([rate.error for rate in rates]) == pytest.approx(deviation, rel=0.4)


@pytest.mark.parametrize("burst", [1, 4])
def test_equally_good_policies_are_rarely_brought_back(burst):
    random = np.random.RandomState(1)
    brought_back = 0
    for _ in range(200):
        best = None
        for _ in range(14):
            rewards = np.zeros((64, 100))
            rewards[:, 2] = burst * random.poisson(1.0 / burst, 64)
            newest = rate_of_rewards(rewards.ravel())
            brought_back += best is not None and newest.is_worse_than(best)
            best = newest if best is None or newest.points >= best.points else best
    assert brought_back / 200 < 1.5  # Of 14; with one standard error 5.6.


def test_a_policy_that_plays_worse_is_followed_by_the_best(store):
    weights, momentum = tf.Variable([1.0, 2.0]), tf.Variable(5, dtype=tf.int64)
    phase = SelectionPhase(KeptPolicy([weights, momentum]), store, SCHEDULE)
    play(store, 1, 2.0, 3.0, 2.0, 3.0)
    assert select(phase, 1)["kept_iteration"] == 1
    weights.assign([8.0, 8.0])
    momentum.assign(6)
    play(store, 2, -1.0, 0.0, -1.0, 0.0)
    metrics = select(phase, 2)
    assert metrics == {
        "points_per_1000": -5.0,
        "kept_points_per_1000": 25.0,
        "kept_iteration": 1.0,
        "brought_back": 1.0,
    }
    assert weights.numpy().tolist() == [1.0, 2.0]
    assert momentum.numpy() == 5
    weights.assign([3.0, 3.0])
    play(store, 3, 2.0, 3.0, 2.0, 3.0)  # As good: the newer one.
    metrics = select(phase, 3)
    assert (metrics["kept_iteration"], metrics["brought_back"]) == (3.0, 0.0)
    assert weights.numpy().tolist() == [3.0, 3.0]


def test_chance_decides_nothing(store):
    """A policy that is worse by less than two errors learns on, and the better one is kept."""
    weights = tf.Variable([1.0])
    phase = SelectionPhase(KeptPolicy([weights]), store, SCHEDULE)
    play(store, 1, *[1.0, 0.0] * 10)
    select(phase, 1)
    weights.assign([2.0])
    play(store, 2, *[1.0, 0.0, 0.0, 0.0] * 5)
    assert select(phase, 2)["kept_iteration"] == 1
    assert weights.numpy().tolist() == [2.0]
    weights.assign([3.0])
    play(store, 3, *[1.0] * 2, *[0.0] * 18)
    assert select(phase, 3)["kept_iteration"] == 1
    assert weights.numpy().tolist() == [1.0]


def test_what_is_kept_is_in_the_checkpoint(store, tmp_path):
    weights = tf.Variable([1.0])
    kept = KeptPolicy([weights])
    kept.keep(4.0, 2)
    path = tf.train.Checkpoint(kept=kept).write(str(tmp_path / "checkpoint"))
    other_weights = tf.Variable([0.0])
    other = KeptPolicy([other_weights])
    tf.train.Checkpoint(kept=other).read(path).assert_consumed()
    other.bring_back()
    assert other_weights.numpy() == [1.0]
    assert (other.score.numpy(), other.iteration.numpy()) == (4.0, 2)


def test_nothing_is_selected_where_nothing_is_kept_or_played(store):
    assert SelectionPhase(None, store, SCHEDULE).size(1) == 0
    phase = SelectionPhase(KeptPolicy([]), store, SCHEDULE)
    assert [phase.size(iteration) for iteration in (1, 2, 3, 4)] == [1, 1, 1, 0]
