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
    weight_decay: float = 0.0,
) -> tf.keras.optimizers.Optimizer:
    """Returns Adam for a world model; compiled with the training step, not by itself.

    Args:
        learning_rate: a number or a schedule.
        beta_1: see Keras.
        beta_2: see Keras.
        epsilon: see Keras.
        weight_decay: each step takes this share of every weight away, times the learning rate and
            beside its gradient (AdamW): what is rare is then less easily learned by heart.
    """
    return tf.keras.optimizers.Adam(
        learning_rate,
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        weight_decay=weight_decay or None,
        jit_compile=False,
    )
