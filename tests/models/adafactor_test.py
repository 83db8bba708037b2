"""Adafactor's parts that the recordings of the original do not reach."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.adafactor import Adafactor


def test_first_step_of_a_matrix_agrees_with_numpy():
    rng = np.random.RandomState(0)
    value, gradient = rng.randn(4, 3), rng.randn(4, 3)
    variable = tf.Variable(value, dtype=tf.float32)
    Adafactor(0.1).apply_gradients([(tf.constant(gradient, tf.float32), variable)])
    squared = gradient**2
    rows, columns = squared.mean(1), squared.mean(0)
    update = gradient / np.sqrt(np.outer(rows / rows.mean(), columns))
    update /= max(1.0, np.sqrt((update**2).mean()))
    expected = value - 0.1 * np.sqrt((value**2).mean()) * update
    np.testing.assert_allclose(variable, expected, rtol=1e-5)


def test_a_zero_vector_still_moves_by_the_smallest_scale():
    variable = tf.Variable(tf.zeros([2]))
    Adafactor(0.1).apply_gradients([(tf.constant([3.0, -5.0]), variable)])
    np.testing.assert_allclose(variable, [-1e-4, 1e-4], rtol=1e-4)


def test_memory_is_factored():
    variable = tf.Variable(tf.zeros([5, 7, 30, 20]))
    optimizer = Adafactor(0.1)
    optimizer.build([variable])
    slots = sum(int(tf.size(v)) for v in optimizer.variables if v.shape.rank > 0)
    assert slots == 5 * 7 * (30 + 20)


def test_a_rebuilt_optimizer_has_the_same_configuration():
    config = Adafactor(0.3, decay_exponent=0.7, clip_threshold=2.0).get_config()
    again = Adafactor.from_config(config).get_config()
    assert again == config
    assert again["learning_rate"] == pytest.approx(0.3)
