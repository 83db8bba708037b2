"""Dropout keeps the asked share, rescales it exactly, and depends on the seed alone."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.noise import StatelessNoise


def dropped(shape, rate, seed=(0, 1)):
    return StatelessNoise(tf.constant(seed)).dropout(tf.ones(shape), rate).numpy()


@pytest.mark.parametrize("rate", [0.1, 0.15, 0.5, 0.9])
@pytest.mark.parametrize("channels", [7, 96])
def test_a_share_is_zeroed_and_the_rest_rescaled(rate, channels):
    values = dropped((40, 50, channels), rate)
    kept = values != 0.0
    deviation = (rate * (1.0 - rate) / kept.size) ** 0.5
    assert abs(1.0 - kept.mean() - rate) < 5 * deviation + 1e-5
    np.testing.assert_allclose(values[kept], 1.0 / (1.0 - rate), rtol=1e-4)


def test_neighbours_and_halves_of_one_draw_are_independent():
    kept = dropped((2_000, 64), 0.5) != 0.0
    correlation = np.corrcoef(kept.T.astype(np.float64)) - np.eye(64)
    assert np.abs(correlation).max() < 5 * 2_000**-0.5


def test_the_seed_and_the_order_of_the_calls_decide():
    noise = StatelessNoise(tf.constant([3, 4]))
    first, second = noise.dropout(tf.ones([8, 32]), 0.5), noise.dropout(tf.ones([8, 32]), 0.5)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, dropped((8, 32), 0.5, (3, 4)))
    assert not np.array_equal(first, dropped((8, 32), 0.5, (3, 5)))


def test_rate_zero_changes_nothing_and_gradients_pass_where_values_do():
    x = tf.constant(np.random.RandomState(0).randn(4, 10).astype(np.float32))
    noise = StatelessNoise(tf.constant([0, 0]))
    assert noise.dropout(x, 0.0) is x
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = noise.dropout(x, 0.5)
    np.testing.assert_array_equal(tape.gradient(y, x), 2.0 * (y.numpy() != 0.0))
