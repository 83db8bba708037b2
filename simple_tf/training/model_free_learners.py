"""What can learn without a model: one face for all, and PPO behind it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import gin
import tensorflow as tf

from simple_tf.agents.interleaved import collect_interleaved
from simple_tf.agents.policy_network import PolicyNetwork
from simple_tf.agents.ppo import PPOTrainer
from simple_tf.agents.rainbow_network import RainbowNetwork
from simple_tf.envs.game import GameSource
from simple_tf.envs.real_environment import RealEnvironment
from simple_tf.envs.resumable_batch import FinishedEpisodes
from simple_tf.replicas import rows_per_replica
from simple_tf.training.networks import build_policy


class ModelFreeLearner(Protocol):
    """Plays the real game and learns from it.

    Attributes:
        network: the policy, with the call of `PolicyNetwork`.
        stack: K, how many frames it sees.
        update_size: most steps of the game that one update takes.
        unit: what updates are called.
        strategies: those of `devices.STRATEGIES` that it can compute with.
    """

    network: tf.keras.Model
    stack: int
    update_size: int
    unit: str
    strategies: tuple[str, ...]

    def train(self, num_updates: int) -> Mapping[str, float]:
        """Plays and learns; returns means over the updates."""

    def take_finished(self) -> FinishedEpisodes:
        """What was played since the last call."""

    def updates_done(self) -> int:
        """Updates so far, over all starts of the run."""

    def checkpoint(self) -> tf.train.Checkpoint:
        """All that a resumed run needs."""

    def close(self) -> None:
        """Ends the games."""


@gin.configurable(denylist=["source", "seed", "folder"])
class PPOInRealGame:
    """See `ModelFreeLearner`: SimPLe's own PPO, given the real game.

    A network that is to know the game's usual image (`PolicyNetwork.inputs`) learns nothing in
    the first update: it looks. Those steps count like all others.

    Made in the scope of a strategy, its replicas share the learning; the games are played in this
    process, and the first device chooses all actions.

    Args:
        source: the game.
        seed: decides every random draw.
        folder: for what fits into no checkpoint; there is nothing.
    """

    unit = "updates"
    strategies = ("cpu", "gpu", "multi_gpu")

    def __init__(self, source: GameSource, seed: int, folder: Path) -> None:
        del folder
        self.environment = RealEnvironment(source, seed)
        rows_per_replica(self.environment.batch_size, "RealEnvironment.num_slots")
        shape = self.environment.observation_shape
        self.network = build_policy(shape, self.environment.num_actions, seed)
        if isinstance(self.network, RainbowNetwork):
            raise ValueError(
                "PPO cannot learn a RainbowNetwork: a policy of Rainbow (--init_from) can learn on "
                "with Rainbow only."
            )
        self.stack = shape[0]
        self._trainer = PPOTrainer(
            self.environment,
            self.network,
            collect_experience=collect_interleaved,
            split_environment=False,
            seed=seed,
        )
        self.update_size = self.environment.batch_size * self._trainer.collect_steps

    def train(self, num_updates: int) -> Mapping[str, float]:
        """See `ModelFreeLearner`."""
        if isinstance(self.network, PolicyNetwork) and self.network.has_to_see_the_game:
            frames = self._trainer.look()[:, :, -1].numpy()
            self.network.adapt(frames.reshape(-1, *frames.shape[2:]))
            num_updates -= 1
        metrics = self._trainer.train(num_updates) if num_updates else {}
        return {name: float(value) for name, value in metrics.items()}

    def take_finished(self) -> FinishedEpisodes:
        """See `ModelFreeLearner`."""
        return self.environment.take_finished()

    def updates_done(self) -> int:
        """See `ModelFreeLearner`."""
        return int(self._trainer.updates_done.numpy())

    def checkpoint(self) -> tf.train.Checkpoint:
        """See `ModelFreeLearner`."""
        return tf.train.Checkpoint(policy=self._trainer)

    def close(self) -> None:
        """See `ModelFreeLearner`."""
        self.environment.close()
