"""The recorded policy of the original, and games small enough to know the best play."""

from __future__ import annotations

import pathlib
import zlib

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.environments import tf_environment
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from simple_tf.agents.policy_network import PolicyNetwork

GOLDEN = pathlib.Path(__file__).parent / "golden" / "policy.npz"
SCOPE = "feed_forward_cnn_small_categorical_policy/body/feed_forward_cnn_small"
ORIGINAL_NAMES = {
    "conv_0": "conv2d",
    "conv_1": "conv2d_1",
    "hidden": "dense",
    "logits": "dense2",
    "value": "dense_1",
}


def original_name(variable):
    """Returns the name of a variable in the original."""
    layer, kind = variable.name.removesuffix(":0").split("/")
    return f"{SCOPE}/" + (
        "embedding/kernel" if kind == "table" else f"{ORIGINAL_NAMES[layer]}/{kind}"
    )


def weight_by_rule(name, shape):
    """Returns the recorded value of a variable from its name in the original."""
    rng = np.random.RandomState(zlib.crc32(name.encode("utf-8")) & 0xFFFFFFFF)
    value = rng.randn(*shape)
    scale = 1 / np.sqrt(np.prod(shape[:-1])) if len(shape) > 1 else 0.05
    return (scale * value).astype(np.float32)


@pytest.fixture(scope="session")
def recording():
    return np.load(GOLDEN)


@pytest.fixture(scope="session")
def recorded_names():
    """Returns a variable's name in the recording."""
    return original_name


@pytest.fixture(scope="module")
def recorded_policy():
    policy = PolicyNetwork((4, 105, 80, 3), 6)
    for variable in policy.trainable_variables:
        variable.assign(weight_by_rule(original_name(variable), tuple(variable.shape)))
    return policy


class SignalGame(tf_environment.TFEnvironment, tf.__internal__.tracking.AutoTrackable):
    """A batched game whose best play is known: press the button under the lit lamp.

    Each frame shows one of three lamps, drawn anew at each step. The right button earns 1, a wrong
    one costs 1. An episode takes `length` steps and is then truncated, or over with `over`;
    environment b is `stagger * b` steps ahead of the first, so that episodes may end one by one.
    """

    LAMPS, STACK, SIZE = 3, 2, 6

    def __init__(self, batch_size=8, length=10, over=False, stagger=0, seed=0):
        observation = tensor_spec.BoundedTensorSpec(
            (self.STACK, self.SIZE, self.SIZE, 1), tf.uint8, 0, 255, name="observation"
        )
        action = tensor_spec.BoundedTensorSpec((), tf.int32, 0, self.LAMPS - 1, name="action")
        super().__init__(ts.time_step_spec(observation), action, batch_size)
        self.length, self.over, self._seed = length, over, seed
        self._clock = tf.Variable(-1, dtype=tf.int32)  # Steps of the whole batch; -1: not started.
        self._offset = stagger * np.arange(batch_size)
        self._phase = tf.Variable(tf.zeros([batch_size], tf.int32))
        self._rewards = tf.Variable(tf.zeros([batch_size]))

    def lamps(self, clock):
        """The lit lamps, int32 [B]; drawn from the clock alone, so that none need be stored."""
        return tf.random.stateless_uniform(
            [self.batch_size], [self._seed, clock], 0, self.LAMPS, tf.int32
        )

    def _current_time_step(self):
        return tf.cond(self._clock >= 0, self._time_step, self._reset)

    def _reset(self):
        self._clock.assign(0)
        self._phase.assign(self._offset % self.length)
        self._rewards.assign(tf.zeros([self.batch_size]))
        return self._time_step()

    def _step(self, action):
        restarting = self._phase >= self.length
        right = tf.where(action == self.lamps(self._clock), 1.0, -1.0)
        self._rewards.assign(tf.where(restarting, 0.0, right))
        self._phase.assign(tf.where(restarting, 0, self._phase + 1))
        self._clock.assign_add(1)
        return self._time_step()

    def _time_step(self):
        last = self._phase >= self.length
        frame = tf.one_hot(2 * self.lamps(self._clock), self.SIZE, 255, 0, dtype=tf.uint8)
        frame = tf.tile(frame[:, None, None, :, None], [1, self.STACK, self.SIZE, 1, 1])
        return ts.TimeStep(
            step_type=tf.where(self._phase == 0, 0, tf.where(last, 2, 1)),
            reward=self._rewards.read_value(),
            discount=tf.where(last & self.over, 0.0, 1.0),
            observation=frame,
        )


@pytest.fixture
def signal_game():
    return SignalGame
