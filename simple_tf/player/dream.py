"""A learned game, one rollout of it, one action at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from simple_tf.models.interface import WorldModel
from simple_tf.seeding import derive_seed_pair


class Dream:
    """One rollout of a world model at a time, each as long as anybody likes.

    Args:
        model: the learned game.
        seed: of its draws, which also depend on how many rollouts and steps came before.
    """

    def __init__(self, model: WorldModel, seed: int = 0) -> None:
        self.model = model
        self._seed = seed
        self._rollouts = self._steps = 0
        self._state: Any = None
        self._history = np.zeros((model.num_input_frames, *model.frame_shape), np.uint8)
        self._begin = tf.function(model.initial_state, autograph=False)
        self._advance = tf.function(self._advanced, autograph=False)

    @property
    def observation(self) -> np.ndarray:
        """The last K frames, uint8 [K, H, W, C]."""
        return self._history

    def start(self, frames: np.ndarray, actions: np.ndarray, age: int) -> None:
        """Starts a rollout.

        Args:
            frames: real ones, uint8 [K, H, W, C], oldest first.
            actions: those between them, [K - 1].
            age: how many steps ago the last reward was at the newest frame.
        """
        self._rollouts += 1
        self._steps = 0
        self._history = frames
        self._state = self._begin(
            tf.constant(frames[None]),
            tf.constant(actions[None], tf.int32),
            self._draw(),
            tf.constant([age], tf.int32),
        )

    def step(self, action: int) -> np.ndarray:
        """Goes on with an action, 0 to the number of actions - 1.

        Returns:
            The probabilities of the reward classes, float32 [R].
        """
        self._steps += 1
        self._state, frame, probabilities = self._advance(
            self._state,
            tf.constant(self._history[None]),
            tf.constant([action], tf.int32),
            self._draw(),
        )
        self._history = np.concatenate([self._history[1:], frame.numpy()])
        return probabilities[0].numpy()

    def _draw(self) -> tf.Tensor:
        seed = derive_seed_pair(self._seed, "player: dream", self._rollouts, self._steps)
        return tf.constant(seed, tf.int32)

    def _advanced(
        self, state: Any, history: tf.Tensor, action: tf.Tensor, seed: tf.Tensor
    ) -> tuple[Any, tf.Tensor, tf.Tensor]:
        prediction = self.model.step(state, history, action, seed)
        logits = tf.cast(prediction.reward_logits, tf.float32)
        return prediction.state, self.model.decode(prediction.outputs), tf.nn.softmax(logits)
