"""Training steps of a world model."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from typing import Any

import gin
import tensorflow as tf

from simple_tf.compilation import compiled
from simple_tf.data.reward_ages import ages_or_long_ago
from simple_tf.loss_scaling import loss_scale_for, update_if_finite
from simple_tf.models.interface import WindowLosses, WorldModel
from simple_tf.models.noise import Noise, StatelessNoise, fold_in
from simple_tf.parts import check_parts, in_parts
from simple_tf.replicas import first, own_rows_of_process, this_replica, total

_PARTS = "WorldModelTrainer.parts"

Metrics = dict[str, tf.Tensor]
Windows = Mapping[str, tf.Tensor]
"""One batch, as `WindowDataset` yields it: `frames`, `actions`, `reward_classes`, `ages`."""


@gin.configurable(denylist=["model", "seed"])
class WorldModelTrainer(tf.Module):
    """Applies compiled gradient steps to a model and returns metrics.

    The global step is `optimizer.iterations`: schedules, draws and the learning rate depend on it
    and on the seed alone, so a restored trainer continues as if never stopped. Save the trainer
    (model and optimiser are inside) with `tf.train.Checkpoint(trainer=trainer)`.

    Args:
        model: what is trained.
        optimizer: any Keras optimiser.
        clip_norm: largest global gradient norm; 0: no clipping.
        loss_scale: for float16: gradients are computed from the loss times this factor; the
            factor halves when a gradient overflows (that step is skipped) and doubles every
            2,000 good steps. 0: no scaling; None: as the model's precision needs it.
        jit_compile: whether to compile the step with XLA; with several replicas, each replica's
            gradients.
        parts: into how many equal parts a replica cuts its windows, to compute their gradients at
            the same time, see `in_parts`; 1: not at all.
        seed: root of all draws.
    """

    def __init__(
        self,
        model: WorldModel,
        optimizer: tf.keras.optimizers.Optimizer = gin.REQUIRED,
        clip_norm: float = 1.0,
        loss_scale: float | None = None,
        jit_compile: bool = False,
        parts: int = 1,
        seed: int = 0,
    ) -> None:
        super().__init__(name="world_model_trainer")
        check_parts(parts, _PARTS)
        self.model = model
        self.optimizer = optimizer
        self.clip_norm = clip_norm
        self._parts = parts
        self._seed = seed
        self._variables = list(model.trainable_variables)
        self._loss_scale = loss_scale_for(model, loss_scale)
        with tf.init_scope():
            optimizer.build(self._variables)
        self._strategy = tf.distribute.get_strategy()
        # XLA compiles the step as a whole if it can, which is neither with an exchange between
        # replicas in it nor with parts that are to be computed at the same time. Then it gets what
        # comes before these, and without replicas what comes after.
        alone = self._strategy.num_replicas_in_sync == 1
        whole = alone and parts == 1
        self._summands = in_parts(self._compute, parts, _PARTS, jit_compile and not whole)
        finish = self._apply_sums
        self._finish = compiled(finish, jit_compile) if alone and not whole else finish
        self._compiled_step = compiled(self.apply, jit_compile and whole)

    @property
    def global_step(self) -> tf.Variable:
        """Number of steps applied so far."""
        return self.optimizer.iterations

    @property
    def strategy(self) -> tf.distribute.Strategy:
        """What the trainer was made under: its replicas share every batch."""
        return self._strategy

    def check_batch_size(self, rows: int) -> None:
        """Raises a ValueError if a replica cannot cut so many windows into its parts."""
        check_parts(self._parts, _PARTS, rows)

    def train_step(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        reward_classes: tf.Tensor,
        ages: tf.Tensor | None = None,
    ) -> Metrics:
        """Applies one step.

        Where several processes train together, each of them gives its own part of the global
        batch, see `WindowDataset.batches`.

        Args:
            frames: uint8 [B, K + n, H, W, C].
            actions: int32 [B, K + n - 1].
            reward_classes: int32 [B, K + n - 1].
            ages: int32 [B], of the last reward at the first frame; default: long ago.

        Returns:
            Scalars: `loss` and its parts `pixel_loss`, `reward_loss`, `latent_loss`,
            `context_loss`; `reward_accuracy` and `reward_accuracy_<class>` (NaN where a class
            does not occur in the batch); `gradient_norm` before clipping; `learning_rate`.
        """
        return self._compiled_step(frames, actions, reward_classes, ages)

    def train(self, batches: Iterator[Windows], num_steps: int) -> Metrics:
        """Applies several steps.

        Args:
            batches: yields what `train_step` takes, by name.
            num_steps: how many steps.

        Returns:
            The mean of the steps' metrics, ignoring NaN, and `examples_per_second`: windows
            over the whole time, waiting for the batches included.
        """
        begin = time.perf_counter()
        history, examples = [], 0
        for batch in itertools.islice(batches, num_steps):
            history.append(self.train_step(**batch))
            examples += int(batch["frames"].shape[0])
        if len(history) < num_steps:
            raise ValueError(f"Only {len(history)} of {num_steps} batches of windows came.")
        means = {key: _nan_mean([metrics[key] for metrics in history]) for key in history[0]}
        float(means["loss"])  # Steps may still be running; wait for the last.
        means["examples_per_second"] = tf.constant(examples / (time.perf_counter() - begin))
        return means

    def apply(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        reward_classes: tf.Tensor,
        ages: tf.Tensor | None = None,
        noise: Noise | None = None,
    ) -> Metrics:
        """Traceable body of `train_step`; `noise` replaces the seeded draws."""
        ages = ages_or_long_ago(ages, frames)
        gradients, sums = self._strategy.run(
            self._sum, args=(frames, actions, reward_classes, ages, noise)
        )
        return self._finish(gradients, sums)

    def noise(self) -> StatelessNoise:
        """Returns the draws of the current step."""
        return StatelessNoise(fold_in(tf.constant([self._seed, 0], tf.int32), self.global_step))

    def _sum(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        reward_classes: tf.Tensor,
        ages: tf.Tensor,
        noise: Noise | None,
    ) -> tuple[list[tf.Tensor], Metrics]:
        """What every replica returns: the global batch's gradients, and its metrics' sums."""
        batch = (frames, actions, reward_classes, ages)
        rows = tuple(own_rows_of_process(values) for values in batch)
        return total(_added(self._summands(rows, noise)))

    def _apply_sums(self, gradients: list[tf.Tensor], sums: Metrics) -> Metrics:
        """Updates the model, and returns the metrics; what is given is the replicas'."""
        gradients, metrics = self._strategy.run(self._clip, args=(gradients, sums))
        metrics = first(self._strategy, metrics)

        def update() -> None:
            self._strategy.run(self._update, args=(gradients,))

        update_if_finite(update, metrics["gradient_norm"], self._loss_scale)
        return metrics

    def _clip(self, gradients: list[tf.Tensor], sums: Metrics) -> tuple[list[tf.Tensor], Metrics]:
        """Clipped gradients, and metrics, of their sums over the global batch."""
        if self._loss_scale is not None:
            gradients = [gradient / self._loss_scale.value for gradient in gradients]
        norm = tf.linalg.global_norm(gradients)
        if self.clip_norm:
            gradients, _ = tf.clip_by_global_norm(gradients, self.clip_norm, use_norm=norm)
        # 0 / 0 is NaN on purpose: no example, no accuracy.
        metrics = {name: values[0] / values[1] for name, values in sums.items()}
        metrics["learning_rate"] = tf.cast(self.optimizer.learning_rate, tf.float32)
        metrics["gradient_norm"] = norm
        return gradients, metrics

    def _compute(
        self, rows: tuple[tf.Tensor, ...], noise: Noise | None
    ) -> tuple[list[tf.Tensor], Metrics]:
        """One summand of the gradients, and of the sums and counts of the metrics.

        Args:
            rows: frames, actions, reward classes and ages of a replica's windows, or of a part.
            noise: replaces the seeded draws.
        """
        frames, actions, reward_classes, ages = rows
        noise = noise or self.noise()
        with tf.GradientTape() as tape:
            losses = self.model.window_losses(
                frames, actions, reward_classes, self.global_step, noise, ages=ages
            )
            # Summed over all replicas and parts this is the mean over the global batch.
            loss = tf.reduce_mean(losses.total) / this_replica()[1]
            scaled = loss if self._loss_scale is None else loss * self._loss_scale.value
        gradients = tape.gradient(
            scaled, self._variables, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        sums = _metric_sums(losses, reward_classes[:, self.model.num_input_frames - 1 :])
        return [tf.convert_to_tensor(gradient) for gradient in gradients], sums

    def _update(self, gradients: list[tf.Tensor]) -> None:
        pairs = zip(gradients, self._variables, strict=True)
        self.optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)


def _added(summands: list[Any]) -> Any:
    return summands[0] if len(summands) == 1 else tf.nest.map_structure(_sum_of, *summands)


def _sum_of(*values: tf.Tensor) -> tf.Tensor:
    return tf.add_n(values)


def _metric_sums(losses: WindowLosses, classes: tf.Tensor) -> Metrics:
    """The sum of each metric over examples and their number, [2]."""
    ones = tf.ones_like(losses.total)
    values = {"loss": losses.total}
    for name in ("pixel", "reward", "latent", "context"):
        values[f"{name}_loss"] = getattr(losses, name)
    sums = {name: _weighted(value, ones) for name, value in values.items()}
    right = tf.cast(
        tf.argmax(losses.reward_logits, -1, output_type=tf.int32) == classes, tf.float32
    )
    sums["reward_accuracy"] = _weighted(right, tf.ones_like(right))
    for reward_class in range(losses.reward_logits.shape[-1]):
        member = tf.cast(classes == reward_class, tf.float32)
        sums[f"reward_accuracy_{reward_class}"] = _weighted(right, member)
    return sums


def _weighted(values: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    return tf.stack([tf.reduce_sum(values * weights), tf.reduce_sum(weights)])


def _nan_mean(values: list[tf.Tensor]) -> tf.Tensor:
    stacked = tf.stack(values)
    valid = tf.logical_not(tf.math.is_nan(stacked))
    total = tf.reduce_sum(tf.where(valid, stacked, 0.0))
    return total / tf.reduce_sum(tf.cast(valid, tf.float32))
