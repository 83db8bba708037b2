"""What a policy would do, and what it expects, where somebody is playing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from simple_tf.agents.policy_network import NO_ITERATION


class Opinion(NamedTuple):
    """What a policy thinks of an observation.

    Attributes:
        logits: of the actions, float32 [A].
        value: the rewards that it expects to come, discounted.
    """

    logits: np.ndarray
    value: float

    def probabilities(self, temperature: float = 1.0) -> np.ndarray:
        """Of the actions, float64 [A]; at temperature 0 the likeliest one has them all."""
        if temperature == 0:
            return np.eye(len(self.logits))[int(np.argmax(self.logits))]
        scaled = self.logits.astype(np.float64) / temperature
        weights = np.exp(scaled - scaled.max())
        return weights / weights.sum()


class Critic:
    """Asks a policy network about single observations, in one compiled call.

    Args:
        network: maps observations and an iteration to logits and values, see `PolicyNetwork`.
    """

    def __init__(self, network: tf.keras.Model) -> None:
        self._network = network
        self._judge = tf.function(self._judged, autograph=False)

    def __call__(self, observation: np.ndarray) -> Opinion:
        """Maps an observation, uint8 [K, H, W, C]."""
        logits, values = self._judge(tf.constant(observation[None]))
        return Opinion(logits[0].numpy(), float(values[0]))

    def _judged(self, observations: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        logits, values = self._network(observations, NO_ITERATION)
        return tf.cast(logits, tf.float32), tf.cast(values, tf.float32)
