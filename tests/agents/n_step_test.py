"""Sums over several steps, against plain loops."""

import numpy as np
import tensorflow as tf

from simple_tf.agents.n_step import n_step_return


def _by_hand(rewards, discounts, gamma):
    total, factor = 0.0, 1.0
    for reward, discount in zip(rewards, discounts, strict=True):
        total += factor * reward
        factor *= gamma * discount
    return total, factor


def test_equals_a_plain_loop():
    rng = np.random.default_rng(0)
    for n in (1, 3, 20):
        rewards = rng.normal(size=(9, n)).astype(np.float32)
        discounts = (rng.random((9, n)) < 0.9).astype(np.float32)
        returns, factors = n_step_return(tf.constant(rewards), tf.constant(discounts), 0.97)
        expected = [_by_hand(r, d, 0.97) for r, d in zip(rewards, discounts, strict=True)]
        np.testing.assert_allclose(np.stack([returns, factors], 1), expected, 1e-5, 1e-6)


def test_what_is_after_the_end_counts_for_nothing():
    rewards, discounts = tf.constant([[1.0, 2.0, 50.0]]), tf.constant([[1.0, 0.0, 1.0]])
    returns, factors = n_step_return(rewards, discounts, 0.5)
    assert (float(returns[0]), float(factors[0])) == (2.0, 0.0)
