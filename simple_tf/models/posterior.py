"""The network that looks at the target frame to infer a latent (training only)."""

from __future__ import annotations

import tensorflow as tf

from simple_tf.models.layers import (
    ConditionalScaleShift,
    Conv,
    Dense,
    MeanWithAttention,
    NamedLayer,
    PositionSignal,
)


class PosteriorNetwork(NamedLayer):
    """Looks at the input and target frames and returns one vector per example.

    It always computes in float32: bits are decided by small differences, and oneDNN's bfloat16
    filter gradient is not finite for kernels larger than their image.

    Args:
        frame_size: (height, width).
        inputs: channels of input frames and target frame together.
        hidden_size: channels of the embedding, width of an action embedding.
        filters: channels of the two convolutions.
        name: see `NamedLayer`.
        seed: see `NamedLayer`.
    """

    FILTERS = (128, 512)

    def __init__(
        self,
        frame_size: tuple[int, int],
        inputs: int,
        hidden_size: int,
        filters: tuple[int, int] = FILTERS,
        name: str = "posterior",
        seed: int = 0,
    ) -> None:
        super().__init__(name=name, seed=seed)
        children = self.child_options
        first, second = filters
        self.num_outputs = 2 * (first + second)
        self.embed = Dense(inputs, hidden_size, 0.01, name=f"{self.name}/embed", **children)
        self.position = PositionSignal(*frame_size, hidden_size)
        self.action = ConditionalScaleShift(
            hidden_size, hidden_size, name=f"{self.name}/action", **children
        )
        self.convs = [
            Conv(hidden_size, first, 8, 4, name=f"{self.name}/conv_0", **children),
            Conv(first, second, 8, 4, name=f"{self.name}/conv_1", **children),
        ]
        self.pools = [
            MeanWithAttention(channels, name=f"{self.name}/pool_{i}", **children)
            for i, channels in enumerate(filters)
        ]

    def call(self, frames: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        """Maps standardised frames [B, H, W, inputs] and action [B, F] to [B, num_outputs]."""
        x = self.action(self.position(self.embed(frames)), action)
        first = self.convs[0](x)
        second = self.convs[1](tf.nn.relu(first))
        return tf.concat([self.pools[0](first), self.pools[1](second)], axis=-1)
