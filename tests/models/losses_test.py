"""The cross-entropy is the definition's, at certain and at impossible labels too."""

import numpy as np
import tensorflow as tf

from simple_tf.models.losses import cross_entropy


def reference(logits, labels):
    """Losses and probabilities in float64."""
    wide = logits.astype(np.float64)
    wide -= wide.max(-1, keepdims=True)
    log_probabilities = wide - np.log(np.exp(wide).sum(-1, keepdims=True))
    losses = -np.take_along_axis(log_probabilities, labels[..., None], -1)[..., 0]
    return losses, np.exp(log_probabilities)


def random_case(scale):
    rng = np.random.RandomState(0)
    logits = (scale * rng.randn(3, 50, 256)).astype(np.float32)
    return logits, rng.randint(0, 256, (3, 50)).astype(np.int32)


def test_losses_equal_the_definition_over_all_magnitudes():
    for scale in (0.0, 1e-3, 1.0, 30.0, 1e4):
        logits, labels = random_case(scale)
        expected, _ = reference(logits, labels)
        np.testing.assert_allclose(cross_entropy(logits, labels), expected, rtol=2e-6, atol=1e-6)


def test_a_certain_label_costs_nothing_and_an_impossible_one_its_distance():
    logits = np.zeros((1, 256), np.float32)
    logits[0, 7] = 500.0
    np.testing.assert_array_equal(cross_entropy(logits, np.array([7])), [0.0])
    np.testing.assert_array_equal(cross_entropy(logits, np.array([8])), [500.0])


def test_gradients_equal_the_definition_and_vanish_below_the_clip():
    logits, labels = random_case(4.0)
    logits[0, :, 0], labels[0] = 60.0, 0  # Certain, hence clipped.
    weights = np.random.RandomState(1).rand(3, 50).astype(np.float32)
    x = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(weights * cross_entropy(x, labels, clip=0.03))
    losses, probabilities = reference(logits, labels)
    expected = (probabilities - np.eye(256)[labels]) * (weights * (losses > 0.03))[..., None]
    gradient = tape.gradient(total, x).numpy()
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
    assert not gradient[0].any()
    assert gradient[1:].any()
