"""Layers against numpy."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.layers import (
    LayerNorm,
    MeanWithAttention,
    PositionSignal,
    halved_sizes,
    layer_norm,
    pad_to_even,
    standardise,
)


def test_standardise_has_zero_mean_unit_deviation_and_survives_constant_images():
    frames = np.random.RandomState(0).randint(0, 256, (2, 3, 10, 8, 3)).astype(np.uint8)
    frames[1, 1] = 77
    result = standardise(tf.constant(frames)).numpy()
    np.testing.assert_allclose(result.mean((2, 3)), 0.0, atol=1e-5)
    np.testing.assert_allclose(result[0].std((1, 2)), 1.0, atol=1e-4)
    assert not np.any(result[1, 1])


def test_a_nearly_constant_image_is_not_blown_up():
    frames = np.zeros((1, 10, 10, 1), np.uint8)
    frames[0, 0, 0] = 1
    # One pixel of 100 differs: the deviation 0.0995 is below the floor 1 / sqrt(100).
    result = standardise(tf.constant(frames)).numpy()
    assert result[0, 0, 0, 0] == pytest.approx(0.99 / 0.1)


def test_position_signal_of_rows_and_columns():
    signal = PositionSignal(3, 5, 9)(tf.zeros([1, 3, 5, 9])).numpy()[0]
    scales = np.array([1.0, 1e-4])
    np.testing.assert_allclose(signal[2, 0, :2], np.sin(2 * scales), atol=1e-6)
    np.testing.assert_allclose(signal[2, 0, 2:4], np.cos(2 * scales), atol=1e-6)
    np.testing.assert_allclose(signal[0, 4, 4:6], np.sin(4 * scales), atol=1e-6)
    np.testing.assert_allclose(signal[0, 4, 6:8], np.cos(4 * scales), atol=1e-6)
    assert not np.any(signal[..., 8])


def test_layer_norm_gradient_agrees_with_automatic_differentiation():
    rng = np.random.RandomState(1)
    x, upstream = (tf.constant(rng.randn(2, 3, 4, 6), tf.float32) for _ in range(2))
    scale, bias = (tf.constant(rng.randn(6), tf.float32) for _ in range(2))

    def reference(x, scale, bias):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + LayerNorm.EPSILON) * scale + bias

    results = []
    for function in (layer_norm, reference):
        with tf.GradientTape() as tape:
            tape.watch([x, scale, bias])
            y = function(x, scale, bias)
        results.append([y, *tape.gradient(y, [x, scale, bias], upstream)])
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-5)


def test_mean_with_attention_agrees_with_numpy():
    layer = MeanWithAttention(6, name="pool")
    x = np.random.RandomState(2).randn(2, 3, 4, 6).astype(np.float32)
    scores = (x @ layer.attention.kernel.numpy()).reshape(2, 12, 4)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    attended = (x.reshape(2, 12, 6, 1) * weights[:, :, None]).mean(1)
    pooled = np.concatenate([attended, x.mean((1, 2))[..., None]], -1).reshape(2, 30)
    expected = pooled @ layer.output_layer.kernel.numpy()
    np.testing.assert_allclose(layer(tf.constant(x)), expected, atol=1e-5)


def test_sizes_round_up_and_padding_makes_them_even():
    assert halved_sizes(105, 80, 6)[1:] == [(53, 40), (27, 20), (14, 10), (7, 5), (4, 3), (2, 2)]
    assert pad_to_even(tf.zeros([1, 7, 5, 2])).shape == (1, 8, 6, 2)
    assert pad_to_even(tf.zeros([1, 8, 6, 2])).shape == (1, 8, 6, 2)


def test_initial_weights_depend_on_seed_and_path_alone():
    values = [
        attention_kernel(seed, name) for seed, name in ((0, "a"), (0, "a"), (1, "a"), (0, "b"))
    ]
    np.testing.assert_array_equal(values[0], values[1])
    assert not np.array_equal(values[0], values[2])
    assert not np.array_equal(values[0], values[3])


def attention_kernel(seed, name):
    return MeanWithAttention(4, name=name, seed=seed).attention.kernel.numpy()
