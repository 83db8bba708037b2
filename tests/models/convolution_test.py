"""Matrix products in place of convolutions give the same results and gradients."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models import convolution


@pytest.fixture
def always_products(monkeypatch):
    monkeypatch.setattr(convolution, "_LARGE_KERNEL", 0)
    monkeypatch.setattr(convolution, "_FEW_POSITIONS", 10**9)


def random(*shape):
    return tf.constant(np.random.RandomState(0).randn(*shape), tf.float32)


@pytest.mark.parametrize(
    ("height", "width", "size", "stride"),
    [(4, 3, 3, 1), (2, 2, 3, 1), (8, 6, 4, 2), (2, 2, 4, 2), (7, 5, 8, 4), (3, 9, 5, 1)],
)
@pytest.mark.usefixtures("always_products")
def test_convolution(height, width, size, stride):
    x, kernel = random(2, height, width, 3), random(size, size, 3, 4)

    def expected(x, kernel):
        return tf.nn.conv2d(x, kernel, stride, "SAME")

    def ours(x, kernel):
        return convolution.convolve(x, kernel, stride)

    check(ours, expected, x, kernel)


@pytest.mark.parametrize(("height", "width"), [(2, 2), (4, 3), (1, 5)])
@pytest.mark.parametrize("cropped", [(0, 0), (1, 0), (1, 1)])
@pytest.mark.usefixtures("always_products")
def test_transposed_convolution(height, width, cropped):
    x, kernel = random(2, height, width, 3), random(4, 4, 5, 3)
    size = (2 * height - cropped[0], 2 * width - cropped[1])

    def expected(x, kernel):
        full = tf.nn.conv2d_transpose(x, kernel, [2, 2 * height, 2 * width, 5], 2, "SAME")
        return full[:, : size[0], : size[1]]

    def ours(x, kernel):
        return convolution.convolve_transposed(x, kernel, size)

    check(ours, expected, x, kernel)


@pytest.mark.parametrize("cropped", [(0, 0), (1, 0), (1, 1)])
def test_small_transposed_convolution_is_cropped_at_the_end(cropped):
    x, kernel = random(2, 3, 4, 3), random(4, 4, 5, 3)
    size = (6 - cropped[0], 8 - cropped[1])

    def expected(x, kernel):
        full = tf.nn.conv2d_transpose(x, kernel, [2, 6, 8, 5], 2, "SAME")
        return full[:, : size[0], : size[1]]

    def ours(x, kernel):
        return convolution.convolve_transposed(x, kernel, size)

    check(ours, expected, x, kernel)


def check(ours, expected, x, kernel):
    weights = tf.cos(tf.range(ours(x, kernel).shape.num_elements(), dtype=tf.float32))
    results = []
    for function in (ours, expected):
        with tf.GradientTape() as tape:
            tape.watch([x, kernel])
            y = function(x, kernel)
            total = tf.reduce_sum(tf.reshape(y, [-1]) * weights)
        results.append([y, *tape.gradient(total, [x, kernel])])
    for got, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-4)
