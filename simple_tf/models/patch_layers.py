"""Parts of the patch model: frames to patches, residual blocks, patches to outputs and reward."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from simple_tf.models.layers import ConditionalScaleShift, Conv, Dense, NamedLayer

# Channels per position that are kept when all positions are read at once.
_SUMMARY_CHANNELS = 8


class PatchSize:
    """How a frame is cut into square patches; frames are padded to whole patches.

    Args:
        frame_shape: (height, width, channels).
        side: side of a patch in pixels.
    """

    def __init__(self, frame_shape: tuple[int, int, int], side: int) -> None:
        self.side = side
        self.frame_height, self.frame_width, _ = frame_shape
        self.rows, self.columns = -(-self.frame_height // side), -(-self.frame_width // side)

    @property
    def is_exact(self) -> bool:
        """Whether the frame is a whole number of patches."""
        return not (self.frame_height % self.side or self.frame_width % self.side)

    @property
    def num_patches(self) -> int:
        """Patches of a frame."""
        return self.rows * self.columns

    def cut(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, H, W, c] to [B, rows, columns, side * side * c]."""
        bottom = self.rows * self.side - self.frame_height
        right = self.columns * self.side - self.frame_width
        if not self.is_exact:
            x = tf.pad(x, [[0, 0], [0, bottom], [0, right], [0, 0]])
        return tf.nn.space_to_depth(x, self.side)

    def cut_flat(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, H, W, 1] to [B, rows * columns, side * side]."""
        return tf.reshape(self.cut(x), [-1, self.num_patches, self.side**2])

    def join(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, rows, columns, side * side * c] to [B, H, W, c]."""
        whole = tf.nn.depth_to_space(x, self.side)
        if self.is_exact:
            return whole
        return tf.slice(
            whole, [0, 0, 0, 0], [-1, self.frame_height, self.frame_width, whole.shape[3]]
        )


class PatchEmbedding(NamedLayer):
    """From patches to features: one dense layer and a learned vector per position."""

    def __init__(self, size: PatchSize, inputs: int, outputs: int, **options: Any) -> None:
        super().__init__(**options)
        self.dense = Dense(inputs, outputs, name=f"{self.name}/dense", **self.child_options)
        self.position = self.add_variable_at(
            "position", (size.rows, size.columns, outputs), "zeros"
        )

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, rows, columns, inputs] to [B, rows, columns, outputs]."""
        return self.dense(x) + tf.cast(self.position, x.dtype)


class Summary(NamedLayer):
    """Reads all positions at once without forgetting where things are."""

    def __init__(
        self, size: PatchSize, channels: int, units: int, outputs: int, **options: Any
    ) -> None:
        super().__init__(**options)
        children = self.child_options
        self.reduce = Dense(channels, _SUMMARY_CHANNELS, name=f"{self.name}/reduce", **children)
        self.flat_size = size.rows * size.columns * _SUMMARY_CHANNELS
        self.hidden = Dense(self.flat_size, units, name=f"{self.name}/hidden", **children)
        self.output_layer = Dense(units, outputs, name=f"{self.name}/output", **children)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, rows, columns, channels] to [B, outputs]."""
        reduced = tf.reshape(tf.nn.relu(self.reduce(x)), [-1, self.flat_size])
        return self.output_layer(tf.nn.relu(self.hidden(reduced)))


class LocalSummary(NamedLayer):
    """Adds up what every position says for itself; where it is, its features may tell.

    What has been learned about a thing in one place holds for all places. `Summary`, with weights
    of its own for every place, knows things by heart where they are rare.
    """

    def __init__(
        self, size: PatchSize, channels: int, units: int, outputs: int, **options: Any
    ) -> None:
        super().__init__(**options)
        del size
        self.hidden = Dense(channels, units, name=f"{self.name}/hidden", **self.child_options)
        # Zeros: what a hundred positions say at random would add up.
        self.kernel = self.add_variable_at("output/kernel", (units, outputs), "zeros")
        self.bias = self.add_variable_at("output/bias", (outputs,), "zeros")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, rows, columns, channels] to [B, outputs]."""
        hidden = tf.reduce_sum(tf.nn.relu(self.hidden(x)), axis=[1, 2])
        return tf.matmul(hidden, tf.cast(self.kernel, x.dtype)) + tf.cast(self.bias, x.dtype)


SUMMARIES = {"whole": Summary, "local": LocalSummary}


class ConvolutionBlock(NamedLayer):
    """Injects the action, then adds two 3x3 convolutions and a summary of the whole frame."""

    def __init__(
        self, size: PatchSize, channels: int, condition: int, summary_units: int, **options: Any
    ) -> None:
        super().__init__(**options)
        name, children = self.name, self.child_options
        self.action = ConditionalScaleShift(channels, condition, name=f"{name}/action", **children)
        self.first = Conv(channels, channels, 3, name=f"{name}/first", **children)
        self.second = Conv(channels, channels, 3, name=f"{name}/second", **children)
        self.summary = (
            Summary(size, channels, summary_units, channels, name=f"{name}/summary", **children)
            if summary_units
            else None
        )

    def call(self, x: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        """Maps features [B, rows, columns, channels] and one-hot actions [B, condition]."""
        inner = self.first(tf.nn.relu(self.action(x, action)))
        if self.summary is not None:
            inner += self.summary(x)[:, None, None, :]
        return x + self.second(tf.nn.relu(inner))


class ShiftBlock(NamedLayer):
    """As `ConvolutionBlock`, but with plain matrix products, which CPUs compute twice as fast.

    A position sees all of its own channels, and of each of its eight neighbours an eighth of
    them: which ones is fixed, and the layers before learn to put there what a neighbour should
    know. Two dense layers follow.
    """

    # By how much a neighbour's channels are moved, in rows and columns; 1 is not at all.
    _SHIFTS = ((0, 1), (1, 0), (1, 2), (2, 1), (0, 0), (0, 2), (2, 0), (2, 2))
    # Width of the hidden layer, in channels.
    _EXPANSION = 3

    def __init__(
        self, size: PatchSize, channels: int, condition: int, summary_units: int, **options: Any
    ) -> None:
        super().__init__(**options)
        if channels % len(self._SHIFTS):
            raise ValueError(
                f"Blocks that shift need channels in multiples of {len(self._SHIFTS)}, not "
                f"{channels}."
            )
        name, children, hidden = self.name, self.child_options, self._EXPANSION * channels
        self.action = ConditionalScaleShift(channels, condition, name=f"{name}/action", **children)
        self.first = Dense(2 * channels, hidden, name=f"{name}/first", **children)
        self.second = Dense(hidden, channels, name=f"{name}/second", **children)
        self.summary = (
            Summary(size, channels, summary_units, hidden, name=f"{name}/summary", **children)
            if summary_units
            else None
        )

    def call(self, x: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        """Maps features [B, rows, columns, channels] and one-hot actions [B, condition]."""
        own = tf.nn.relu(self.action(x, action))
        inner = self.first(tf.concat([own, *self._neighbours(own)], axis=-1))
        if self.summary is not None:
            inner += self.summary(x)[:, None, None, :]
        return x + self.second(tf.nn.relu(inner))

    def _neighbours(self, x: tf.Tensor) -> list[tf.Tensor]:
        """Returns what each of the neighbours shows of itself, [B, rows, columns, channels / 8]."""
        _, rows, columns, channels = x.shape
        width = channels // len(self._SHIFTS)
        padded = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
        return [
            tf.slice(padded, [0, row, column, number * width], [-1, rows, columns, width])
            for number, (row, column) in enumerate(self._SHIFTS)
        ]


BLOCKS = {"convolution": ConvolutionBlock, "shift": ShiftBlock}
