"""Heads: losses, their clipping, and decoding."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.heads import L2Head, PaletteHead, SoftmaxHead
from simple_tf.models.losses import cross_entropy
from simple_tf.models.palette import Palette

SHAPE = (2, 5, 4)


@pytest.fixture
def frames():
    return np.random.RandomState(0).randint(0, 256, (*SHAPE, 3)).astype(np.uint8)


def palette_of(frames, capacity=64):
    palette = Palette(capacity)
    palette.update(frames)
    return palette


def numpy_cross_entropy(logits, labels):
    shifted = logits - logits.max(-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.take_along_axis(log_probabilities, labels[..., None], -1)[..., 0]


def test_cross_entropy_and_its_gradient_agree_with_numpy():
    rng = np.random.RandomState(1)
    logits, labels = rng.randn(3, 7).astype(np.float32), rng.randint(0, 7, 3)
    variable = tf.Variable(logits)
    with tf.GradientTape() as tape:
        losses = cross_entropy(variable, labels)
    np.testing.assert_allclose(losses, numpy_cross_entropy(logits, labels), rtol=1e-5)
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    expected = probabilities - np.eye(7)[labels]
    np.testing.assert_allclose(tape.gradient(losses, variable), expected, atol=1e-6)


def test_softmax_loss_is_the_mean_of_the_clipped_cross_entropies(frames):
    head = SoftmaxHead(3, clip=5.0)
    outputs = np.random.RandomState(2).randn(*SHAPE, 768).astype(np.float32)
    losses = numpy_cross_entropy(outputs.reshape(*SHAPE, 3, 256), frames.astype(int))
    expected = np.maximum(losses - 5.0, 0.0).mean((1, 2, 3))
    np.testing.assert_allclose(head.loss(tf.constant(outputs), frames), expected, rtol=1e-5)


def test_l2_loss_is_the_mean_of_the_clipped_squared_errors(frames):
    head = L2Head(3)
    values = np.random.RandomState(3).uniform(0, 255, (*SHAPE, 3))
    outputs = tf.constant(values / 63.75 - 2.0, tf.float32)
    expected = np.maximum((values - frames) ** 2 - 10.0, 0.0).mean((1, 2, 3))
    np.testing.assert_allclose(head.loss(outputs, frames), expected, rtol=1e-4)


def perfect_outputs(head, frames):
    """Returns outputs that name the frames with certainty."""
    if isinstance(head, L2Head):
        return frames.astype(np.float32) / 63.75 - 2.0
    if isinstance(head, SoftmaxHead):
        return 50.0 * np.eye(256, dtype=np.float32)[frames].reshape(*SHAPE, 768)
    return 50.0 * tf.one_hot(head.palette.encode(frames), head.num_outputs).numpy()


@pytest.mark.parametrize("name", ["softmax", "l2", "palette"])
def test_confident_pixels_decode_exactly_and_get_exactly_no_gradient(name, frames):
    heads = {"softmax": SoftmaxHead(3), "l2": L2Head(3), "palette": PaletteHead(palette_of(frames))}
    head = heads[name]
    outputs = perfect_outputs(head, frames)
    outputs[0, 0, 0] = -outputs[0, 0, 0]  # One wrong pixel must still learn.
    outputs = tf.Variable(outputs)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(head.loss(outputs, frames))
    gradient = tape.gradient(loss, outputs).numpy()
    assert np.any(gradient[0, 0, 0] != 0.0)
    gradient[0, 0, 0] = 0.0
    assert not np.any(gradient)
    decoded = head.decode(outputs).numpy()
    assert decoded.dtype == np.uint8
    np.testing.assert_array_equal(decoded[1], frames[1])
    np.testing.assert_array_equal(decoded[0, 1:], frames[0, 1:])


def test_palette_head_never_predicts_an_empty_slot(frames):
    head = PaletteHead(palette_of(frames[:1, :1, :2], capacity=8))
    outputs = tf.constant(np.arange(8, dtype=np.float32) * tf.ones([*SHAPE, 8]).numpy())
    known = {tuple(colour) for colour in frames[0, 0, :2]}
    assert {tuple(pixel) for pixel in head.decode(outputs).numpy().reshape(-1, 3)} <= known
