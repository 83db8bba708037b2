"""How much better an action was than expected."""

from __future__ import annotations

import tensorflow as tf

from simple_tf.replicas import total


def generalized_advantages(
    rewards: tf.Tensor,
    discounts: tf.Tensor,
    values: tf.Tensor,
    ends: tf.Tensor,
    discount: float,
    gae_lambda: float,
) -> tf.Tensor:
    """Generalised advantage estimation (Schulman et al., 2016) over T steps of B environments.

    Step t leads from observation t to observation t + 1. An end cuts the sum off; what lies
    beyond it is worth the value of the observation there if the episode was truncated (environment
    discount 1), and nothing if it was over (environment discount 0).

    Args:
        rewards: [T, B], earned by each step.
        discounts: [T, B], the environment's after each step: 0 where the game is over.
        values: [T + 1, B], of each observation; the last is the one after the last step.
        ends: bool [T, B], whether the step was the last of its episode, over or truncated.
        discount: gamma.
        gae_lambda: lambda.

    Returns:
        Advantages, [T, B].
    """
    surprises = rewards + discount * discounts * values[1:] - values[:-1]
    carried = discount * gae_lambda * discounts * tf.cast(tf.logical_not(ends), tf.float32)
    return tf.scan(
        lambda later, step: step[0] + step[1] * later,
        (surprises, carried),
        initializer=tf.zeros_like(values[0]),
        reverse=True,
    )


def normalized(advantages: tf.Tensor, mask: tf.Tensor, epsilon: float = 1e-8) -> tf.Tensor:
    """Shifts and scales to mean 0 and deviation 1 over the masked part; the rest becomes 0.

    Args:
        advantages: [T, B].
        mask: float [T, B], 1 for steps that count and 0 for others.
        epsilon: added to the deviation.
    """
    mean = masked_mean(advantages, mask)
    deviation = tf.sqrt(masked_mean(tf.square(advantages - mean), mask))
    return mask * (advantages - mean) / (deviation + epsilon)


def masked_mean(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Mean of the values, over all replicas, where the mask is 1; 0 if it is nowhere."""
    sums = total(tf.stack([tf.reduce_sum(values * mask), tf.reduce_sum(mask)]))
    return tf.math.divide_no_nan(sums[0], sums[1])


def explained_variance(returns: tf.Tensor, values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Share of the returns' variance that the values explain: 1 is perfect, 0 a constant."""

    def variance(x: tf.Tensor) -> tf.Tensor:
        return masked_mean(tf.square(x - masked_mean(x, mask)), mask)

    return 1.0 - tf.math.divide_no_nan(variance(returns - values), variance(returns))
