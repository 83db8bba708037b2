"""Loss scaling, without which small gradients vanish in float16."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

# What training with float16 starts from unless told otherwise; it adapts within a few steps.
INITIAL_SCALE = 2.0**15


class LossScale(tf.Module):
    """A loss scale for float16 that adapts to overflows.

    Args:
        initial: first scale.
        growth_steps: good steps after which the scale doubles.
    """

    def __init__(self, initial: float = INITIAL_SCALE, growth_steps: int = 2_000) -> None:
        super().__init__(name="loss_scale")
        self.growth_steps = growth_steps
        self.value = tf.Variable(initial, trainable=False, dtype=tf.float32, name="loss_scale")
        self.good_steps = tf.Variable(0, trainable=False, dtype=tf.int32, name="good_steps")

    def guard(self, finite: tf.Tensor, update: Callable[[], object]) -> None:
        """Runs `update` if the gradients are finite, and adapts the scale.

        To be called outside of the replicas: there may be a sum over them inside of `update`.
        """

        def good() -> tf.Tensor:
            update()
            steps = self.good_steps + 1
            grow = steps >= self.growth_steps
            self.value.assign(tf.where(grow, self.value * 2.0, self.value))
            self.good_steps.assign(tf.where(grow, 0, steps))
            return tf.constant(True)

        def bad() -> tf.Tensor:
            self.value.assign(tf.maximum(self.value / 2.0, 1.0))
            self.good_steps.assign(0)
            return tf.constant(False)

        tf.cond(finite, good, bad)


def loss_scale_for(module: tf.Module, initial: float | None) -> LossScale | None:
    """The loss scale that a network needs.

    Args:
        module: the network.
        initial: the first scale; 0: none at all; None: what its layers need, which is one if any
            of them computes in float16.
    """
    if initial is None:
        layers = (part for part in module.submodules if isinstance(part, tf.keras.layers.Layer))
        needed = any(layer.compute_dtype == "float16" for layer in layers)
        initial = INITIAL_SCALE if needed else 0.0
    return LossScale(initial) if initial else None


def update_if_finite(
    update: Callable[[], None], norm: tf.Tensor, loss_scale: LossScale | None
) -> None:
    """Runs `update`; with a loss scale only if the gradients' norm is finite, and adapts it."""
    if loss_scale is None:
        update()
    else:
        loss_scale.guard(tf.math.is_finite(norm), update)
