"""Several steps as one: what they earned together, and what remains of what comes after."""

from __future__ import annotations

import tensorflow as tf


def n_step_return(
    rewards: tf.Tensor, discounts: tf.Tensor, gamma: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sums rewards over n steps, and multiplies what follows them down.

    Args:
        rewards: [B, n].
        discounts: [B, n], the environment's after each step: 0 where the game is over; what is
            stored after that counts for nothing.
        gamma: the agent's discount.

    Returns:
        Returns [B]: the sum over i of gamma^i, times the discounts before step i, times reward i;
        and factors [B] of whatever the observation after the n steps is worth.
    """
    factors = tf.math.cumprod(gamma * discounts, axis=1)  # [B, n], after each step
    before = tf.concat([tf.ones_like(factors[:, :1]), factors[:, :-1]], axis=1)
    return tf.reduce_sum(before * rewards, axis=1), factors[:, -1]
