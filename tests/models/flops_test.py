"""Arithmetic is counted as one would by hand."""

import pytest
import tensorflow as tf

from simple_tf.models.flops import count_flops


def graph_of(function, *shapes):
    specs = [tf.TensorSpec(shape) for shape in shapes]
    return tf.function(function, autograph=False).get_concrete_function(*specs).graph


def test_matrix_products():
    assert count_flops(graph_of(tf.matmul, [3, 5], [5, 7])) == 2 * 3 * 5 * 7
    graph = graph_of(lambda a, b: tf.matmul(a, b, transpose_a=True), [2, 5, 3], [2, 5, 7])
    assert count_flops(graph) == 2 * 2 * 3 * 5 * 7


def test_convolutions_and_their_gradients():
    forward = 2 * (4 * 3 * 2) * (3 * 3 * 5 * 6)  # Outputs in space and batch, kernel.

    def conv(x, kernel):
        return tf.nn.conv2d(x, kernel, 2, "SAME")

    def gradients(x, kernel):
        with tf.GradientTape() as tape:
            tape.watch([x, kernel])
            y = tf.reduce_sum(conv(x, kernel) ** 2)
        return tape.gradient(y, [x, kernel])

    shapes = [2, 8, 6, 5], [3, 3, 5, 6]
    assert count_flops(graph_of(conv, *shapes)) == forward
    assert count_flops(graph_of(gradients, *shapes)) == 3 * forward


def _power(x, weight, **options):
    return tf.while_loop(
        lambda i, _: i < 4,
        lambda i, y: (i + 1, tf.matmul(y, weight)),
        (tf.constant(0), x),
        **options,
    )[1]


def test_loops_and_their_gradients_count_as_often_as_they_run():
    def gradient(x, weight):
        with tf.GradientTape() as tape:
            tape.watch([x, weight])
            y = _power(x, weight, maximum_iterations=4)
        return tape.gradient(y, [x, weight])

    once = 2 * 2 * 3 * 3
    shapes = [2, 3], [3, 3]
    graph = graph_of(lambda *args: _power(*args, maximum_iterations=4), *shapes)
    assert count_flops(graph) == 4 * once
    assert count_flops(graph_of(gradient, *shapes)) == 3 * 4 * once


def test_loops_in_loops_and_functions():
    @tf.function(autograph=False)
    def outer(x, weight):
        body = tf.function(lambda y: _power(y, weight, maximum_iterations=4), autograph=False)
        return tf.while_loop(
            lambda i, _: i < 5,
            lambda i, y: (i + 1, body(y)),
            (tf.constant(0), x),
            maximum_iterations=5,
        )[1]

    assert count_flops(graph_of(outer, [2, 3], [3, 3])) == 5 * 4 * 2 * 2 * 3 * 3


def test_a_loop_of_unknown_length_is_no_zero():
    with pytest.raises(ValueError, match="how often"):
        count_flops(graph_of(_power, [2, 3], [3, 3]))
