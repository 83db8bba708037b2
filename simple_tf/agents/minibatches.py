"""Which steps go into which minibatch."""

from __future__ import annotations

import tensorflow as tf

from simple_tf.agents.draws import fold_in


def num_minibatches(num_steps: int, num_passes: int, minibatch_steps: int) -> int:
    """Number of minibatches that `draw_minibatches` makes."""
    return num_steps * num_passes // minibatch_steps


def draw_minibatches(
    num_steps: int, num_passes: int, minibatch_steps: int, seed: tf.Tensor
) -> tf.Tensor:
    """Draws the time steps of each minibatch as the original does.

    Each pass has its own random order of all time steps; the orders are joined and cut into
    pieces of `minibatch_steps`, so a minibatch may span two passes, and may then hold a time step
    twice. What is left at the end of the last pass is dropped. A minibatch takes its time steps
    from all environments. 50 steps, 3 passes and pieces of 20: 150 time steps give 7 minibatches,
    and 10 are dropped.

    Returns:
        int32 [minibatches, minibatch_steps].
    """
    # Not stateless_shuffle: XLA does not know it.
    orders = [
        tf.argsort(tf.random.stateless_uniform([num_steps], fold_in(seed, number)))
        for number in range(num_passes)
    ]
    count = num_minibatches(num_steps, num_passes, minibatch_steps)
    kept = tf.concat(orders, axis=0)[: count * minibatch_steps]
    return tf.reshape(kept, [count, minibatch_steps])
