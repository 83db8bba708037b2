"""Training steps of a world model."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping

import gin
import tensorflow as tf

from simple_tf.models.interface import WindowLosses, WorldModel
from simple_tf.models.noise import Noise, StatelessNoise, fold_in

Metrics = dict[str, tf.Tensor]
Windows = Mapping[str, tf.Tensor]
"""One batch of windows, as `WindowDataset` yields it: `frames`, `actions`, `reward_classes`."""


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
            2,000 good steps. 0: no scaling.
        jit_compile: whether to compile the step with XLA.
        seed: root of all draws.
    """

    def __init__(
        self,
        model: WorldModel,
        optimizer: tf.keras.optimizers.Optimizer = gin.REQUIRED,
        clip_norm: float = 1.0,
        loss_scale: float = 0.0,
        jit_compile: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(name="world_model_trainer")
        self.model = model
        self.optimizer = optimizer
        self.clip_norm = clip_norm
        self._seed = seed
        self._variables = list(model.trainable_variables)
        self._loss_scale = LossScale(loss_scale) if loss_scale else None
        with tf.init_scope():
            optimizer.build(self._variables)
        self._compiled_step = tf.function(self.apply, jit_compile=jit_compile, autograph=False)

    @property
    def global_step(self) -> tf.Variable:
        """Number of steps applied so far."""
        return self.optimizer.iterations

    def train_step(
        self, frames: tf.Tensor, actions: tf.Tensor, reward_classes: tf.Tensor
    ) -> Metrics:
        """Applies one step.

        Args:
            frames: uint8 [B, K + n, H, W, C].
            actions: int32 [B, K + n - 1].
            reward_classes: int32 [B, K + n - 1].

        Returns:
            Scalars: `loss` and its parts `pixel_loss`, `reward_loss`, `latent_loss`,
            `context_loss`; `reward_accuracy` and `reward_accuracy_<class>` (NaN where a class
            does not occur in the batch); `gradient_norm` before clipping; `learning_rate`.
        """
        return self._compiled_step(frames, actions, reward_classes)

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
        noise: Noise | None = None,
    ) -> Metrics:
        """Traceable body of `train_step`; `noise` replaces the seeded draws."""
        step = self.global_step
        noise = noise or self.noise()
        with tf.GradientTape() as tape:
            losses = self.model.window_losses(frames, actions, reward_classes, step, noise)
            # Divided by the replicas: summed over them this is the mean over the global batch.
            loss = tf.reduce_mean(losses.total) / _num_replicas()
            scaled = loss if self._loss_scale is None else loss * self._loss_scale.value
        gradients = tape.gradient(scaled, self._variables)
        metrics = _loss_metrics(losses, reward_classes[:, self.model.num_input_frames - 1 :])
        metrics["learning_rate"] = tf.cast(self.optimizer.learning_rate, tf.float32)
        metrics["gradient_norm"] = self._apply_gradients(gradients)
        return metrics

    def noise(self) -> StatelessNoise:
        """Returns the draws of the current step on this replica."""
        seed = fold_in(tf.constant([self._seed, 0], tf.int32), self.global_step)
        if _num_replicas() > 1:
            context = tf.distribute.get_replica_context()
            seed = fold_in(seed, context.replica_id_in_sync_group)
        return StatelessNoise(seed)

    def _apply_gradients(self, gradients: list[tf.Tensor | None]) -> tf.Tensor:
        """Clips and applies; returns the norm before clipping."""
        pairs = [
            (tf.convert_to_tensor(g), v)
            for g, v in zip(gradients, self._variables, strict=True)
            if g is not None
        ]
        values = _sum_over_replicas([g for g, _ in pairs])
        if self._loss_scale is not None:
            values = [g / self._loss_scale.value for g in values]
        norm = tf.linalg.global_norm(values)
        if self.clip_norm:
            values, _ = tf.clip_by_global_norm(values, self.clip_norm, use_norm=norm)
        clipped = list(zip(values, [v for _, v in pairs], strict=True))
        if self._loss_scale is None:
            self._update(clipped)
        else:
            self._loss_scale.guard(tf.math.is_finite(norm), lambda: self._update(clipped))
        return norm

    def _update(self, pairs: list[tuple[tf.Tensor, tf.Variable]]) -> None:
        self.optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)


class LossScale(tf.Module):
    """A loss scale for float16 that adapts to overflows.

    Args:
        initial: first scale.
        growth_steps: good steps after which the scale doubles.
    """

    def __init__(self, initial: float, growth_steps: int = 2_000) -> None:
        super().__init__(name="loss_scale")
        self.growth_steps = growth_steps
        self.value = tf.Variable(initial, trainable=False, dtype=tf.float32, name="loss_scale")
        self.good_steps = tf.Variable(0, trainable=False, dtype=tf.int32, name="good_steps")

    def guard(self, finite: tf.Tensor, update: Callable[[], None]) -> None:
        """Runs `update` if the gradients are finite, and adapts the scale."""

        def good() -> tf.Tensor:
            update()
            steps = self.good_steps.assign_add(1)
            grow = steps >= self.growth_steps
            self.value.assign(tf.where(grow, self.value * 2.0, self.value))
            self.good_steps.assign(tf.where(grow, 0, steps))
            return tf.constant(True)

        def bad() -> tf.Tensor:
            self.value.assign(tf.maximum(self.value / 2.0, 1.0))
            self.good_steps.assign(0)
            return tf.constant(False)

        tf.cond(finite, good, bad)


def _sum_over_replicas(gradients: list[tf.Tensor]) -> list[tf.Tensor]:
    if _num_replicas() == 1:
        return gradients
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)


def _num_replicas() -> int:
    return tf.distribute.get_strategy().num_replicas_in_sync


def _loss_metrics(losses: WindowLosses, classes: tf.Tensor) -> Metrics:
    parts = {name: getattr(losses, name) for name in ("pixel", "reward", "latent", "context")}
    metrics = {f"{name}_loss": tf.reduce_mean(value) for name, value in parts.items()}
    metrics["loss"] = tf.reduce_mean(losses.total)
    right = tf.cast(
        tf.argmax(losses.reward_logits, -1, output_type=tf.int32) == classes, tf.float32
    )
    metrics["reward_accuracy"] = tf.reduce_mean(right)
    for reward_class in range(losses.reward_logits.shape[-1]):
        member = tf.cast(classes == reward_class, tf.float32)
        count = tf.reduce_sum(member)
        # 0 / 0 is NaN on purpose: no example, no accuracy.
        metrics[f"reward_accuracy_{reward_class}"] = tf.reduce_sum(right * member) / count
    return metrics


def _nan_mean(values: list[tf.Tensor]) -> tf.Tensor:
    stacked = tf.stack(values)
    valid = tf.logical_not(tf.math.is_nan(stacked))
    total = tf.reduce_sum(tf.where(valid, stacked, 0.0))
    return total / tf.reduce_sum(tf.cast(valid, tf.float32))
