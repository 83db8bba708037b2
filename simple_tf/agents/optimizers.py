"""The policy's optimiser."""

from __future__ import annotations

import gin
import tensorflow as tf


@gin.configurable
def decay_over_updates(
    initial: float = gin.REQUIRED,
    updates: int = gin.REQUIRED,
    steps_per_update: int = gin.REQUIRED,
) -> tf.keras.optimizers.schedules.LearningRateSchedule:
    """Returns a learning rate that falls to 0 in a straight line over a number of PPO updates.

    Args:
        initial: the first learning rate.
        updates: after so many it is 0.
        steps_per_update: of the optimiser, in one PPO update.
    """
    steps = max(updates * steps_per_update, 1)
    return tf.keras.optimizers.schedules.PolynomialDecay(initial, steps, 0.0)


@gin.configurable
def decay_over_budget(
    initial: float = gin.REQUIRED,
    interactions: int = gin.REQUIRED,
    interactions_per_update: int = gin.REQUIRED,
    steps_per_update: int = gin.REQUIRED,
) -> tf.keras.optimizers.schedules.LearningRateSchedule:
    """Returns a learning rate that falls to 0 in a straight line over a budget of interactions.

    Args:
        initial: the first learning rate.
        interactions: the budget.
        interactions_per_update: of the game, for one PPO update.
        steps_per_update: of the optimiser, in one PPO update.
    """
    return decay_over_updates(initial, interactions // interactions_per_update, steps_per_update)


@gin.configurable
def policy_adam(
    learning_rate: float | tf.keras.optimizers.schedules.LearningRateSchedule = 1e-4,
    beta_1: float = 0.85,
    beta_2: float = 0.997,
    epsilon: float = 1e-6,
    clip_norm: float | None = None,
) -> tf.keras.optimizers.Optimizer:
    """Returns Adam with the original's settings.

    Epsilon is added to the root of the *uncorrected* second moment ("epsilon hat"), in Keras as
    in the original.

    Args:
        learning_rate: a number, or a schedule.
        beta_1: decay of the gradients' mean.
        beta_2: decay of their squares' mean.
        epsilon: see above.
        clip_norm: largest norm of all gradients together; None: no clipping here. `PPOLearner`
            clips by itself.
    """
    return tf.keras.optimizers.Adam(
        learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon, global_clipnorm=clip_norm
    )
