"""The bit latent: packing, straight-through gradient, schedules, predictor."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.bits import (
    BitLatent,
    BitOptions,
    BitPredictor,
    bits_of,
    chunks_of,
)
from simple_tf.models.noise import FixedNoise, StatelessNoise
from simple_tf.models.posterior import PosteriorNetwork

OUTPUTS = 48


@pytest.fixture(scope="module")
def latent():
    posterior = PosteriorNetwork((16, 12), 6, 8, (8, 16), name="latent/posterior")
    return BitLatent((2, 2, 8), posterior, BitOptions(num_bits=16), 1.0, name="latent")


def test_chunks_hold_the_lowest_bit_first():
    bits = -np.ones((1, 16), np.float32)
    bits[0, [0, 3, 8 + 7]] = 1.0
    np.testing.assert_array_equal(chunks_of(tf.constant(bits)), [[1 + 8, 128]])
    np.testing.assert_array_equal(bits_of(tf.constant([[9, 128]])), bits)


def infer(latent, posterior, step, uniform):
    with tf.GradientTape() as tape:
        tape.watch(posterior)
        bits, clean = latent.infer_bits(posterior, tf.constant(step), FixedNoise(uniform))
        total = tf.reduce_sum(bits * tf.range(16.0))
    return bits.numpy(), clean.numpy(), tape.gradient(total, posterior).numpy()


def soft_bits(latent, posterior):
    kernel, bias = (v.numpy().astype(np.float64) for v in latent.bottleneck.weights)
    return np.tanh(posterior @ kernel + bias)


def test_discrete_bits_pass_the_gradient_of_tanh_checked_numerically(latent):
    rng = np.random.RandomState(0)
    posterior = 0.2 * rng.randn(1, OUTPUTS)
    bits, clean, gradient = infer(latent, tf.constant(posterior, tf.float32), 40_000, 0.5)
    np.testing.assert_array_equal(bits, np.sign(soft_bits(latent, posterior)))
    np.testing.assert_array_equal(bits, clean)
    for index in rng.choice(posterior.size, 8, replace=False):
        step = np.zeros_like(posterior)
        step[0, index] = 1e-5
        high, low = (soft_bits(latent, posterior + s) for s in (step, -step))
        numeric = ((high - low) * np.arange(16)).sum() / 2e-5
        assert gradient[0, index] == pytest.approx(numeric, abs=1e-4)


def test_bits_are_continuous_during_the_warm_up_and_flipped_by_chance(latent):
    posterior = tf.random.stateless_normal([2, OUTPUTS], [1, 2])
    soft = soft_bits(latent, posterior.numpy())
    bits, clean, _ = infer(latent, posterior, 0, 0.5)
    np.testing.assert_allclose(bits, soft, atol=1e-4)
    np.testing.assert_array_equal(clean, np.sign(soft))
    bits, clean, _ = infer(latent, posterior, 40_000, 0.05)
    np.testing.assert_array_equal(bits, -clean)


def test_predicted_bits_replace_bits_and_the_latent_may_be_skipped(latent):
    bottom = tf.random.stateless_normal([2, 2, 2, 8], [3, 4])
    frames = tf.random.stateless_normal([2, 16, 12, 6], [5, 6])
    action = tf.zeros([2, 8])
    step = tf.constant(40_000)
    skipped, _ = latent.train(bottom, frames, action, step, FixedNoise(0.9))
    np.testing.assert_array_equal(skipped, bottom)
    # U = 0.05 takes every bit from the predictor, so the target frame leaves no trace.
    mixed, _ = latent.train(bottom, frames, action, step, FixedNoise(0.05))
    other, _ = latent.train(bottom, -frames, action, step, FixedNoise(0.05))
    np.testing.assert_array_equal(mixed, other)
    assert not np.array_equal(mixed, bottom)


def test_samples_follow_the_predicted_distribution():
    predictor = BitPredictor(4, 8, 16, name="predictor", seed=0)
    source = tf.ones([4000, 4])
    chunks = chunks_of(predictor.sample(source, StatelessNoise([7, 8]), 1.0)).numpy().ravel()
    one = source[:1]
    bits = bits_of(tf.range(256)[:, None])
    losses = predictor.loss(tf.repeat(one, 256, 0), bits, FixedNoise(0.5)).numpy()
    probabilities = np.exp(-losses)
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-4)
    counts = np.bincount(chunks, minlength=256)
    chi_square = ((counts - 4000 * probabilities) ** 2 / (4000 * probabilities)).sum()
    assert chi_square < 350  # 255 degrees of freedom: mean 255, deviation 23.
    likeliest = chunks_of(predictor.sample(one, StatelessNoise([7, 8]), 0.0)).numpy()
    assert likeliest[0, 0] == probabilities.argmax()


def test_a_number_of_bits_that_is_not_a_multiple_of_eight_is_refused():
    with pytest.raises(ValueError, match="multiple of 8"):
        BitPredictor(4, 12, 16, name="predictor", seed=0)
