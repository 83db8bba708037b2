"""Frames as networks learn from them fastest."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from simple_tf.replicas import ByteVariable


class FrameNormaliser(tf.Module):
    """Shows a network what differs from the game's usual image.

    Args:
        frame_shape: (height, width, channels).
    """

    def __init__(self, frame_shape: tuple[int, int, int]) -> None:
        super().__init__(name="normaliser")
        self.background = ByteVariable(np.full(frame_shape, 128, np.uint8))
        self.scale = tf.Variable(1.0 / 64.0, trainable=False)
        self.is_set = tf.Variable(False, trainable=False)

    def adapt(self, frames: np.ndarray) -> None:
        """Takes every pixel's median over uint8 frames [N, H, W, C]; only the first call counts.

        Later calls are ignored because the weights have been trained with the first image.
        """
        if bool(self.is_set.numpy()):
            return
        # The lower one of two medians: a shade that the channel really has had.
        median = np.sort(frames, axis=0)[(len(frames) - 1) // 2]
        deviation = float(np.sqrt(np.mean((frames - median.astype(np.float32)) ** 2)))
        self.background.assign(median)
        self.scale.assign(1.0 / max(deviation, 1.0))
        self.is_set.assign(True)

    def __call__(self, frames: tf.Tensor) -> tf.Tensor:
        """Maps uint8 [..., H, W, C] to float32 of about unit deviation."""
        usual = tf.cast(self.background.read_value(), tf.float32)
        return (tf.cast(frames, tf.float32) - usual) * self.scale
