"""Rainbow as a model-free learner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gin
import tensorflow as tf

from simple_tf.agents.rainbow import RainbowTrainer
from simple_tf.agents.rainbow_network import RainbowNetwork
from simple_tf.agents.replay import Replay, ReplaySpec
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.game import GameSource
from simple_tf.envs.real_environment import GameGroup
from simple_tf.envs.resumable_batch import FinishedEpisodes, ResumableBatch
from simple_tf.seeding import derive_seed
from simple_tf.training.devices import DeviceError
from simple_tf.training.networks import build_policy


@gin.configurable(denylist=["source", "seed", "folder"])
class RainbowInRealGame:
    """See `ModelFreeLearner`: one real game, its steps in replay, learning in between.

    Args:
        source: the game.
        seed: decides every draw but those from replay.
        folder: for what the replay saves.
        stack: K.
        max_steps: episodes are truncated after so many agent steps; None: never.
        num_workers: 1 plays in another process, while this one learns; 0 in this one.
        num_steps: n, see `ReplaySpec`.
        capacity: see `ReplaySpec`.
        batch_size: see `ReplaySpec`.
        prioritized: see `ReplaySpec`.
    """

    unit = "interactions"
    update_size = 1
    strategies = ("cpu", "gpu")

    def __init__(
        self,
        source: GameSource,
        seed: int,
        folder: Path,
        stack: int = 4,
        max_steps: int | None = None,
        num_workers: int = 1,
        num_steps: int = gin.REQUIRED,
        capacity: int = 1_000_000,
        batch_size: int = 32,
        prioritized: bool = True,
    ) -> None:
        if tf.distribute.get_strategy().num_replicas_in_sync > 1:
            raise DeviceError("Rainbow learns from small batches on one device: --replicas=1.")
        play_seed = derive_seed(seed, "rainbow")
        self._group = GameGroup(
            ResumableBatch(
                lambda first: GameBatch(source, 1, play_seed, stack, max_steps, num_workers, first)
            )
        )
        batch = self._group.games.batch
        self.stack = stack
        self.network, target = (_network(batch, seed) for _ in range(2))
        spec = ReplaySpec(batch.frame_shape, stack, num_steps, capacity, batch_size, prioritized)
        self._replay = Replay(spec, folder)
        self._trainer = RainbowTrainer(self._group, self.network, target, self._replay, seed=seed)

    def train(self, num_updates: int) -> Mapping[str, float]:
        """See `ModelFreeLearner`."""
        return self._trainer.train(num_updates)

    def take_finished(self) -> FinishedEpisodes:
        """See `ModelFreeLearner`."""
        return self._group.games.take_finished()

    def updates_done(self) -> int:
        """See `ModelFreeLearner`."""
        return int(self._trainer.interactions.numpy())

    def checkpoint(self) -> tf.train.Checkpoint:
        """See `ModelFreeLearner`."""
        return tf.train.Checkpoint(policy=self._trainer)

    def close(self) -> None:
        """See `ModelFreeLearner`."""
        self._replay.close()
        self._group.games.close()


def _network(batch: GameBatch, seed: int) -> RainbowNetwork:
    network = build_policy(batch.observation_shape, batch.num_actions, seed)
    if not isinstance(network, RainbowNetwork):
        raise ValueError(
            f"Rainbow needs a RainbowNetwork, not {type(network).__name__}. A policy of SimPLe or "
            "PPO (--init_from) can learn on with PPO only."
        )
    return network
