"""A game whose frames are simple to predict, and a model that predicts what it is told to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.evaluation.comparison import Comparison
from simple_tf.models.interface import Prediction, WorldModel

SHAPE = (6, 5, 3)
PIXELS = SHAPE[0] * SHAPE[1]
NUM_ACTIONS = 3
STACK = 4


def counting_frame(number: int) -> np.ndarray:
    """Frame `number` of every episode: black, with the number in its first pixel."""
    frame = np.zeros(SHAPE, np.uint8)
    frame[0, 0] = number
    return frame


@pytest.fixture
def counting_store(tmp_path: Path) -> Callable[..., EpisodeStore]:
    """A game that counts its frames. Action 1 earns 1, action 2 costs 1, action 0 nothing."""

    def make(num_steps: int = 120, episodes: int = 2, name: str = "store") -> EpisodeStore:
        about = StoreDescription("counting", SHAPE, ("NOOP", "EARN", "PAY"))
        store = EpisodeStore.create_or_open(tmp_path / name, about)
        for index in range(episodes):
            generator = np.random.default_rng(index)
            recorder = EpisodeRecorder(0, index, seed=0, first_frame=counting_frame(0))
            for step in range(num_steps):
                action = int(generator.integers(NUM_ACTIONS))
                reward = (0, 1, -1)[action]
                recorder.add(action, float(reward), reward, counting_frame(step + 1))
            store.append(recorder.finish(terminated=True, truncated=False))
        return store

    return make


class Pixels:
    """A head whose outputs are the pixel values themselves."""

    num_outputs = SHAPE[2]

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.round(outputs), tf.uint8)


class CountingModel(WorldModel):
    """Predicts the counting game, with chosen errors.

    Its state counts the steps, so that it also proves that the state is carried.

    Args:
        wrong_after: from this step on, its last pixel is white.
        pays_until: until this step its rewards are right, then 0.
        noisy: whether its second pixel is drawn from the seed.
    """

    def __init__(
        self, wrong_after: int = 1000, pays_until: int = 1000, noisy: bool = False
    ) -> None:
        super().__init__(SHAPE, NUM_ACTIONS, STACK, 3, Pixels(), "counting")
        self.wrong_after, self.pays_until, self.noisy = wrong_after, pays_until, noisy

    def initial_state(self, frames, actions, seed=(0, 0), ages=None):
        self.check_history(frames)
        assert actions.shape[1] == STACK - 1
        return tf.zeros([frames.shape[0]], tf.int32)

    def step(self, state, frames, action, seed):
        step = state + 1
        newest = tf.cast(frames[:, -1, 0, 0], tf.float32) + 1.0  # [B, C]
        wrong = 255.0 * tf.cast(step >= self.wrong_after, tf.float32)[:, None]
        black = tf.zeros([frames.shape[0], PIXELS - 3, 3])
        noise = 255.0 * tf.random.stateless_uniform([frames.shape[0], 1, 3], seed) * self.noisy
        pixels = [newest[:, None], noise, black, tf.repeat(wrong[:, None], 3, axis=-1)]
        outputs = tf.reshape(tf.concat(pixels, axis=1), [-1, *SHAPE])
        classes = tf.where(step <= self.pays_until, tf.gather([1, 2, 0], action), 1)
        return Prediction(step, outputs, tf.one_hot(classes, 3))

    def window_losses(self, *args, **kwargs):
        raise NotImplementedError


@pytest.fixture
def comparison() -> Comparison:
    """Two rollouts of three steps of 2 x 2 gray frames, small enough to count by hand."""
    start = np.zeros((2, 2, 2, 1), np.uint8)
    real = np.zeros((2, 3, 2, 2, 1), np.uint8)
    real[0, 1:, 0, 0] = 9  # One pixel of rollout 0 changes at step 2 ...
    real[:, 2, 1, 1] = 7  # ... and one of both at step 3.
    simulated = real.copy()
    simulated[0, 2, 1, 1] = 0  # Misses the change.
    simulated[1, 1, 0, 1] = 1  # Invents one.
    return Comparison(
        start=start,
        simulated=simulated,
        real=real,
        simulated_rewards=np.array([[1, 0, -1], [0, 0, 0]], np.int32),
        real_rewards=np.array([[0, 1, -1], [0, -1, 1]], np.int32),
    )
