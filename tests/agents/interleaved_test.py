"""Real games in groups give what the same games give one step after the other."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.draws import fold_in
from simple_tf.agents.experience import collect
from simple_tf.agents.interleaved import collect_interleaved
from simple_tf.agents.policy_network import NO_ITERATION, PolicyNetwork
from simple_tf.envs.catalog import find_game
from simple_tf.envs.real_environment import RealEnvironment

STEPS = 30
SEED = tf.constant([3, 4])


@pytest.fixture
def corridor(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
    return find_game("tiny_games:Corridor-v0")


def _collected(environment, function, seed=SEED):
    network = PolicyNetwork(environment.observation_shape, 2, 4, 8, seed=1)
    play = tf.function(lambda: function(environment, network, STEPS, NO_ITERATION, seed))
    return play(), network


@pytest.mark.parametrize("workers", [0, 1])
def test_one_group_plays_as_the_plain_loop_does(corridor, workers):
    environment = RealEnvironment(corridor, 0, 3, 1, num_workers=workers)
    one, network = _collected(environment, collect_interleaved)
    two, _ = _collected(RealEnvironment(corridor, 0, 3, 1, num_workers=0), collect)
    assert [(x.shape, x.dtype) for x in one] == [(x.shape, x.dtype) for x in two]
    _check_by_hand(one, network)
    _check_by_hand(two, network)
    environment.close()


def _check_by_hand(played, network):
    """Values and probabilities are those of the rows; what lies after an end is no step."""
    for t in (0, STEPS - 1):
        logits, values = network(played.observations[t], NO_ITERATION)
        np.testing.assert_allclose(played.values[t], values, rtol=1e-5, atol=1e-5)
        chosen = tf.gather(tf.nn.log_softmax(logits), played.actions[t], batch_dims=1)
        np.testing.assert_allclose(played.log_probabilities[t], chosen, rtol=1e-5, atol=1e-5)
    ends, mask = played.ends.numpy(), played.mask.numpy()
    assert ends.any()
    np.testing.assert_array_equal(mask[1:], 1.0 - ends[:-1])
    # In this game a reward comes with the end, and with nothing else.
    np.testing.assert_array_equal(played.rewards.numpy() != 0, ends)
    np.testing.assert_array_equal(played.discounts.numpy() == 0, ends)


def test_groups_are_joined_in_order_and_wait_for_nobody(corridor):
    environment = RealEnvironment(corridor, 0, 4, 2, num_workers=1)
    played, network = _collected(environment, collect_interleaved)
    _check_by_hand(played, network)
    assert played.observations.shape[:2] == (STEPS, 4)
    # The last value is that of what all groups show after their last step.
    _, last = network(environment.current_time_step().observation, NO_ITERATION)
    np.testing.assert_allclose(played.values[-1], last, rtol=1e-5, atol=1e-5)
    finished = environment.take_finished()
    assert finished.interactions == played.mask.numpy().sum()
    assert len(finished.raw_returns) == played.ends.numpy().sum()
    environment.close()


def test_a_restored_environment_goes_on_to_the_bit(corridor, tmp_path):
    environment = RealEnvironment(corridor, 7, 4, 2, num_workers=0)
    _, network = _collected(environment, collect_interleaved)
    path = tf.train.Checkpoint(environment=environment).write(str(tmp_path / "state"))

    def go_on(environment):
        return collect_interleaved(environment, network, 5, NO_ITERATION, fold_in(SEED, 9))

    expected = go_on(environment)
    other = RealEnvironment(corridor, 7, 4, 2, num_workers=0)
    tf.train.Checkpoint(environment=other).read(path).assert_consumed()
    tf.nest.map_structure(np.testing.assert_array_equal, go_on(other), expected)
