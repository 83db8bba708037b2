"""Real games as one TF-Agents environment, whatever the groups they are played in."""

import concurrent.futures
from pathlib import Path

import numpy as np
import pytest
from tf_agents.trajectories import time_step as ts

from simple_tf.envs.catalog import find_game
from simple_tf.envs.real_environment import RealEnvironment


@pytest.fixture
def corridor(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return find_game("tiny_games:Corridor-v0")


def test_every_game_ends_and_begins_on_its_own(corridor):
    environment = RealEnvironment(corridor, 0, 4, 2, stack=2, num_workers=0)
    assert environment.time_step_spec().observation.shape == (2, 12, 16, 3)
    before = environment.reset()
    assert before.is_first().numpy().all()
    ended = np.zeros(4, int)
    right = np.ones(4, np.int32)
    for _ in range(40):
        after = environment.step(right)
        first, last = after.is_first().numpy(), after.is_last().numpy()
        np.testing.assert_array_equal(first, before.is_last())
        # Going right always ends with a clipped reward of 1, and the game is over.
        np.testing.assert_array_equal(after.reward, last.astype(np.float32))
        np.testing.assert_array_equal(after.discount, 1.0 - last)
        ended += last
        before = after
    assert (ended >= 3).all()
    np.testing.assert_array_equal(environment.current_time_step().observation, after.observation)
    finished = environment.take_finished()
    assert finished.raw_returns == [5.0] * ended.sum()
    assert finished.interactions == 160 - (ended.sum() - before.is_last().numpy().sum())


def test_threads_that_ask_at_once_see_the_same_games(corridor):
    environment = RealEnvironment(corridor, 0, 4, 1, num_workers=2)
    (group,) = environment.groups
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        for _ in range(20):
            looks = [threads.submit(group._current) for _ in range(4)]
            shown = [look.result() for look in looks]
            for step in shown[1:]:
                np.testing.assert_array_equal(step[3], shown[0][3])
            group._send(np.ones(4, np.int32))
    environment.close()


def test_groups_play_different_games(corridor):
    environment = RealEnvironment(corridor, 0, 8, 2, num_workers=0)
    observations = environment.reset().observation.numpy()
    assert not np.array_equal(observations[:4], observations[4:])
    assert isinstance(environment.current_time_step(), ts.TimeStep)


def test_games_that_cannot_be_shared_out_are_refused(corridor):
    with pytest.raises(ValueError, match="3 games cannot be put into 2 equal groups"):
        RealEnvironment(corridor, 0, 3, 2)
