"""Random draws of agents, each a function of a seed and counters alone."""

from __future__ import annotations

import tensorflow as tf

from simple_tf.replicas import drawn_gumbels


def fold_in(seed: tf.Tensor, *counters: int | tf.Tensor) -> tf.Tensor:
    """Mixes counters into a seed of shape [2], one after the other."""
    for counter in counters:
        seed = tf.random.experimental.stateless_fold_in(seed, tf.cast(counter, seed.dtype))
    return seed


def sample_actions(logits: tf.Tensor, temperature: float, seed: tf.Tensor) -> tf.Tensor:
    """Draws actions from softmax(logits / temperature); at temperature 0 the likeliest.

    Args:
        logits: [B, A].
        temperature: 0 or more.
        seed: int [2].

    Returns:
        int32 [B].
    """
    if temperature == 0:
        return tf.argmax(logits, axis=-1, output_type=tf.int32)
    noisy = logits / temperature + drawn_gumbels(tf.shape(logits), seed)
    return tf.argmax(noisy, axis=-1, output_type=tf.int32)
