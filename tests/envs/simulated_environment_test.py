"""The simulated environment: the real one's contract, and rollouts computed by hand."""

from pathlib import Path

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.environments import random_tf_environment, tf_py_environment, utils
from tf_agents.policies import random_tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import nest_utils

from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.envs.py_environment import RealPyEnvironment
from simple_tf.envs.simulated_environment import SimulatedEnvironment
from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.patch import PatchModel
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel

BATCH, LENGTH = 3, 8


@pytest.fixture
def simulated(rule_model, rule_starts):
    def make(batch_size=BATCH, rollout_length=LENGTH, **settings):
        return SimulatedEnvironment(rule_model, rule_starts, batch_size, rollout_length, **settings)

    return make


@pytest.fixture(params=["simulated", "real"])
def environment(request, monkeypatch):
    """Both environments, as the policy meets them; the same shape of game, truncated alike."""
    if request.param == "simulated":
        yield request.getfixturevalue("simulated")()
        return
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    game = find_game("tiny_games:Corridor-v0")
    with GameBatch(game, BATCH, max_steps=LENGTH, num_workers=0) as batch:
        yield tf_py_environment.TFPyEnvironment(RealPyEnvironment(batch), check_dims=True)


class TestContract:
    """What both environments promise to the policy."""

    def test_time_steps_match_the_specs(self, environment):
        spec = environment.time_step_spec()
        time_step = environment.reset()
        for _ in range(3 * LENGTH):
            nest_utils.assert_matching_dtypes_and_inner_shapes(
                time_step, spec, caller=self, tensors_name="time_step", specs_name="spec"
            )
            assert nest_utils.get_outer_shape(time_step, spec).numpy().tolist() == [BATCH]
            assert time_step.observation.shape == (BATCH, *spec.observation.shape)
            action = tensor_spec.sample_spec_nest(environment.action_spec(), outer_dims=(BATCH,))
            time_step = environment.step(action)
            assert set(np.unique(time_step.reward)) <= {-1.0, 0.0, 1.0}

    def test_passes_tf_agents_own_check_of_environments(self, environment):
        utils.validate_py_environment(_AsPyEnvironment(environment), episodes=7)

    def test_tf_agents_policies_act_in_it(self, environment):
        policy = random_tf_policy.RandomTFPolicy(
            environment.time_step_spec(), environment.action_spec()
        )
        time_step = environment.step(policy.action(environment.reset()).action)
        assert not time_step.is_first().numpy().any()

    def test_starts_by_itself_and_current_time_step_changes_nothing(self, environment):
        first = environment.current_time_step()
        again = environment.current_time_step()
        assert first.is_first().numpy().all()
        tf.nest.map_structure(np.testing.assert_array_equal, first, again)
        after = environment.step(tf.ones([BATCH], tf.int32))
        assert not after.is_first().numpy().any()
        tf.nest.map_structure(np.testing.assert_array_equal, after, environment.current_time_step())

    def test_the_first_step_has_no_reward_and_discount_1(self, environment):
        environment.step(tf.zeros([BATCH], tf.int32))
        environment.step(tf.zeros([BATCH], tf.int32))
        first = environment.reset()
        assert first.is_first().numpy().all()
        assert not first.reward.numpy().any()
        assert (first.discount.numpy() == 1).all()

    def test_history_moves_by_one_frame_per_step(self, environment):
        time_step = environment.reset()
        for _ in range(LENGTH):
            after = environment.step(tf.zeros([BATCH], tf.int32))
            for b in np.flatnonzero(~after.is_first().numpy()):
                np.testing.assert_array_equal(
                    after.observation[b, :-1], time_step.observation[b, 1:]
                )
            time_step = after

    def test_after_last_comes_first_whatever_the_action(self, environment):
        before = environment.reset()
        restarts = 0
        for _ in range(3 * LENGTH):
            after = environment.step(tf.ones([BATCH], tf.int32))
            np.testing.assert_array_equal(before.is_last(), after.is_first())
            restarts += int(np.sum(after.is_first()))
            before = after
        assert restarts

    def test_it_runs_inside_a_compiled_loop(self, environment):
        @tf.function
        def play():
            time_step = environment.reset()
            total = tf.zeros([BATCH])
            for _ in tf.range(5):
                time_step = environment.step(tf.ones([BATCH], tf.int32))
                total += time_step.reward
            return time_step, total

        time_step, _ = play()
        tf.nest.map_structure(
            np.testing.assert_array_equal, time_step, environment.current_time_step()
        )


class _AsPyEnvironment:
    """The arrays of a TensorFlow environment, which is all that TF-Agents' check looks at."""

    def __init__(self, environment):
        self._environment = environment
        self.batch_size = environment.batch_size

    def time_step_spec(self):
        return tensor_spec.to_array_spec(self._environment.time_step_spec())

    def action_spec(self):
        return tensor_spec.to_array_spec(self._environment.action_spec())

    def reset(self):
        return tf.nest.map_structure(lambda x: x.numpy(), self._environment.reset())

    def step(self, action):
        return tf.nest.map_structure(lambda x: x.numpy(), self._environment.step(action))


def test_specs_equal_the_real_environments(simulated, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with GameBatch(find_game("tiny_games:Corridor-v0"), 1, num_workers=0) as batch:
        real = tf_py_environment.TFPyEnvironment(RealPyEnvironment(batch))
        ours = simulated()
        assert ours.time_step_spec() == real.time_step_spec()
        assert ours.action_spec() == real.action_spec()
        assert ours.batched


def play(environment, num_steps):
    """Plays; returns all time steps and actions, time first."""
    actions = np.random.default_rng(5).integers(2, size=(num_steps, environment.batch_size))
    steps = [environment.current_time_step()]
    steps += [environment.step(tf.constant(row, tf.int32)) for row in actions]
    return tf.nest.map_structure(lambda *x: np.stack(x), *steps), actions


def assert_follows_the_rule(steps, actions, start_sums):
    """Checks time steps [T + 1, B, ...] between actions [T, B] against the rule of the model."""
    for t, step_type in enumerate(steps.step_type):
        assert (step_type == step_type[0]).all()  # All start and end together.
        history = steps.observation[t].astype(int)
        if step_type[0] == ts.StepType.FIRST:
            start, begin = history[:, :, 0, 0], t  # [B, K, (episode, number, draw)]
            assert start[0, :, :2].tolist() == [[0, n] for n in range(4)]
            assert (np.diff(start[:, :, 1], axis=1) == 1).all()
            sums = np.array([start_sums(episode, number) for episode, number, _ in start[:, 0]])
            assert not steps.reward[t].any()
            continue
        played, action = t - begin, actions[t - 1]
        sums = sums + action
        frame = history[:, -1]
        np.testing.assert_array_equal(frame[:, 0, 0, 0], start[:, 0, 0])
        np.testing.assert_array_equal(frame[:, 0, 0, 1], start[:, 3, 1] + played)
        expected = np.stack([0 * sums + played, sums, start[:, 0, 1] + played - 1], axis=-1)
        np.testing.assert_array_equal(frame[:, 0, 1], expected)
        logits = np.stack([0 * sums, action, 2 * (sums - 2.5)], axis=-1)
        np.testing.assert_array_equal(steps.reward[t], logits.argmax(-1) - 1.0)
        at_end = played == LENGTH
        assert step_type[0] == (ts.StepType.LAST if at_end else ts.StepType.MID)
    assert (steps.discount == 1).all()  # Truncated, never over.


def test_rollouts_by_hand(simulated, rule_start_sums):
    steps, actions = play(simulated(), 3 * LENGTH)
    assert_follows_the_rule(steps, actions, rule_start_sums)
    assert (steps.step_type[:, 0] == ts.StepType.LAST).sum() == 2


def test_the_expected_reward(simulated):
    environment = simulated(reward="expected")
    environment.reset()
    actions = np.array([0, 1, 1], np.int32)
    time_step = environment.step(actions)
    sums = time_step.observation.numpy()[:, -1, 0, 1, 1].astype(np.float64)
    odds = np.exp(np.stack([0 * sums, actions, 2 * (sums - 2.5)], axis=-1))
    odds /= odds.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(time_step.reward, odds[:, 2] - odds[:, 0], rtol=1e-5)


def test_every_rollout_and_every_step_draws_anew_and_the_seed_decides(simulated):
    one, same, other = (play(simulated(seed=seed), 4 * LENGTH)[0] for seed in (1, 1, 2))
    tf.nest.map_structure(np.testing.assert_array_equal, one, same)
    starts = one.observation[one.is_first()[:, 0]][:, 1:, 0, 0, 0, :2]
    assert len(np.unique(starts.reshape(-1, 2), axis=0)) > 4
    draws = one.observation[one.step_type[:, 0] != 0][:, :, -1, 0, 0, 2]
    assert len(np.unique(draws)) > 0.7 * draws.size
    assert not np.array_equal(one.observation, other.observation)


def test_a_restored_environment_continues_in_the_middle_of_a_rollout(simulated, tmp_path):
    environment = simulated()
    play(environment, LENGTH + 3)
    path = tf.train.Checkpoint(environment=environment).write(str(tmp_path / "checkpoint"))
    size = sum(file.stat().st_size for file in tmp_path.glob("checkpoint*"))
    expected, _ = play(environment, 2 * LENGTH)
    other = simulated()
    tf.train.Checkpoint(environment=other).read(path).assert_consumed()
    tf.nest.map_structure(np.testing.assert_array_equal, play(other, 2 * LENGTH)[0], expected)
    history = expected.observation[0].nbytes
    assert size < 2 * history + 10_000  # Neither the model nor the stored frames.


@pytest.mark.parametrize("where", ["around", "inside"])
def test_compiled_with_xla_it_follows_the_same_rule(simulated, rule_start_sums, where):
    environment = simulated(jit_compile=where == "inside")
    traces = 0

    @tf.function(jit_compile=where == "around")
    def rollout(actions):
        nonlocal traces
        traces += 1
        first = environment.current_time_step()
        tables = [
            tf.TensorArray(x.dtype, 2 * LENGTH + 1, element_shape=x.shape).write(0, x)
            for x in first
        ]
        for t in tf.range(2 * LENGTH):
            step = environment.step(actions[t])
            tables = [table.write(t + 1, x) for table, x in zip(tables, step, strict=True)]
        return ts.TimeStep(*[table.stack() for table in tables])

    for seed in range(2):
        environment.reset()
        actions = np.random.default_rng(seed).integers(2, size=(2 * LENGTH, BATCH))
        steps = rollout(tf.constant(actions, tf.int32))
        steps = tf.nest.map_structure(lambda x: x.numpy(), steps)
        assert_follows_the_rule(steps, actions, rule_start_sums)
    assert traces == 1


@pytest.mark.parametrize("model_class", [DeterministicModel, StochasticDiscreteModel])
def test_real_models_play_with_their_state(model_class, rule_starts):
    model = model_class((12, 16, 3), 2, head=SoftmaxHead(3), hidden_size=4, compress_steps=2)
    environment = SimulatedEnvironment(model, rule_starts, 2, 4)
    steps, _ = play(environment, 6)
    assert steps.observation.shape == (7, 2, 4, 12, 16, 3)
    assert steps.step_type[:, 0].tolist() == [0, 1, 1, 1, 2, 0, 1]
    assert np.abs(np.diff(steps.observation[1:5, :, -1].astype(int), axis=0)).any()


@pytest.mark.parametrize("jit_compile", [False, True])
def test_rollouts_in_parts_are_the_same(rule_starts, jit_compile):
    """Draws included: ages count from rewards that are drawn, latents are predicted bit by bit."""
    ages = []
    for parts in (1, BATCH):
        environment, counted = _told_ages(rule_starts, jit_compile=jit_compile, parts=parts)
        play(environment, LENGTH - 1)
        ages.append(counted.read_value().numpy())
    np.testing.assert_array_equal(*ages)
    model = StochasticDiscreteModel(
        (12, 16, 3), 2, head=SoftmaxHead(3), hidden_size=4, compress_steps=2
    )
    settings = {"batch_size": 4, "rollout_length": 4, "jit_compile": jit_compile}
    steps = [
        play(SimulatedEnvironment(model, rule_starts, parts=parts, **settings), 6)[0]
        for parts in (1, 2)
    ]
    tf.nest.map_structure(np.testing.assert_array_equal, *steps)


def _told_ages(starts, **settings):
    """An environment of a model that is told ages, and which variable has them."""
    model = PatchModel(
        (12, 16, 3), 2, SoftmaxHead(3), hidden_size=4, past_actions=True, reward_ages=9
    )
    environment = SimulatedEnvironment(model, starts, BATCH, LENGTH, reward="expected", **settings)
    return environment, environment._state[-1]


@pytest.mark.parametrize("jit_compile", [False, True])
def test_rollouts_begin_with_the_ages_of_their_starts(rule_starts, jit_compile):
    environment, ages = _told_ages(rule_starts, jit_compile=jit_compile)
    seen = set()
    for _ in range(12):
        newest = environment.reset().observation.numpy()[:, -1, 0, 0, 1].astype(int)
        for number, age in zip(newest, ages.read_value().numpy(), strict=True):
            # The store's rewards come with every seventh frame.
            assert age == number % 7 if number >= 7 else age > 1000
            seen.add(age)
        before = ages.read_value().numpy()
        environment.step(tf.zeros([BATCH], tf.int32))
        after = ages.read_value().numpy()
        assert ((after == before + 1) | (after == 0)).all()
    assert len(seen) > 5


def test_a_restored_environment_goes_on_counting(rule_starts, tmp_path):
    environment, ages = _told_ages(rule_starts)
    play(environment, LENGTH + 3)
    path = tf.train.Checkpoint(environment=environment).write(str(tmp_path / "checkpoint"))
    saved = ages.read_value().numpy()
    expected, _ = play(environment, LENGTH)
    for disturbed in (False, True):
        other, restored = _told_ages(rule_starts)
        other._borrowed.model.set_weights(environment._borrowed.model.get_weights())
        tf.train.Checkpoint(environment=other).read(path).assert_consumed()
        np.testing.assert_array_equal(restored.read_value(), saved)
        if disturbed:
            restored.assign((saved + 3) % 8)
        rewards = play(other, LENGTH)[0].reward
        assert np.array_equal(rewards, expected.reward) == (not disturbed)


def test_as_tf_agents_own_batched_environment_it_says_what_it_has(simulated):
    ours = simulated()
    theirs = random_tf_environment.RandomTFEnvironment(
        ours.time_step_spec(), ours.action_spec(), BATCH
    )
    for mine, other in zip(ours.reset(), theirs.reset(), strict=True):
        assert mine.shape == other.shape
        assert mine.dtype == other.dtype


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, not 0"),
        ({"rollout_length": 2.5}, "rollout_length must be a whole number"),
        ({"reward": "sum"}, "must be one of likeliest, expected, not 'sum'"),
        ({"parts": 0}, "parts must be a whole number of at least 1, not 0"),
        ({"parts": 2}, "parts is 2, but a batch of 3 cannot be shared equally"),
    ],
)
def test_settings_are_checked(simulated, settings, message):
    with pytest.raises(ValueError, match=message):
        simulated(**settings)


def test_gin_binds_settings_but_nothing_borrowed(rule_model, rule_starts):
    with gin.unlock_config():
        gin.parse_config("SimulatedEnvironment.rollout_length = 5")
    try:
        assert SimulatedEnvironment(rule_model, rule_starts, 2).rollout_length == 5
        with pytest.raises(ValueError, match="denylisted"):
            gin.bind_parameter("SimulatedEnvironment.model", None)
    finally:
        gin.clear_config()
