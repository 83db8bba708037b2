"""Clipped losses: what is good enough costs nothing and pulls on nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

# The smallest normal float32.
_SMALLEST = np.finfo(np.float32).tiny


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
    """Returns -log softmax(logits)[label], at most 87, for logits [M, N] and labels [M].

    On a CPU TensorFlow's own op takes several times as long as its softmax. And inside a loop
    its gradient cannot tell that nobody differentiates twice: it would keep the logits and compute
    another softmax over them for nothing.
    """
    probabilities = tf.nn.softmax(logits)
    chosen = tf.gather(probabilities, labels, axis=1, batch_dims=1)

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, None]:
        places = tf.stack([tf.range(tf.shape(labels)[0]), labels], axis=1)
        scaled = upstream[:, None] * probabilities
        return tf.tensor_scatter_nd_sub(scaled, places, upstream), None

    # A probability may underflow to 0, whose logarithm would spoil the mean over all pixels.
    return -tf.math.log(tf.maximum(chosen, _SMALLEST)), gradient
