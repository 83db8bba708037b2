"""The policy network of OpenAI baselines' PPO for Atari."""

from __future__ import annotations

import math

import gin
import tensorflow as tf

from simple_tf.agents.encoder import NATURE, Convolution, Encoder, MakeInitializer, dense
from simple_tf.agents.policy_network import NO_ITERATION


@gin.configurable(denylist=["observation_shape", "num_actions", "seed"])
class NatureNetwork(tf.keras.Model):
    """Action logits and a value; has the arguments and the call of `PolicyNetwork`.

    Args:
        observation_shape: (K, height, width, channels).
        num_actions: number of actions.
        convolutions: filters, kernel and stride of each.
        hidden_size: units of the hidden layer.
        seed: of the initial weights.
    """

    def __init__(
        self,
        observation_shape: tuple[int, int, int, int],
        num_actions: int,
        convolutions: tuple[Convolution, ...] = NATURE,
        hidden_size: int = 512,
        seed: int = 0,
    ) -> None:
        super().__init__(name="nature_policy")
        self.observation_shape = tuple(observation_shape)
        self.num_actions = num_actions
        hidden = _orthogonal(math.sqrt(2.0))
        self.encoder = Encoder(observation_shape, convolutions, hidden, seed)
        self.hidden = dense("hidden", self.encoder.size, hidden_size, hidden, seed, "relu")
        # Actions are almost equally likely at first.
        self.logits_layer = dense("logits", hidden_size, num_actions, _orthogonal(0.01), seed)
        self.value_layer = dense("value", hidden_size, 1, _orthogonal(1.0), seed)
        self.built = True

    def call(
        self, observations: tf.Tensor, iteration: int | tf.Tensor = NO_ITERATION
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Maps observations, uint8 [B, K, H, W, C], to logits [B, A] and values [B]."""
        del iteration
        hidden = self.hidden(self.encoder(observations))
        return self.logits_layer(hidden), self.value_layer(hidden)[:, 0]


def _orthogonal(gain: float) -> MakeInitializer:
    return lambda seed: tf.keras.initializers.Orthogonal(gain, seed=seed)
