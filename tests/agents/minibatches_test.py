"""Minibatches are drawn as the original draws them."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.minibatches import draw_minibatches, num_minibatches


def test_seven_minibatches_of_twenty_from_three_passes_over_fifty_steps():
    times = draw_minibatches(50, 3, 20, tf.constant([1, 2])).numpy()
    assert times.shape == (7, 20)
    assert num_minibatches(50, 3, 20) == 7
    order = times.ravel()
    for begin in (0, 50):  # Whole passes, each in its own order; the third lacks its last 10.
        assert sorted(order[begin : begin + 50]) == list(range(50))
    assert len(set(order[100:])) == 40
    assert not np.array_equal(order[:50], order[50:100])


def test_the_number_is_the_originals_for_its_49_usable_steps():
    assert num_minibatches(49, 3, 20) == 7


@pytest.mark.parametrize("jit_compile", [False, True])
def test_orders_are_uniform_and_decided_by_the_seed(jit_compile):
    draw = tf.function(draw_minibatches, jit_compile=jit_compile, autograph=False)
    drawn = np.stack([draw(5, 2, 10, tf.constant([3, n]))[0] for n in range(2000)])
    counts = np.stack([np.bincount(drawn[:, place], minlength=5) for place in range(10)])
    # 99.9 % point for 4 degrees of freedom is 18.5; ten places.
    assert (((counts - 400) ** 2 / 400).sum(axis=1) < 22).all()
    np.testing.assert_array_equal(draw(5, 2, 10, tf.constant([3, 7]))[0], drawn[7])
