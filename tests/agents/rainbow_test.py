"""Rainbow learns a game whose best play is known."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.rainbow import RainbowTrainer
from simple_tf.agents.rainbow_network import RainbowNetwork
from simple_tf.agents.replay import Replay, ReplaySpec
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.envs.real_environment import GameGroup
from simple_tf.envs.resumable_batch import ResumableBatch

pytestmark = pytest.mark.usefixtures("reverb")


@pytest.fixture
def make_trainer(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
    source = find_game("tiny_games:Corridor-v0")
    made = []

    def make(**options):
        games = ResumableBatch(
            lambda first: GameBatch(source, 1, 3, 1, 60, num_workers=0, first_episodes=first)
        )
        shape = games.batch.observation_shape
        networks = [
            RainbowNetwork(shape, 2, ((8, 4, 4),), 32, num_atoms=21, max_return=1.5, seed=1)
            for _ in range(2)
        ]
        replay = Replay(ReplaySpec(shape[1:], 1, 3, 10_000, 16), tmp_path / "replay")
        made.append(replay)
        settings = {
            "optimizer": tf.keras.optimizers.Adam(3e-3),
            "gamma": 0.95,
            "min_replay_history": 200,
            "update_period": 2,
            "target_update_period": 100,
            "final_epsilon": 0.05,
            "epsilon_decay": 600,
            "seed": 5,
        }
        return RainbowTrainer(GameGroup(games), *networks, replay, **settings | options)

    yield make
    for replay in made:
        replay.close()


def test_learns_the_way_out(make_trainer):
    trainer = make_trainer()
    first = trainer.train(200)
    assert "loss" not in first
    assert (first["epsilon"], first["training_steps"]) == (1.0, 0.0)
    random = trainer.group.games.take_finished()
    assert random.interactions == 200
    metrics = trainer.train(1000)
    assert metrics["epsilon"] == pytest.approx(0.05)
    assert 0.0 <= metrics["waiting"] < 1.0
    assert int(trainer.agent.train_step_counter) == pytest.approx(500, abs=5)
    trainer.group.games.take_finished()
    trainer.train(300)
    assert np.mean(trainer.group.games.take_finished().raw_returns) > 4.0  # 5 is the best.


def test_goes_on_with_its_replay_after_a_restart(make_trainer, tmp_path):
    trainer = make_trainer()
    trainer.train(260)
    path = tf.train.Checkpoint(trainer=trainer).write(str(tmp_path / "state"))
    state, size = trainer.group.games.state(), trainer.replay.size
    trainer.replay.close()
    other = make_trainer()
    tf.train.Checkpoint(trainer=other).read(path).assert_consumed()
    assert other.group.games.state() == state
    assert int(other.interactions) == 260
    assert other.replay.size == size > 200
    metrics = other.train(20)
    assert metrics["training_steps"] == 0.5  # At once: the replay is not filled again.
    assert other.group.games.take_finished().interactions == 20


def test_learning_waits_until_a_lost_replay_is_full_again(make_trainer, tmp_path):
    trainer = make_trainer(min_replay_history=50)
    trainer.train(80)
    path = tf.train.Checkpoint(trainer=trainer).write(str(tmp_path / "state"))
    trainer.replay.close()
    (tmp_path / "replay" / "000001" / "DONE").unlink()
    other = make_trainer(min_replay_history=50)
    tf.train.Checkpoint(trainer=other).read(path).assert_consumed()
    assert other.train(40)["training_steps"] == 0.0
    assert other.train(40)["training_steps"] > 0.0
    assert int(other.interactions) == 160
