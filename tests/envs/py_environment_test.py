import itertools

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.environments import tf_py_environment, utils

from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.envs.py_environment import RealPyEnvironment


@pytest.fixture
def environment():
    batch = GameBatch(find_game("breakout"), 2, seed=1, max_steps=120, num_workers=0)
    environment = RealPyEnvironment(batch)
    yield environment
    environment.close()


def test_passes_tf_agents_own_check(environment):
    utils.validate_py_environment(environment, episodes=4)


def test_the_end_of_a_game_has_discount_0_and_a_cut_off_1():
    batch = GameBatch(find_game("breakout"), 2, max_steps=300, num_workers=0)
    environment = RealPyEnvironment(batch)
    environment.reset()
    discounts = {"terminated": set(), "truncated": set()}
    rng = np.random.default_rng(0)
    for _ in range(600):
        # Firing now and then loses the ball and the game; never firing runs into the cap.
        action = np.array([0, rng.integers(4)], np.int32)
        time_step = environment.step(action)
        for reason, seen in discounts.items():
            ended = environment.get_info()[reason]
            assert time_step.is_last()[ended].all()
            seen.update(time_step.discount[ended])
    assert discounts == {"terminated": {0.0}, "truncated": {1.0}}


def test_slots_start_again_on_their_own_after_their_last_step(environment):
    environment.reset()
    action = np.zeros(2, np.int32)
    steps = [environment.step(action) for _ in range(122)]
    assert steps[119].is_last().all()
    assert steps[120].is_first().all()
    assert steps[121].is_mid().all()


def test_time_steps_can_be_kept(environment):
    environment.reset()
    steps = [environment.step(np.ones(2, np.int32)) for _ in range(6)]
    for earlier, later in itertools.pairwise(steps):
        np.testing.assert_array_equal(earlier.observation[:, 1:], later.observation[:, :-1])


def test_runs_as_a_tf_environment(environment):
    tf_environment = tf_py_environment.TFPyEnvironment(environment)
    time_step = tf_environment.reset()
    assert time_step.observation.shape == (2, 4, 105, 80, 3)
    assert time_step.observation.dtype == tf.uint8
    time_step = tf_environment.step(tf.constant([1, 3], tf.int32))
    assert time_step.step_type.numpy().tolist() == [1, 1]
