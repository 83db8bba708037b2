"""The benchmark counts operations right; it is run by hand, its times are not tested."""

import importlib.util
from pathlib import Path

import pytest
import tensorflow as tf

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "world_model.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("world_model_benchmark", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def graph_of(function, *shapes):
    specs = [tf.TensorSpec(shape) for shape in shapes]
    return tf.function(function, autograph=False).get_concrete_function(*specs).graph


def test_matrix_products(benchmark):
    graph = graph_of(tf.matmul, [3, 5], [5, 7])
    assert benchmark.count_flops(graph) == 2 * 3 * 5 * 7
    graph = graph_of(lambda a, b: tf.matmul(a, b, transpose_a=True), [2, 5, 3], [2, 5, 7])
    assert benchmark.count_flops(graph) == 2 * 2 * 3 * 5 * 7


def test_convolutions_and_their_gradients(benchmark):
    forward = 2 * (4 * 3 * 2) * (3 * 3 * 5 * 6)  # Outputs in space and batch, kernel.

    def conv(x, kernel):
        return tf.nn.conv2d(x, kernel, 2, "SAME")

    def gradients(x, kernel):
        with tf.GradientTape() as tape:
            tape.watch([x, kernel])
            y = tf.reduce_sum(conv(x, kernel) ** 2)
        return tape.gradient(y, [x, kernel])

    shapes = [2, 8, 6, 5], [3, 3, 5, 6]
    assert benchmark.count_flops(graph_of(conv, *shapes)) == forward
    assert benchmark.count_flops(graph_of(gradients, *shapes)) == 3 * forward


def test_loops_count_as_often_as_they_run(benchmark):
    def power(x):
        return tf.while_loop(
            lambda i, _: i < 4, lambda i, y: (i + 1, tf.matmul(y, y)), (tf.constant(0), x)
        )

    assert benchmark.count_flops(graph_of(power, [3, 3]), loop_trips=4) == 4 * 2 * 27
