"""The original's policy: one small convolutional trunk, action logits and a value."""

from __future__ import annotations

import zlib

import gin
import numpy as np
import tensorflow as tf

from simple_tf.frame_normaliser import FrameNormaliser

# The iteration to name when the policy is evaluated, or when the number is to be hidden from it.
NO_ITERATION = -1

_INPUTS = ("pixels", "differences", "both")


@gin.configurable(denylist=["observation_shape", "num_actions", "seed"])
class PolicyNetwork(tf.keras.Model):
    """Action logits and a value from the last K frames and the number of the iteration.

    The original asks for dropout before the hidden layer, but never switches it on: there is none.

    Args:
        observation_shape: (K, height, width, channels).
        num_actions: number of actions.
        filters: channels of both convolutions.
        hidden_size: units of the hidden layer.
        embedding_rows: iterations that can be told apart, plus one for `NO_ITERATION`; later
            iterations share the last row.
        embedding_size: width of an iteration's embedding.
        inputs: how frames are shown: "pixels" divided by 255, as in the original; "differences"
            from the game's usual image, see `adapt`, in which what is small and moves is as large
            as the rest; or "both".
        output_gain: of the initial weights of logits and value; small: all actions are about
            equally likely at first.
        precision: Keras dtype policy: float32, mixed_bfloat16 or mixed_float16; weights and
            results are float32 in all of them.
        seed: of the initial weights.
    """

    KERNEL = 5
    STRIDE = 2
    INITIALIZER_GAIN = 1.5

    def __init__(
        self,
        observation_shape: tuple[int, int, int, int],
        num_actions: int,
        filters: int = 32,
        hidden_size: int = 128,
        embedding_rows: int = 32,
        embedding_size: int = 32,
        inputs: str = "pixels",
        output_gain: float = INITIALIZER_GAIN,
        precision: str = "float32",
        seed: int = 0,
    ) -> None:
        super().__init__(name="policy", dtype=tf.keras.mixed_precision.Policy(precision))
        frames, height, width, channels = observation_shape
        self.observation_shape = tuple(observation_shape)
        self.num_actions = num_actions
        self._seed = seed
        if inputs not in _INPUTS:
            choices = ", ".join(_INPUTS)
            raise ValueError(f"PolicyNetwork.inputs must be one of {choices}, not {inputs!r}.")
        self.inputs = inputs
        shows_differences = inputs != "pixels"
        self.normaliser = FrameNormaliser((height, width, channels)) if shows_differences else None
        self.convs = [self._conv(f"conv_{i}", filters) for i in range(2)]
        self.iterations = self.add_weight(
            "iterations/table",
            (embedding_rows, embedding_size),
            initializer=self._orthogonal("iterations"),
        )
        self.hidden = self._dense("hidden", hidden_size, "relu")
        self.logits_layer = self._dense("logits", num_actions, gain=output_gain)
        self.value_layer = self._dense("value", 1, gain=output_gain)
        # All variables exist before the first frame: countable, loadable, checkpointable.
        views = 2 if inputs == "both" else 1
        _build(self.convs[0], (None, height, width, views * frames * channels))
        _build(self.convs[1], (None, None, None, filters))
        _build(self.hidden, (None, flattened_size(height, width, filters) + embedding_size))
        _build(self.logits_layer, (None, hidden_size))
        _build(self.value_layer, (None, hidden_size))
        self.built = True

    def call(
        self, observations: tf.Tensor, iteration: int | tf.Tensor = NO_ITERATION
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Maps observations to action logits [B, A] and values [B].

        Args:
            observations: uint8 [B, K, H, W, C], oldest frame first.
            iteration: int32, a scalar or [B]; counted from 0, or `NO_ITERATION`.
        """
        self._check(observations)
        x = tf.transpose(self._shown(observations), [0, 2, 3, 1, 4])  # [B, H, W, K or 2K, C]
        x = tf.reshape(x, [-1, *x.shape[1:3], x.shape[3] * x.shape[4]])
        for conv in self.convs:
            x = conv(x)
        x = tf.reshape(x, [-1, x.shape[1] * x.shape[2] * x.shape[3]])
        hidden = self.hidden(tf.concat([x, self._embed(iteration, tf.shape(x)[0])], axis=-1))
        logits, values = self.logits_layer(hidden), self.value_layer(hidden)[:, 0]
        return tf.cast(logits, tf.float32), tf.cast(values, tf.float32)

    @property
    def has_to_see_the_game(self) -> bool:
        """Whether it is to be shown differences, and does not know yet from what."""
        return self.normaliser is not None and not bool(self.normaliser.is_set.numpy())

    def adapt(self, frames: np.ndarray) -> None:
        """Learns the game's usual image from uint8 frames [N, H, W, C], if it is shown.

        Only the first call counts, see `FrameNormaliser`.
        """
        if self.normaliser is not None:
            self.normaliser.adapt(frames)

    def _shown(self, observations: tf.Tensor) -> tf.Tensor:
        """Maps uint8 [B, K, H, W, C] to floats of the same shape; "both": [B, 2K, H, W, C]."""
        pixels = tf.cast(observations, self.compute_dtype) / 255.0
        if self.normaliser is None:
            return pixels
        differences = tf.cast(self.normaliser(observations), self.compute_dtype)
        return tf.concat([differences, pixels], axis=1) if self.inputs == "both" else differences

    def _embed(self, iteration: int | tf.Tensor, batch_size: tf.Tensor) -> tf.Tensor:
        row = tf.clip_by_value(tf.cast(iteration, tf.int32) + 1, 0, self.iterations.shape[0] - 1)
        return tf.gather(self.iterations, tf.broadcast_to(row, [batch_size]))

    def _check(self, observations: tf.Tensor) -> None:
        shape = observations.shape
        if shape.rank != 5 or tuple(shape[1:]) != self.observation_shape:
            raise ValueError(
                f"Observations have shape {shape}, but this policy was built for "
                f"{self.observation_shape} after the batch axis."
            )
        if observations.dtype != tf.uint8:
            raise ValueError(f"Observations must be uint8, not {observations.dtype.name}.")

    def _conv(self, name: str, filters: int) -> tf.keras.layers.Conv2D:
        return tf.keras.layers.Conv2D(
            filters,
            self.KERNEL,
            self.STRIDE,
            "same",
            activation="relu",
            kernel_initializer=self._orthogonal(name),
            dtype=self._dtype_policy,
            name=name,
        )

    def _dense(
        self,
        name: str,
        units: int,
        activation: str | None = None,
        gain: float = INITIALIZER_GAIN,
    ) -> tf.keras.layers.Dense:
        return tf.keras.layers.Dense(
            units,
            activation,
            kernel_initializer=self._orthogonal(name, gain),
            dtype=self._dtype_policy,
            name=name,
        )

    def _orthogonal(
        self, name: str, gain: float = INITIALIZER_GAIN
    ) -> tf.keras.initializers.Initializer:
        seed = zlib.crc32(f"{self._seed}/policy/{name}".encode()) & 0x7FFFFFFF
        return tf.keras.initializers.Orthogonal(gain, seed=seed)


def flattened_size(height: int, width: int, filters: int) -> int:
    """Returns the number of activations after the two convolutions."""
    for _ in range(2):
        height, width = -(-height // PolicyNetwork.STRIDE), -(-width // PolicyNetwork.STRIDE)
    return height * width * filters


def _build(layer: tf.keras.layers.Layer, shape: tuple[int | None, ...]) -> None:
    """Creates a layer's variables under names that start with the layer's."""
    with tf.name_scope(layer.name):
        layer.build(shape)
