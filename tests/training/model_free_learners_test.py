"""The loop's own PPO learns a small game through the real environment."""

from pathlib import Path

import gin
import numpy as np
import pytest

from simple_tf.envs.catalog import find_game
from simple_tf.training import model_free  # noqa: F401  # Makes everything known to gin.
from simple_tf.training.configuration import configure
from simple_tf.training.model_free_learners import PPOInRealGame

BINDINGS = [
    "RealEnvironment.num_slots = 16",
    "RealEnvironment.stack = 1",
    "RealEnvironment.max_steps = 60",
    "RealEnvironment.num_workers = 0",
    "PPOTrainer.collect_steps = 20",
    "PPOLearner.minibatch_steps = 10",
    "PolicyNetwork.filters = 4",
    "PolicyNetwork.hidden_size = 32",
    "policy_adam.learning_rate = 3e-3",
]


@pytest.fixture
def learner(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
    configure(["ppo.gin"], BINDINGS)
    learner = PPOInRealGame(find_game("tiny_games:Corridor-v0"), 1, tmp_path)
    yield learner
    learner.close()
    gin.clear_config()


def test_ppo_learns_the_way_out(learner):
    assert learner.update_size == 16 * 20
    first = learner.train(2)
    before = learner.take_finished()
    assert 0.9 * 640 < before.interactions <= 640
    assert -2.0 in before.raw_returns  # 5 is the best.
    learner.train(10)
    learner.take_finished()
    last = learner.train(2)
    assert np.mean(learner.take_finished().raw_returns) > 4.9
    assert last["entropy"] < 0.5 * first["entropy"]
    assert learner.updates_done() == 14
