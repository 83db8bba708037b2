"""How long a world model stays true to the game: the original's reward accuracy, and curves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import gin
import tensorflow as tf

from simple_tf.data.reward_ages import ages_along
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowDataset
from simple_tf.evaluation.comparison import Comparison, ScoreCounter, Scores
from simple_tf.evaluation.rollout import LOWEST_REWARD, RolloutSimulator
from simple_tf.models.interface import WorldModel
from simple_tf.seeding import derive_seed


@dataclasses.dataclass(frozen=True)
class WorldModelEvaluation:
    """What `WorldModelEvaluator.evaluate` returns.

    Attributes:
        scores: over all rollouts.
        examples: the first batch, for pictures.
    """

    scores: Scores
    examples: Comparison


@gin.configurable(denylist=["model", "seed"])
class WorldModelEvaluator:
    """Rolls a model out beside held-out play. Build it once: it compiles once.

    The defaults are the original's: 8 batches of 16 windows from the dev part of the latest
    iteration, 50 steps. Windows and latents depend on the seed and the episodes alone.

    Args:
        model: the model; its current weights are used.
        horizon: T, the steps of a rollout.
        batch_size: rollouts side by side.
        num_batches: batches.
        jit_compile: whether to compile the rollout with XLA.
        seed: of windows and latents.
    """

    def __init__(
        self,
        model: WorldModel,
        horizon: int = 50,
        batch_size: int = 16,
        num_batches: int = 8,
        jit_compile: bool = False,
        seed: int = 0,
    ) -> None:
        if num_batches < 1:
            raise ValueError(f"An evaluation needs at least 1 batch, not {num_batches}.")
        self._model = model
        self.horizon = horizon
        self.batch_size = batch_size
        self.num_batches = num_batches
        self._seed = seed
        self._simulate = RolloutSimulator(model, horizon, jit_compile)

    def evaluate(self, store: EpisodeStore, iteration: int | None = None) -> WorldModelEvaluation:
        """Evaluates on one iteration of a store.

        Args:
            store: the episodes.
            iteration: whose dev part; the latest by default.

        Raises:
            ValueError: The store is of another game or frame size than the model, or its dev part
                has no window of K + horizon frames.
        """
        self._check_fits(store)
        counter, examples = ScoreCounter(), None
        for comparison in self._comparisons(store, iteration):
            counter.add(comparison)
            examples = examples or comparison
        assert examples is not None  # There is at least one batch.
        return WorldModelEvaluation(counter.scores(), examples)

    def _comparisons(self, store: EpisodeStore, iteration: int | None) -> Iterator[Comparison]:
        windows = WindowDataset(
            store,
            split="dev",
            num_input_frames=self._model.num_input_frames,
            num_target_frames=self.horizon,
            batch_size=self.batch_size,
            seed=self._seed,
            iterations=[store.iterations[-1] if iteration is None else iteration],
        )
        for number, window in enumerate(windows.batches().take(self.num_batches)):
            yield self._compare(window, self._rollout_seed(number))

    def _compare(self, window: dict[str, tf.Tensor], seed: tf.Tensor) -> Comparison:
        known = self._model.num_input_frames
        ages = ages_along(window["ages"], window["reward_classes"][:, : known - 1])[:, -1]
        frames, rewards = self._simulate(window["frames"][:, :known], window["actions"], seed, ages)
        real = window["frames"].numpy()
        return Comparison(
            start=real[:, known - 1],
            simulated=frames,
            real=real[:, known:],
            simulated_rewards=rewards,
            # Entry t of a window's rewards arrives with frame t + 1.
            real_rewards=window["reward_classes"].numpy()[:, known - 1 :] + LOWEST_REWARD,
        )

    def _rollout_seed(self, batch_number: int) -> tf.Tensor:
        low_and_high = divmod(derive_seed(self._seed, "world_model_rollouts", batch_number), 2**31)
        return tf.constant([word % 2**31 for word in low_and_high], tf.int32)

    def _check_fits(self, store: EpisodeStore) -> None:
        mine = (self._model.frame_shape, self._model.num_actions)
        theirs = (store.description.frame_shape, store.description.num_actions)
        if mine != theirs:
            raise ValueError(
                f"The model was built for frames {mine[0]} and {mine[1]} actions, but "
                f"{store.directory} ({store.description.game}) has {theirs[0]} and {theirs[1]}; "
                "evaluate it on the game it was trained on."
            )
        if not store.iterations:
            raise ValueError(f"{store.directory} has no episode to evaluate on; play first.")
