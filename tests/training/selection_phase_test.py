import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.training.schedule import Schedule
from simple_tf.training.selection_phase import KeptPolicy, PointRate, SelectionPhase, rate_of

SHAPE = (4, 3, 1)
SCHEDULE = Schedule(
    iterations=4,
    initial_interactions=10,
    interactions_per_iteration=10,
    max_interactions=40,
    world_model_steps=1,
    policy_updates=1,
)


def play(store, iteration, *returns):
    """Stores an episode of five steps for each return."""
    for index, raw_return in enumerate(returns):
        recorder = EpisodeRecorder(iteration, index, 0, np.zeros(SHAPE, np.uint8))
        for step in range(5):
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
    play(store, 2, -7.0)
    assert rate_of(store, 1) == PointRate(400.0, pytest.approx(100.0 * 10.0**0.5))
    assert rate_of(store, 2) == PointRate(-1400.0, 1400.0)


def test_the_error_is_that_of_rewards_that_come_by_chance(store):
    rewards = np.random.RandomState(0).poisson(0.1, 20000).reshape(-1, 5).sum(axis=1)
    for iteration, part in enumerate(np.split(rewards, 40)):
        play(store, iteration, *part.astype(float))
    rates = [rate_of(store, iteration) for iteration in range(40)]
    deviation = np.std([rate.points for rate in rates])
    assert np.mean([rate.error for rate in rates]) == pytest.approx(deviation, rel=0.4)


def test_a_policy_that_plays_worse_is_followed_by_the_best(store):
    weights, momentum = tf.Variable([1.0, 2.0]), tf.Variable(5, dtype=tf.int64)
    phase = SelectionPhase(KeptPolicy([weights, momentum]), store, SCHEDULE)
    play(store, 1, 2.0, 0.0)
    assert select(phase, 1)["kept_iteration"] == 1
    weights.assign([8.0, 8.0])
    momentum.assign(6)
    play(store, 2, -1.0, 0.0)
    metrics = select(phase, 2)
    assert metrics == {
        "points_per_1000": -100.0,
        "kept_points_per_1000": 200.0,
        "kept_iteration": 1.0,
    }
    assert weights.numpy().tolist() == [1.0, 2.0]
    assert momentum.numpy() == 5
    weights.assign([3.0, 3.0])
    play(store, 3, 2.0, 0.0)  # As good: the newer one.
    assert select(phase, 3)["kept_iteration"] == 3
    assert weights.numpy().tolist() == [3.0, 3.0]


def test_chance_decides_nothing(store):
    """A policy that is worse by less than the error learns on, and the better one is kept."""
    weights = tf.Variable([1.0])
    phase = SelectionPhase(KeptPolicy([weights]), store, SCHEDULE)
    play(store, 1, *[1.0] * 20)
    select(phase, 1)
    weights.assign([2.0])
    play(store, 2, *[1.0] * 16, *[0.0] * 4)
    assert select(phase, 2)["kept_iteration"] == 1
    assert weights.numpy().tolist() == [2.0]
    weights.assign([3.0])
    play(store, 3, *[1.0] * 9, *[0.0] * 11)
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
