"""A model that plays a known game by rule, so that rollouts can be computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.starts import StartSampler
from simple_tf.data.store import EpisodeStore
from simple_tf.models.interface import Prediction, WorldModel

SHAPE = (12, 16, 3)
NUM_ACTIONS = 2
STACK = 4
LENGTHS = (40, 30)  # Steps of the episodes that rollouts start from.
REWARD_EVERY = 7  # Frames of these episodes.


class _Pixels:
    """A head whose outputs are the pixel values themselves."""

    num_outputs = SHAPE[2]

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.round(outputs), tf.uint8)


class RuleModel(WorldModel):
    """Pixel (0, 0) of a frame is (episode, number of the frame, a draw).

    The next frame counts on. Pixel (0, 1) is (steps in this rollout, the sum of the actions since
    before its start, oldest frame seen): the first two are the model's state. The reward logits are
    (0, action, 2 * state).
    """

    def __init__(self) -> None:
        super().__init__(SHAPE, NUM_ACTIONS, STACK, 3, _Pixels(), "rule")

    def initial_state(self, frames, actions, seed=(0, 0), ages=None):
        self.check_history(frames)
        steps = tf.zeros([frames.shape[0]], tf.int32)
        return {"steps": steps, "sums": tf.cast(tf.reduce_sum(actions, axis=1), tf.float32)}

    def step(self, state, frames, action, seed):
        steps = state["steps"] + 1
        sums = state["sums"] + tf.cast(action, tf.float32)
        draws = tf.random.stateless_uniform([frames.shape[0]], seed, 0.0, 255.0)
        newest = tf.cast(frames[:, -1, 0, 0], tf.float32)
        first = tf.stack([newest[:, 0], newest[:, 1] + 1.0, draws], axis=-1)
        oldest = tf.cast(frames[:, 0, 0, 0, 1], tf.float32)
        second = tf.stack([tf.cast(steps, tf.float32), sums, oldest], axis=-1)
        rest = tf.zeros([frames.shape[0], SHAPE[0] * SHAPE[1] - 2, 3])
        outputs = tf.concat([first[:, None], second[:, None], rest], axis=1)
        action = tf.cast(action, tf.float32)
        logits = tf.stack([tf.zeros_like(sums), action, 2.0 * (sums - 2.5)], axis=-1)
        return Prediction({"steps": steps, "sums": sums}, tf.reshape(outputs, [-1, *SHAPE]), logits)

    def window_losses(self, *args, **kwargs):
        raise NotImplementedError


def _numbered_frame(episode: int, number: int) -> np.ndarray:
    frame = np.zeros(SHAPE, np.uint8)
    frame[0, 0] = episode, number, 0
    return frame


@pytest.fixture
def rule_model() -> WorldModel:
    return RuleModel()


@pytest.fixture
def rule_starts(tmp_path: Path) -> StartSampler:
    store = EpisodeStore.create_or_open(
        tmp_path / "store", StoreDescription("rule", SHAPE, ("NOOP", "PRESS"))
    )
    for index, length in enumerate(LENGTHS):
        generator = np.random.default_rng(index)
        recorder = EpisodeRecorder(0, index, seed=0, first_frame=_numbered_frame(index, 0))
        for number in range(1, length + 1):
            reward = int(number % REWARD_EVERY == 0)
            action = int(generator.integers(2))
            recorder.add(action, float(reward), reward, _numbered_frame(index, number))
        store.append(recorder.finish(terminated=True, truncated=False))
    starts = StartSampler(SHAPE, STACK)
    starts.load(store)
    return starts


@pytest.fixture
def rule_start_sums() -> Callable[[int, int], int]:
    """Sum of the recorded actions between the K frames of a start."""

    def sums(episode: int, first: int) -> int:
        actions = np.random.default_rng(episode).integers(2, size=LENGTHS[episode])
        return int(actions[first : first + STACK - 1].sum())

    return sums
