"""Playing with a policy network, outside of training."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from simple_tf.agents.draws import fold_in, sample_actions
from simple_tf.agents.policy_network import NO_ITERATION
from simple_tf.seeding import derive_seed_pair


class PolicyPlayer:
    """Chooses actions for any number of games, in one compiled call.

    Draws depend on the seed and on how many calls came before, so that the same seed plays the
    same games again.

    Args:
        network: maps observations and an iteration to logits and values, see `PolicyNetwork`.
        temperature: 1: as the policy was trained; 0: always the likeliest action.
        seed: of the draws.
        iteration: what the network is told.
    """

    def __init__(
        self,
        network: tf.keras.Model,
        temperature: float = 1.0,
        seed: int = 0,
        iteration: int = NO_ITERATION,
    ) -> None:
        if temperature < 0:
            raise ValueError(f"A temperature is 0 or more, not {temperature}.")
        self.calls = 0
        self._network = network
        self._temperature = temperature
        self._seed = derive_seed_pair(seed, "policy player")
        self._iteration = iteration
        self._compiled: tf.types.experimental.GenericFunction | None = None

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Maps observations, uint8 [N, K, H, W, C], to actions, int32 [N]."""
        if self._compiled is None:
            self._compiled = self._compile(observations.shape[1:])
        actions = self._compiled(observations, self.calls)
        self.calls += 1
        return actions.numpy()

    def _compile(self, shape: tuple[int, ...]) -> tf.types.experimental.GenericFunction:
        # Batches of any size share one trace.
        signature = [tf.TensorSpec((None, *shape), tf.uint8), tf.TensorSpec([], tf.int32)]
        return tf.function(self._choose, input_signature=signature, autograph=False)

    def _choose(self, observations: tf.Tensor, call: tf.Tensor) -> tf.Tensor:
        logits, _ = self._network(observations, self._iteration)
        return sample_actions(logits, self._temperature, fold_in(tf.constant(self._seed), call))
