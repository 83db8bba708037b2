"""What a model's last layer means: losses on frames, and frames from predictions.

A head is a description without trainable weights: the model owns one dense layer of
`num_outputs` units per pixel, the head gives them their meaning. So every model works with
every head.
"""

from __future__ import annotations

from typing import Protocol

import gin
import tensorflow as tf

from simple_tf.models.losses import clipped, cross_entropy
from simple_tf.models.palette import Palette

VALUES = 256


class FrameHead(Protocol):
    """What a model needs from a head."""

    @property
    def num_outputs(self) -> int:
        """Outputs per pixel."""

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """Returns the loss [B] of outputs [B, H, W, num_outputs] on uint8 frames [B, H, W, C]."""

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the likeliest uint8 frames [B, H, W, C]."""


@gin.configurable(denylist=["channels"])
class SoftmaxHead(tf.Module):
    """A 256-way softmax per pixel and channel with a clipped cross-entropy.

    Args:
        channels: channels of a frame.
        clip: cross-entropy below which a pixel is good enough: its loss and gradient are 0.
    """

    def __init__(self, channels: int, clip: float = 0.03) -> None:
        super().__init__()
        self.channels = channels
        self.clip = clip

    @property
    def num_outputs(self) -> int:
        """See `FrameHead`."""
        return self.channels * VALUES

    def logits(self, outputs: tf.Tensor) -> tf.Tensor:
        """Reshapes outputs to logits [B, H, W, C, V]."""
        _, height, width, _ = outputs.shape
        return tf.reshape(outputs, [-1, height, width, self.channels, VALUES])

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """See `FrameHead`."""
        losses = cross_entropy(self.logits(outputs), frames, self.clip)
        return tf.reduce_mean(losses, axis=[1, 2, 3])

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """See `FrameHead`."""
        return tf.cast(tf.argmax(self.logits(outputs), -1, output_type=tf.int32), tf.uint8)


@gin.configurable(denylist=["channels"])
class L2Head(tf.Module):
    """One real value per pixel and channel with a clipped squared error.

    Args:
        channels: channels of a frame.
        clip: squared error below which a pixel is good enough.
    """

    def __init__(self, channels: int, clip: float = 10.0) -> None:
        super().__init__()
        self.channels = channels
        self.clip = clip

    @property
    def num_outputs(self) -> int:
        """See `FrameHead`."""
        return self.channels

    def values(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns float32 pixel values: outputs 0 and +-2 are mid-grey, white and black.

        Initial outputs are of order 1, so they start inside the range of pixels.
        """
        return 0.25 * (VALUES - 1) * (tf.cast(outputs, tf.float32) + 2.0)

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """See `FrameHead`."""
        errors = tf.math.squared_difference(self.values(outputs), tf.cast(frames, tf.float32))
        return tf.reduce_mean(clipped(errors, self.clip), axis=[1, 2, 3])

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """See `FrameHead`."""
        values = tf.clip_by_value(tf.round(self.values(outputs)), 0.0, VALUES - 1)
        return tf.cast(values, tf.uint8)


@gin.configurable(denylist=["palette"])
class PaletteHead(tf.Module):
    """A softmax per pixel over the colours of the game.

    Args:
        palette: the colours; slots not filled yet are never predicted.
        clip: cross-entropy below which a pixel is good enough.
    """

    def __init__(self, palette: Palette, clip: float = 0.03) -> None:
        super().__init__()
        self.palette = palette
        self.clip = clip

    @property
    def num_outputs(self) -> int:
        """See `FrameHead`."""
        return self.palette.capacity

    def logits(self, outputs: tf.Tensor) -> tf.Tensor:
        """Masks the slots that hold no colour; float32 [B, H, W, capacity]."""
        filled = tf.range(self.palette.capacity) < self.palette.size
        return tf.where(filled, tf.cast(outputs, tf.float32), -1e9)

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """See `FrameHead`. Colours outside the palette count as the nearest inside."""
        losses = cross_entropy(self.logits(outputs), self.palette.encode(frames), self.clip)
        return tf.reduce_mean(losses, axis=[1, 2])

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """See `FrameHead`."""
        indices = tf.argmax(self.logits(outputs), axis=-1, output_type=tf.int32)
        return self.palette.decode(indices)
