"""Choices: the largest of several, draws of as many as expected, and nothing computed twice."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.choices import computed_once, largest, systematic_draw
from simple_tf.models.noise import StatelessNoise


def test_the_largest_logit_is_found_whatever_its_sign():
    logits = np.random.RandomState(0).normal(size=(2, 3, 6, 4)).astype(np.float32)
    logits[0, 0] = -np.abs(logits[0, 0])
    logits[0, 1] *= 1e5
    logits[0, 2] *= 1e-5
    np.testing.assert_array_equal(largest(tf.constant(logits)), logits.argmax(axis=2))
    logits[1] = logits[1, :, :1]
    np.testing.assert_array_equal(largest(tf.constant(logits))[1], 0)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_systematic_draw_keeps_probabilities_and_numbers(compiled):
    probabilities = np.random.RandomState(0).uniform(0.0, 1.0, (3, 5)).astype(np.float32)
    probabilities[0, :2] = 1.0, 0.0
    many = tf.constant(np.broadcast_to(probabilities, (3000, 3, 5)))
    draw = tf.function(systematic_draw, jit_compile=compiled, autograph=False)
    chosen = draw(many, StatelessNoise((0, 1))).numpy()
    np.testing.assert_allclose(chosen.mean(axis=0), probabilities, atol=0.04)
    assert np.abs(chosen.sum(axis=(1, 2)) - probabilities.sum()).max() <= 1.0
    assert chosen[:, 0, 0].all()
    assert not chosen[:, 0, 1].any()


@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_computed_once_is_the_same(compiled):
    held = tf.function(computed_once, jit_compile=compiled, autograph=False)
    values = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(held(values, tf.constant(False)), values)
