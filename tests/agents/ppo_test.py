"""PPO learns what it should, repeats itself exactly, and survives being stopped."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.environments import tf_py_environment

from simple_tf.agents.acting import PolicyPlayer
from simple_tf.agents.learner import PPOLearner
from simple_tf.agents.optimizers import policy_adam
from simple_tf.agents.policy_network import NO_ITERATION, PolicyNetwork
from simple_tf.agents.ppo import METRICS, PPOTrainer
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.envs.py_environment import RealPyEnvironment

SHAPE = (2, 6, 6, 1)


def make_network(seed=0, filters=4, hidden_size=16):
    return PolicyNetwork(SHAPE, 3, filters=filters, hidden_size=hidden_size, seed=seed)


@pytest.fixture
def make_trainer(signal_game):
    def make(seed=0, learning_rate=3e-3, collect_steps=20, network=None, game=None, **settings):
        return PPOTrainer(
            game or signal_game(seed=seed),
            network or make_network(seed),
            policy_adam(learning_rate),
            collect_steps=collect_steps,
            seed=seed,
            **settings,
        )

    return make


def state(trainer):
    """All numbers that a checkpoint has to hold."""
    parts = [*trainer.network.variables, *trainer.learner.optimizer.variables]
    return [part.numpy() for part in (*parts, trainer.updates_done)]


def assert_same_state(one, other):
    for a, b in zip(state(one), state(other), strict=True):
        np.testing.assert_array_equal(a, b)


def make_learning_trainer(make_trainer, game, **settings):
    """A trainer that is quick rather than faithful: large steps, near-sighted."""
    network = make_network(filters=16, hidden_size=64)
    trainer = make_trainer(network=network, game=game, learning_rate=1e-3, **settings)
    trainer.learner.discount = 0.8
    return trainer


@pytest.mark.parametrize("over", [False, True])
def test_reaches_the_optimum_of_a_game_whose_optimum_is_known(make_trainer, signal_game, over):
    game = signal_game(length=10, over=over, stagger=1)
    trainer = make_learning_trainer(make_trainer, game, updates_per_call=10)
    before = trainer.train(10, iteration=0)
    assert before["return"] < 5
    trainer.train(80, iteration=0)
    after = trainer.train(10, iteration=0)
    assert after["return"] > 9.5  # Of 10; the rest is exploration.
    assert after["reward"] > 0.95
    assert after["entropy"] < 0.2 < before["entropy"]
    observation = game.reset().observation
    lamps = game.lamps(0)
    np.testing.assert_array_equal(PolicyPlayer(trainer.network, 0.0)(observation.numpy()), lamps)


def test_values_of_truncated_and_of_finished_games(make_trainer, signal_game):
    """At the optimum an endless game is worth 1 / (1 - discount), a last step only 1."""
    values = {}
    for over in (False, True):
        game = signal_game(length=1, over=over)
        trainer = make_learning_trainer(make_trainer, game, updates_per_call=50)
        trainer.train(100)
        values[over] = float(trainer.train(10)["value_mean"])
    assert values[True] == pytest.approx(1.0, abs=0.1)
    assert values[False] == pytest.approx(5.0, abs=0.5)


def test_metrics_are_named_scalars_and_a_summary_writer_around_gets_none(make_trainer, tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default(step=0):
        metrics = make_trainer().train(3, iteration=1)
        tf.summary.scalar("mine", 1.0)
    writer.close()
    assert set(metrics) == set(METRICS)
    for value in metrics.values():
        assert value.shape == ()
        assert value.dtype == tf.float32
        assert np.isfinite(value)
    assert -10 <= metrics["return"] <= 10
    assert metrics["kl"] >= 0
    assert 0 <= metrics["clip_fraction"] <= 1
    assert 0 < metrics["entropy"] < np.log(3) + 1e-5
    (file,) = tmp_path.iterdir()
    events = map(
        tf.compat.v1.Event.FromString, tf.data.TFRecordDataset(str(file)).as_numpy_iterator()
    )
    assert [value.tag for event in events for value in event.summary.value] == ["mine"]


def test_one_trace_and_in_it_the_network_once_per_step_and_once_per_minibatch(make_trainer):
    trainer = make_trainer(updates_per_call=3)
    for num_updates, iteration in ((3, 0), (1, 1), (5, NO_ITERATION), (7, np.int64(4))):
        trainer.train(num_updates, iteration)
    assert trainer._compiled.experimental_get_tracing_count() == 1
    assert trainer.updates_done.numpy() == 16
    assert trainer.updates_done.dtype == tf.int64
    graph = trainer._compiled.get_concrete_function().graph.as_graph_def()
    nodes = [node.op for function in graph.library.function for node in function.node_def]
    # Two layers each: acting, the value after the last step, learning.
    assert nodes.count("Conv2D") == 2 * 3


def test_the_seed_decides_everything_and_the_size_of_calls_nothing(make_trainer):
    one, same = make_trainer(seed=1), make_trainer(seed=1, updates_per_call=4)
    other = make_trainer(seed=1)
    other._seed = make_trainer(seed=2)._seed  # The same game and network, other draws.
    first, second, third = (trainer.train(6, 2) for trainer in (one, same, other))
    assert_same_state(one, same)
    for name in METRICS:
        np.testing.assert_allclose(first[name], second[name], rtol=1e-5, atol=1e-6)
    assert first["reward"] != third["reward"]


def test_returns_of_rollouts_longer_than_an_update(make_trainer, signal_game):
    """The return of a rollout is the sum of its rewards, over all updates that it spans."""
    trainer = make_trainer(game=signal_game(batch_size=4, length=30), learning_rate=0.0)
    trainer.collect_steps = 10
    pieces = [trainer.train(1) for _ in range(7)]
    returns = [float(metrics["return"]) for metrics in pieces]
    assert [n for n in range(7) if not np.isnan(returns[n])] == [2, 5]
    rewards = [10 * float(metrics["reward"]) for metrics in pieces]
    assert len(set(rewards)) > 3  # Each update draws anew.
    np.testing.assert_allclose(
        [returns[2], returns[5]], [sum(rewards[:3]), sum(rewards[3:6])], 1e-5
    )
    # Rollouts that were cut off by a reset count nowhere.
    trainer.environment.reset()
    pieces = [trainer.train(1) for _ in range(3)]
    total = sum(10 * float(metrics["reward"]) for metrics in pieces)
    np.testing.assert_allclose(pieces[-1]["return"], total, 1e-5)


def test_a_restored_trainer_continues_as_if_never_stopped(make_trainer, signal_game, tmp_path):
    def make():
        return make_trainer(game=signal_game(length=25), collect_steps=10)

    trainer = make()
    trainer.train(4, 0)  # In the middle of the second rollouts.
    path = tf.train.Checkpoint(trainer=trainer).write(str(tmp_path / "checkpoint"))
    expected = [trainer.train(1, 1) for _ in range(3)]
    restored = make()
    restored.train(1, 0)
    tf.train.Checkpoint(trainer=restored).read(path).assert_consumed()
    for metrics in expected:
        tf.nest.map_structure(np.testing.assert_array_equal, restored.train(1, 1), metrics)
    assert_same_state(trainer, restored)


def test_what_was_learned_is_without_the_count_of_steps_that_rates_fall_by(make_trainer):
    trainer = make_trainer()
    learned = trainer.learned_variables
    optimizer = trainer.learner.optimizer
    assert len(learned) == len(trainer.network.variables) + len(optimizer.variables) - 1
    assert all(variable is not optimizer.iterations for variable in learned)


def test_real_games_go_through_the_same_trainer(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
    game = find_game("tiny_games:Corridor-v0")
    with GameBatch(game, 2, max_steps=9, num_workers=0) as batch:
        environment = tf_py_environment.TFPyEnvironment(RealPyEnvironment(batch))
        network = PolicyNetwork(batch.observation_shape, 2, filters=4, hidden_size=16)
        trainer = PPOTrainer(environment, network, policy_adam(), collect_steps=40)
        before = state(trainer)
        metrics = trainer.train(2, NO_ITERATION)
        assert all(np.isfinite(value) for value in metrics.values())
        assert not np.array_equal(before[0], state(trainer)[0])
        assert trainer._compiled.experimental_get_tracing_count() == 1


def test_atari_goes_through_the_same_trainer():
    with GameBatch(find_game("breakout"), 2, num_workers=0) as batch:
        environment = tf_py_environment.TFPyEnvironment(RealPyEnvironment(batch))
        network = PolicyNetwork(batch.observation_shape, batch.num_actions, 4, 8)
        trainer = PPOTrainer(environment, network, policy_adam(), collect_steps=20)
        metrics = trainer.train(1)
    assert np.isnan(metrics.pop("return"))  # No game ends in 20 steps.
    assert all(np.isfinite(value) for value in metrics.values())


class Perceptron(tf.keras.Model):
    """Somebody's own network; counts how often which iteration it was told."""

    def __init__(self):
        super().__init__()
        self.layer = tf.keras.layers.Dense(4)
        self.layer.build((None, 72))
        self.told = tf.Variable(tf.zeros([4], tf.int32), trainable=False)

    def call(self, observations, iteration=NO_ITERATION):
        pixels = tf.reshape(tf.cast(observations, tf.float32) / 255, [-1, 72])
        told = tf.broadcast_to(iteration, tf.shape(pixels)[:1])
        self.told.assign_add(tf.math.bincount(told + 1, minlength=4, maxlength=4))
        outputs = self.layer(pixels)
        return outputs[:, :3], outputs[:, 3]


@pytest.mark.parametrize("named", [False, True])
def test_any_keras_model_will_do_and_is_told_what_the_original_tells(make_trainer, named):
    network = Perceptron()
    trainer = make_trainer(
        network=network, collect_steps=50, learning_rate=0.02, name_iteration_when_acting=named
    )
    network.told.assign(tf.zeros([4], tf.int32))
    before = trainer.train(1, iteration=2)
    acting, learning = 51 * 8, 7 * 20 * 8
    told = network.told.numpy() - [0 if named else acting, 0, 0, acting if named else 0]
    assert told.sum() == learning
    assert told[1] == told[2] == 0
    hidden = told[0] / learning
    assert abs(hidden - 0.1) < 4 * np.sqrt(0.1 * 0.9 / learning)
    assert trainer.train(40, iteration=2)["return"] > before["return"]


def test_the_whole_update_compiles_with_xla(make_trainer):
    trainer = make_trainer(jit_compile=True, updates_per_call=4)
    before = state(trainer)
    metrics = trainer.train(8, 0)
    assert all(np.isfinite(value) for value in metrics.values())
    assert metrics["gradient_norm"] > 0
    assert trainer.updates_done.numpy() == 8
    assert not np.array_equal(before[0], state(trainer)[0])


def test_settings_are_checked(make_trainer, signal_game):
    with pytest.raises(ValueError, match="do not fill one minibatch of 20 time steps"):
        make_trainer(collect_steps=6).train(1)
    with pytest.raises(ValueError, match="collect_steps must be at least 1, not 0"):
        make_trainer(collect_steps=0)
    with pytest.raises(ValueError, match="at least 1 update, not 0"):
        make_trainer().train(0)


def test_defaults_are_the_originals(signal_game):
    game = signal_game()
    learner = PPOLearner(make_network(), policy_adam(), game.time_step_spec(), game.action_spec())
    assert (learner.discount, learner.gae_lambda, learner.clip_norm) == (0.99, 0.95, 0.5)
    assert (learner.num_passes, learner.minibatch_steps) == (3, 20)
    settings = learner.optimizer.get_config()
    assert [settings[k] for k in ("beta_1", "beta_2", "epsilon")] == [0.85, 0.997, 1e-6]
    assert settings["learning_rate"] == pytest.approx(1e-4)
