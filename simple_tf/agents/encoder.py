"""Frames to features, as the model-free learners' authors have it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import tensorflow as tf

Convolution = tuple[int, int, int]
"""Filters, width of the kernel, stride."""

# Mnih et al. (2015); OpenAI baselines and Dopamine use it, too.
NATURE: tuple[Convolution, ...] = ((32, 8, 4), (64, 4, 2), (64, 3, 1))

MakeInitializer = Callable[[int], tf.keras.initializers.Initializer]
"""Makes an initialiser from a seed."""


class Encoder(tf.keras.layers.Layer):
    """Convolutions, flattened; pixels are divided by 255.

    Args:
        observation_shape: (K, height, width, channels).
        convolutions: one after the other, each with ReLU.
        initializer: of the kernels.
        seed: of the initial weights.
        padding: of all convolutions, "valid" (none) or "same".

    Attributes:
        size: features of one observation.
    """

    def __init__(
        self,
        observation_shape: Sequence[int],
        convolutions: Sequence[Convolution],
        initializer: MakeInitializer,
        seed: int,
        padding: str = "valid",
    ) -> None:
        super().__init__(name="encoder")
        frames, height, width, channels = observation_shape
        self.observation_shape = tuple(observation_shape)
        self.convs = []
        shape = (height, width, frames * channels)
        for number, (filters, kernel, stride) in enumerate(convolutions):
            if padding == "valid" and min(shape[:2]) < kernel:
                raise ValueError(f"Frames of {height}x{width} are too small for {convolutions}.")
            name = f"conv_{number}"
            conv = tf.keras.layers.Conv2D(
                filters,
                kernel,
                stride,
                padding,
                activation="relu",
                kernel_initializer=initializer(named_seed(seed, name)),
                name=name,
            )
            conv.build((None, *shape))
            self.convs.append(conv)
            shape = conv.compute_output_shape((None, *shape))[1:]
        self.size = shape[0] * shape[1] * shape[2]
        self.built = True

    def call(self, observations: tf.Tensor) -> tf.Tensor:
        """Maps observations, uint8 [B, K, H, W, C], to features, [B, size]."""
        _, frames, height, width, channels = (None, *self.observation_shape)
        x = tf.transpose(observations, [0, 2, 3, 1, 4])  # [B, H, W, K, C]
        x = tf.reshape(x, [-1, height, width, frames * channels])
        x = tf.cast(x, tf.float32) / 255.0
        for conv in self.convs:
            x = conv(x)
        return tf.reshape(x, [-1, self.size])


def named_seed(seed: int, name: str) -> int:
    """A seed for the initial weights of one layer."""
    return zlib.crc32(f"{seed}/{name}".encode()) & 0x7FFFFFFF


def dense(
    name: str,
    inputs: int,
    units: int,
    initializer: MakeInitializer,
    seed: int,
    activation: str | None = None,
) -> tf.keras.layers.Dense:
    """Makes a dense layer, built."""
    kernel = initializer(named_seed(seed, name))
    layer = tf.keras.layers.Dense(units, activation, kernel_initializer=kernel, name=name)
    layer.build((None, inputs))
    return layer
