"""Clipped losses: what is good enough costs nothing and pulls on nothing."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf


def clipped(losses: tf.Tensor, clip: float) -> tf.Tensor:
    """Returns max(loss - clip, 0): the gradient of the paper's max(loss, clip)."""
    return tf.nn.relu(losses - clip)


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor, clip: float = 0.0) -> tf.Tensor:
    """Returns the clipped cross-entropy.

    Args:
        logits: [..., N]; all axes but the first are static.
        labels: integers [...].
        clip: see `clipped`.

    Returns:
        float32 of the labels' shape.
    """
    flat = tf.reshape(tf.cast(logits, tf.float32), [-1, logits.shape[-1]])
    losses = _cross_entropy(flat, tf.reshape(tf.cast(labels, tf.int32), [-1]))
    return clipped(tf.reshape(losses, tf.shape(labels)), clip)


@tf.custom_gradient
def _cross_entropy(
    logits: tf.Tensor, labels: tf.Tensor
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, None]]]:
    """As TensorFlow's op, without its second-order gradient.

    Inside a loop the stock gradient cannot tell that nobody differentiates twice; it would keep
    the logits and compute another softmax over them for nothing.
    """
    losses, backward = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
        features=logits, labels=labels
    )

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, None]:
        return upstream[:, None] * backward, None

    return losses, gradient
