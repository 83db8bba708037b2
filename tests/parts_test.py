"""A batch in parts gives what it gives as a whole."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.noise import StatelessNoise
from simple_tf.parts import in_parts
from simple_tf.replicas import this_replica, total

ROWS = tf.reshape(tf.range(12.0), [6, 2])


def _joined(parts):
    return tf.concat(parts, axis=0).numpy()


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("parts", [2, 3])
def test_rows_are_computed_in_order_and_with_the_same_draws(parts, jit_compile):
    def add_noise(rows, seed):
        noise = StatelessNoise(seed)
        drawn = noise.uniform(tf.shape(rows)) + noise.dropout(tf.ones_like(rows), 0.5)
        classes = noise.categorical(tf.zeros([rows.shape[0], 5]))
        return rows + drawn + tf.cast(classes, tf.float32)[:, None]

    def computed(parts):
        function = in_parts(add_noise, parts, "parts", jit_compile)
        return tf.concat(function(ROWS, tf.constant([3, 4])), axis=0).numpy()

    np.testing.assert_allclose(computed(parts), computed(1), rtol=1e-6)


def test_rows_may_be_a_nest():
    def swap(rows, factor):
        return {"a": rows[1]["b"] * factor, "b": rows[0]}

    first, second = in_parts(swap, 2, "parts")((ROWS, {"b": 2.0 * ROWS}), tf.constant(10.0))
    np.testing.assert_array_equal(_joined([first["a"], second["a"]]), 20.0 * ROWS)
    np.testing.assert_array_equal(_joined([first["b"], second["b"]]), ROWS)


def test_it_compiles_once_for_all_parts():
    traces = []

    def record(rows):
        traces.append(this_replica()[1])
        return rows

    function = in_parts(record, 3, "parts", jit_compile=True)
    function(ROWS)
    function(ROWS)
    assert traces == [3]
    assert this_replica() == (0, 1)  # Nothing is left behind.


def test_rows_that_cannot_be_shared_are_refused():
    with pytest.raises(ValueError, match=r"Some\.parts is 4, but a batch of 6 cannot"):
        in_parts(tf.identity, 4, "Some.parts")(ROWS)


def test_a_part_cannot_sum_over_the_batch():
    with pytest.raises(RuntimeError, match="A part of a batch"):
        in_parts(total, 2, "parts")(ROWS)
