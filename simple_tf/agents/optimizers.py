"""The policy's optimiser."""

from __future__ import annotations

import gin
import tensorflow as tf


@gin.configurable
def policy_adam(
    learning_rate: float = 1e-4, beta_1: float = 0.85, beta_2: float = 0.997, epsilon: float = 1e-6
) -> tf.keras.optimizers.Optimizer:
    """Returns Adam with the original's settings.

    Epsilon is added to the root of the *uncorrected* second moment ("epsilon hat"), in Keras as
    in the original.
    """
    return tf.keras.optimizers.Adam(learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)
