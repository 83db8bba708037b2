"""The convolutional encoder and decoder that all world models of the paper share."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from simple_tf.models.layers import (
    ConditionalScaleShift,
    Conv,
    Dense,
    LayerNorm,
    NamedLayer,
    PositionSignal,
    TransposedConv,
    halved_sizes,
    pad_to_even,
)
from simple_tf.models.noise import Noise


@dataclasses.dataclass(frozen=True)
class NetworkSize:
    """Sizes of the frame network.

    Attributes:
        frame_shape: (height, width, channels) of a frame.
        hidden_size: channels at full resolution; also the width of an action embedding.
        compress_steps: number of halvings.
        doubling_steps: how many of the first halvings double the channels.
        dropout: rate before every down and up step, in training only.
    """

    frame_shape: tuple[int, int, int]
    hidden_size: int
    compress_steps: int
    doubling_steps: int
    dropout: float

    @property
    def spatial(self) -> list[tuple[int, int]]:
        """Image sizes from full resolution down to the bottom."""
        height, width, _ = self.frame_shape
        return halved_sizes(height, width, self.compress_steps)

    def channels(self, level: int) -> int:
        """Channels after `level` halvings."""
        return self.hidden_size * 2 ** min(level, self.doubling_steps)

    @property
    def bottom_channels(self) -> int:
        """Channels at the bottom."""
        return self.channels(self.compress_steps)

    @property
    def bottom_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) at the bottom."""
        height, width = self.spatial[-1]
        return height, width, self.bottom_channels


class DownStep(NamedLayer):
    """Position signal, 4x4 convolution of stride 2, ReLU, layer norm."""

    def __init__(self, size: tuple[int, int], inputs: int, outputs: int, **options: Any) -> None:
        super().__init__(**options)
        height, width = size
        self.position = PositionSignal(height + height % 2, width + width % 2, inputs)
        self.conv = Conv(
            inputs, outputs, 4, 2, tf.nn.relu, name=f"{self.name}/conv", **self.child_options
        )
        self.norm = LayerNorm(outputs, name=f"{self.name}/norm", **self.child_options)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, H, W, inputs] to [B, ceil(H / 2), ceil(W / 2), outputs]."""
        return self.norm(self.conv(self.position(pad_to_even(x))))


class UpStep(NamedLayer):
    """Action, transposed 4x4 convolution to the skip's size, sum, layer norm, position signal."""

    def __init__(
        self, size: tuple[int, int], inputs: int, outputs: int, condition: int, **options: Any
    ) -> None:
        super().__init__(**options)
        children = self.child_options
        self.action = ConditionalScaleShift(
            inputs, condition, name=f"{self.name}/action", **children
        )
        self.conv = TransposedConv(size, inputs, outputs, name=f"{self.name}/conv", **children)
        self.norm = LayerNorm(outputs, name=f"{self.name}/norm", **children)
        self.position = PositionSignal(*size, outputs)

    def call(self, x: tf.Tensor, skip: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        """Maps [B, h, w, inputs] and the skip [B, H, W, outputs] to the skip's shape."""
        return self.position(self.norm(self.conv(self.action(x, action)) + skip))


class FrameEncoder(NamedLayer):
    """From stacked standardised inputs to the bottom activation.

    Args:
        size: sizes of the network.
        inputs: channels of the stacked input.
        **options: see `NamedLayer`.
    """

    def __init__(self, size: NetworkSize, inputs: int, **options: Any) -> None:
        super().__init__(**options)
        children = self.child_options
        self.dropout_rate = size.dropout
        # A small random bias keeps uniform (all-zero) inputs from dying.
        self.embed = Dense(inputs, size.hidden_size, 0.01, name="embed", **children)
        self.position = PositionSignal(*size.spatial[0], size.hidden_size)
        self.steps = [
            DownStep(
                size.spatial[i],
                size.channels(i),
                size.channels(i + 1),
                name=f"down_{i}",
                **children,
            )
            for i in range(size.compress_steps)
        ]
        self.action = ConditionalScaleShift(
            size.bottom_channels, size.hidden_size, name="action", **children
        )

    def call(
        self, x: tf.Tensor, action: tf.Tensor, noise: Noise | None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Encodes one network input.

        Args:
            x: [B, H, W, inputs].
            action: embedded action [B, F].
            noise: source for dropout; None: no dropout.

        Returns:
            The bottom activation with the action injected, and the input of every down step.
        """
        x = self.position(self.embed(x))
        skips = []
        for step in self.steps:
            skips.append(x)
            x = step(x if noise is None else noise.dropout(x, self.dropout_rate))
        return self.action(x, action), skips


class FrameDecoder(NamedLayer):
    """From the middle activation and the skips to features at full resolution."""

    def __init__(self, size: NetworkSize, **options: Any) -> None:
        super().__init__(**options)
        self.dropout_rate = size.dropout
        levels = range(size.compress_steps, 0, -1)
        self.steps = [
            UpStep(
                size.spatial[level - 1],
                size.channels(level),
                size.channels(level - 1),
                size.hidden_size,
                name=f"up_{i}",
                **self.child_options,
            )
            for i, level in enumerate(levels)
        ]

    def call(
        self, x: tf.Tensor, skips: list[tf.Tensor], action: tf.Tensor, noise: Noise | None
    ) -> tf.Tensor:
        """Returns features [B, H, W, F]; arguments as for the encoder."""
        for step, skip in zip(self.steps, reversed(skips), strict=True):
            x = step(x if noise is None else noise.dropout(x, self.dropout_rate), skip, action)
        return x


class ConvMiddle(NamedLayer):
    """3x3 convolutions at the bottom, all but the first residual and layer-normalised."""

    def __init__(self, channels: int, layers: int, dropout: float, **options: Any) -> None:
        super().__init__(**options)
        children = self.child_options
        self.dropout_rate = dropout
        self.convs = [
            Conv(channels, channels, 3, 1, tf.nn.relu, name=f"middle_{i}/conv", **children)
            for i in range(layers)
        ]
        self.norms = [
            LayerNorm(channels, name=f"middle_{i}/norm", **children) for i in range(1, layers)
        ]

    def call(self, x: tf.Tensor, noise: Noise | None) -> tf.Tensor:
        """Maps [B, h, w, channels] to the same shape."""
        for i, conv in enumerate(self.convs):
            y = conv(x if noise is None else noise.dropout(x, self.dropout_rate))
            x = y if i == 0 else self.norms[i - 1](x + y)
        return x


class RewardHead(NamedLayer):
    """Reward logits from the spatial means of the bottom and of the final features."""

    HIDDEN = 128

    def __init__(self, inputs: int, classes: int, **options: Any) -> None:
        super().__init__(**options)
        self.hidden = Dense(
            inputs, self.HIDDEN, activation=tf.nn.relu, name="reward/hidden", **self.child_options
        )
        initializer = tf.keras.initializers.RandomNormal(
            0.0, self.HIDDEN**-0.5, seed=self.variable_seed("weights")
        )
        self.weights_out = self.add_variable_at("weights", (classes, self.HIDDEN), initializer)

    def call(self, bottom: tf.Tensor, features: tf.Tensor) -> tf.Tensor:
        """Maps [B, h, w, F'] and [B, H, W, F] to logits [B, R]."""
        # One axis after the other: both at once take twice as long.
        means = [
            tf.reduce_mean(tf.reduce_mean(tf.cast(x, tf.float32), axis=1), axis=1)
            for x in (bottom, features)
        ]
        hidden = self.hidden(tf.concat(means, axis=-1))
        return tf.matmul(hidden, self.weights_out, transpose_b=True)


class ActionEmbedding(NamedLayer):
    """Learned action vectors; action 0 is the zero vector, as in the original."""

    def __init__(self, num_actions: int, size: int, **options: Any) -> None:
        super().__init__(**options)
        self.num_actions = num_actions
        initializer = tf.keras.initializers.RandomNormal(
            0.0, size**-0.5, seed=self.variable_seed("table")
        )
        self.table = self.add_variable_at("table", (num_actions, size), initializer)

    def call(self, actions: tf.Tensor) -> tf.Tensor:
        """Maps int32 [...] to [..., size]."""
        weights = tf.one_hot(actions, self.num_actions, dtype=self.compute_dtype)
        weights *= tf.cast(actions != 0, weights.dtype)[..., None]
        return tf.tensordot(weights, self.table, 1) * self.table.shape[1] ** 0.5
