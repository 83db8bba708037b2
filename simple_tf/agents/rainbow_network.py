"""Rainbow's network: for every action, how likely each of some returns is."""

from __future__ import annotations

from typing import Any

import gin
import tensorflow as tf
from tf_agents.networks import network as network_lib

from simple_tf.agents.encoder import NATURE, Convolution, Encoder, dense
from simple_tf.agents.policy_network import NO_ITERATION


@gin.configurable(denylist=["observation_shape", "num_actions", "seed"])
class RainbowNetwork(tf.keras.Model):
    """A categorical distribution of the return for every action (Bellemare et al., 2017).

    As a policy, with the call of `PolicyNetwork`, it plays the best action and, with a small
    probability, any: at temperature 1 just so, at temperature 0 always the best.

    Args:
        observation_shape: (K, height, width, channels).
        num_actions: A.
        convolutions: filters, kernel and stride of each.
        hidden_size: units of the hidden layer.
        num_atoms: Z, how many returns are told apart.
        max_return: they lie from minus this to this.
        dueling: whether a common part for all actions is learned apart (Wang et al., 2016).
        evaluation_epsilon: probability of a random action when it plays as a policy.
        padding: of the convolutions, "valid" (none) or "same".
        seed: of the initial weights.
    """

    def __init__(
        self,
        observation_shape: tuple[int, int, int, int],
        num_actions: int,
        convolutions: tuple[Convolution, ...] = NATURE,
        hidden_size: int = 512,
        num_atoms: int = 51,
        max_return: float = 10.0,
        dueling: bool = False,
        evaluation_epsilon: float = 0.001,
        padding: str = "valid",
        seed: int = 0,
    ) -> None:
        super().__init__(name="rainbow")
        self.observation_shape = tuple(observation_shape)
        self.num_actions = num_actions
        self.num_atoms = num_atoms
        self.max_return = max_return
        self.evaluation_epsilon = evaluation_epsilon
        self.support = tf.linspace(-float(max_return), float(max_return), num_atoms)
        self.encoder = Encoder(observation_shape, convolutions, _initializer, seed, padding)
        streams = {"actions": num_actions, **({"common": 1} if dueling else {})}
        size = self.encoder.size
        self.hidden = {
            name: dense(f"{name}_hidden", size, hidden_size, _initializer, seed, "relu")
            for name in streams
        }
        self.heads = {
            name: dense(name, hidden_size, outputs * num_atoms, _initializer, seed)
            for name, outputs in streams.items()
        }
        self.built = True

    def call(
        self, observations: tf.Tensor, iteration: int | tf.Tensor = NO_ITERATION
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Maps observations to log-probabilities of actions [B, A] and values [B]."""
        del iteration
        values = self.action_values(self.return_logits(observations))
        best = tf.one_hot(tf.argmax(values, axis=-1), self.num_actions)
        epsilon = self.evaluation_epsilon
        probabilities = (1.0 - epsilon) * best + epsilon / self.num_actions
        return tf.math.log(probabilities), tf.reduce_max(values, axis=-1)

    def return_logits(self, observations: tf.Tensor) -> tf.Tensor:
        """Maps observations, uint8 [B, K, H, W, C], to logits of returns [B, A, Z]."""
        features = self.encoder(observations)
        outputs = {
            name: tf.reshape(
                self.heads[name](self.hidden[name](features)),
                [-1, self.num_actions if name == "actions" else 1, self.num_atoms],
            )
            for name in self.heads
        }
        logits = outputs["actions"]
        if "common" not in outputs:
            return logits
        return outputs["common"] + logits - tf.reduce_mean(logits, axis=1, keepdims=True)

    def action_values(self, logits: tf.Tensor) -> tf.Tensor:
        """Expected returns [B, A] from logits [B, A, Z]."""
        return tf.reduce_sum(self.support * tf.nn.softmax(logits), axis=-1)


class ReturnDistribution(network_lib.Network):
    """The network as TF-Agents' `CategoricalDqnAgent` wants it.

    Args:
        network: gives the logits.
        observation_spec: of the environment.
        name: of the network.
    """

    def __init__(self, network: RainbowNetwork, observation_spec: Any, name: str) -> None:
        super().__init__(input_tensor_spec=observation_spec, state_spec=(), name=name)
        self.network = network

    @property
    def num_atoms(self) -> int:
        """Z."""
        return self.network.num_atoms

    def call(
        self,
        observations: tf.Tensor,
        step_type: tf.Tensor | None = None,
        network_state: Any = (),
        training: bool = False,
    ) -> tuple[tf.Tensor, Any]:
        """See `tf_agents.networks.Network`."""
        return self.network.return_logits(observations), network_state


def _initializer(seed: int) -> tf.keras.initializers.Initializer:
    """Dopamine's."""
    return tf.keras.initializers.VarianceScaling(3.0**-0.5, "fan_in", "uniform", seed=seed)
