import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.nature_network import NatureNetwork


def test_is_the_network_of_the_paper_in_nature():
    network = NatureNetwork((4, 84, 84, 1), 6)
    assert network.encoder.size == 7 * 7 * 64
    shapes = [tuple(variable.shape) for variable in network.trainable_variables]
    assert (8, 8, 4, 32) in shapes
    assert (3136, 512) in shapes
    observations = tf.zeros([2, 4, 84, 84, 1], tf.uint8)
    logits, values = network(observations, 3)
    assert (logits.shape, values.shape) == ((2, 6), (2,))


def test_frames_of_a_stack_are_channels_and_weights_come_from_the_seed():
    one, same, other = (NatureNetwork((2, 8, 9, 3), 4, ((4, 3, 2),), 8, s) for s in (1, 1, 2))
    observations = np.random.default_rng(0).integers(0, 256, (5, 2, 8, 9, 3), np.uint8)
    np.testing.assert_array_equal(one(observations)[0], same(observations)[0])
    assert not np.array_equal(one(observations)[0], other(observations)[0])
    pixels = np.concatenate([observations[:, 0], observations[:, 1]], -1) / 255.0
    expected = one.encoder.convs[0](tf.constant(pixels, tf.float32))
    np.testing.assert_allclose(one.encoder(observations), tf.reshape(expected, [5, -1]), 1e-4, 1e-5)


def test_small_frames_are_refused():
    with pytest.raises(ValueError, match="Frames of 20x20 are too small"):
        NatureNetwork((4, 20, 20, 1), 6)
