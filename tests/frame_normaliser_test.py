"""What a network is shown instead of pixels."""

import numpy as np
import tensorflow as tf

from simple_tf.frame_normaliser import FrameNormaliser

SHAPE = (10, 9, 1)


def test_the_normaliser_takes_the_first_median_image_and_keeps_it():
    frames = np.random.RandomState(0).randint(0, 256, (50, *SHAPE)).astype(np.uint8)
    normaliser = FrameNormaliser(SHAPE)
    normaliser.adapt(frames)
    np.testing.assert_array_equal(normaliser.background.numpy(), np.sort(frames, axis=0)[24])
    shown = normaliser(tf.constant(frames)).numpy()
    assert abs(np.sqrt((shown**2).mean()) - 1.0) < 1e-3
    normaliser.adapt(np.zeros_like(frames))
    np.testing.assert_array_equal(normaliser(tf.constant(frames)), shown)
