"""Optimisers of world models beside the original's Adafactor."""

from __future__ import annotations

import gin
import tensorflow as tf


@gin.configurable
def world_model_adam(
    learning_rate: float | tf.keras.optimizers.schedules.LearningRateSchedule = 1e-3,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
) -> tf.keras.optimizers.Optimizer:
    """Returns Adam for a world model; compiled with the training step, not by itself."""
    return tf.keras.optimizers.Adam(
        learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon, jit_compile=False
    )
