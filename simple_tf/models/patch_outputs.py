"""The last layers of the patch model, in the order in which a CPU computes them fastest.

Every pixel gets a few features, from its patch and from its neighbourhood, and one small matrix
turns the features of any pixel into outputs: what has been learned at one place of a patch holds
at all. Outputs are kept as [outputs, B, pixels], pixels ordered by patch: maximum, softmax and
loss then run over the first axis, so that neighbouring pixels share a vector instruction, and
only the finished frame is put together from patches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from simple_tf.models.heads import FrameHead, PaletteHead
from simple_tf.models.layers import Conv, Dense, NamedLayer
from simple_tf.models.losses import clipped
from simple_tf.models.patch_layers import PatchSize

# The prior's table is stored divided by this: it has to reach logits of several units, for which
# steps of the size that suits the kernels would be too small.
_PRIOR_SCALE = 10.0
_NEVER = -1e9


class PixelFeatures(NamedLayer):
    """From features of patches and blocks of input pixels to features of pixels.

    Args:
        size: how frames are cut.
        channels: width of the patches' features.
        inputs: channels of a block.
        features: features per pixel.
        local_channels: width of the branch that looks at each block's neighbourhood; 0: none.
        **options: see `NamedLayer`.
    """

    def __init__(
        self,
        size: PatchSize,
        channels: int,
        inputs: int,
        features: int,
        local_channels: int,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        name, children = self.name, self.child_options
        self.size = size
        self.features = features
        self.patches = Dense(
            channels, features * size.num_pixels, name=f"{name}/patches", **children
        )
        self.has_local = bool(local_channels)
        if self.has_local:
            width = features * size.BLOCK**2
            self.first = Conv(
                inputs, local_channels, 3, 1, tf.nn.relu, name=f"{name}/first", **children
            )
            self.second = Dense(local_channels, width, name=f"{name}/second", **children)

    def local(self, blocks: tf.Tensor) -> tf.Tensor | None:
        """Maps blocks of input pixels to [B, patches, side * side * features]."""
        if not self.has_local:
            return None
        x = self.size.gather_blocks(self.second(self.first(blocks)))
        return tf.reshape(x, [-1, self.size.num_patches, x.shape[-1]])

    def call(self, x: tf.Tensor, local: tf.Tensor | None) -> tf.Tensor:
        """Maps features [B, N, channels] of N patches to [B * N * side * side, features]."""
        z = self.patches(x)
        z = tf.nn.relu(z if local is None else z + local)
        return tf.reshape(z, [-1, self.features])


class PatchOutputs(NamedLayer):
    """From features of pixels to outputs, and what they mean; any head.

    Args:
        size: how frames are cut.
        features: features per pixel.
        head: meaning of the outputs.
        pixel_prior: whether every pixel learns outputs of its own that depend on nothing.
        **options: see `NamedLayer`.
    """

    def __init__(
        self, size: PatchSize, features: int, head: FrameHead, pixel_prior: bool, **options: Any
    ) -> None:
        super().__init__(**options)
        self.size = size
        self.head = head
        # Zeros: the first prediction is what the subclass starts from.
        self.kernel = self.add_variable_at("kernel", (head.num_outputs, features), "zeros")
        shape = (head.num_outputs, size.num_patches, size.num_pixels)
        self.prior = self.add_variable_at("prior", shape, "zeros") if pixel_prior else None

    def call(self, z: tf.Tensor, newest: tf.Tensor) -> tf.Tensor:
        """Computes the outputs of whole frames.

        Args:
            z: features of pixels, [B * pixels, features].
            newest: the newest frames, uint8 [B, H, W, C].

        Returns:
            float32 [outputs, B, pixels].
        """
        del newest
        outputs = self._product(z, self.size.num_patches)
        if self.prior is None:
            return outputs
        return outputs + tf.reshape(self.prior, [self.head.num_outputs, 1, -1]) * _PRIOR_SCALE

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """Returns the head's loss [B] on uint8 frames [B, H, W, C]."""
        return self.head.loss(self._joined(outputs), frames)

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the likeliest uint8 frames [B, H, W, C]."""
        return self.head.decode(self._joined(outputs))

    def _product(self, z: tf.Tensor, num_patches: int) -> tf.Tensor:
        outputs = tf.matmul(tf.cast(self.kernel, z.dtype), z, transpose_b=True)
        shape = [self.head.num_outputs, -1, num_patches * self.size.num_pixels]
        return tf.cast(tf.reshape(outputs, shape), tf.float32)

    def _joined(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the outputs as heads know them, [B, H, W, outputs]."""
        width = self.size.num_pixels * self.head.num_outputs
        by_pixel = tf.transpose(outputs, [1, 2, 0])
        return self.size.join(tf.reshape(by_pixel, [-1, self.size.num_patches, width]))


class PalettePatchOutputs(PatchOutputs):
    """As `PatchOutputs` for a palette head, without ever leaving the order of patches.

    Args:
        size: how frames are cut.
        features: features per pixel.
        head: the palette's head.
        pixel_prior: see `PatchOutputs`.
        copy_strength: by how many logits the newest frame's colour is ahead before training.
        **options: see `NamedLayer`.
    """

    def __init__(
        self,
        size: PatchSize,
        features: int,
        head: PaletteHead,
        pixel_prior: bool,
        copy_strength: float,
        **options: Any,
    ) -> None:
        super().__init__(size, features, head, pixel_prior, **options)
        self.palette_head = head
        self.copy_strength = copy_strength
        # Pixels beyond the frame's edge, which only complete the patches, have no loss.
        self._inside = size.cut(tf.ones([1, size.frame_height, size.frame_width, 1]))

    def call(self, z: tf.Tensor, newest: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`."""
        return super().call(z, newest) + self._copy(self.slots(newest))

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`."""
        return self._loss(outputs, self.slots(frames), self._inside)

    def loss_of_patches(
        self, z: tf.Tensor, now: tf.Tensor, target: tf.Tensor, chosen: tf.Tensor
    ) -> tf.Tensor:
        """Returns the loss [B] of N chosen patches alone, as a share of the frame's.

        Args:
            z: features of their pixels, [B * N * side * side, features].
            now: slots of the newest frame, [B, patches, side * side].
            target: slots of the next frame, likewise.
            chosen: int32 [B, N].
        """
        outputs = self._product(z, chosen.shape[1]) + self._copy(take(now, chosen))
        if self.prior is not None:
            prior = tf.gather(self.prior, chosen, axis=1)  # [outputs, B, N, side * side]
            outputs += tf.reshape(prior, tf.shape(outputs)) * _PRIOR_SCALE
        return self._loss(outputs, take(target, chosen), tf.gather(self._inside[0], chosen))

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`. Of equally likely colours the first."""
        logits = self._masked(outputs)
        best = tf.reduce_max(logits, axis=0, keepdims=True)
        # Two plain reductions: XLA's argmax does one element at a time.
        slots = tf.where(logits == best, self._numbers(), self.head.num_outputs)
        shape = [-1, self.size.num_patches, self.size.num_pixels]
        joined = self.size.join(tf.reshape(tf.reduce_min(slots, axis=0), shape))
        return self.palette_head.palette.decode(joined[..., 0])

    def slots(self, frames: tf.Tensor) -> tf.Tensor:
        """Returns the colours of uint8 frames as slots of the palette, [B, patches, pixels]."""
        return self.size.cut(self.palette_head.palette.encode(frames)[..., None])

    def _loss(self, outputs: tf.Tensor, slots: tf.Tensor, inside: tf.Tensor) -> tf.Tensor:
        losses = _cross_entropy(self._masked(outputs), tf.cast(self._hot(slots), tf.float32))
        losses = clipped(losses, self.palette_head.clip) * _flat(inside)
        pixels = self.size.frame_height * self.size.frame_width
        return tf.reduce_sum(losses, axis=1) / pixels

    def _copy(self, slots: tf.Tensor) -> tf.Tensor:
        return tf.where(self._hot(slots), self.copy_strength, 0.0)

    def _hot(self, slots: tf.Tensor) -> tf.Tensor:
        """Tells for every pixel which colour it has, bool [outputs, B, pixels]."""
        return _flat(slots)[None] == self._numbers()

    def _masked(self, outputs: tf.Tensor) -> tf.Tensor:
        return tf.where(self._numbers() < self.palette_head.palette.size, outputs, _NEVER)

    def _numbers(self) -> tf.Tensor:
        return tf.range(self.head.num_outputs)[:, None, None]


def take(x: tf.Tensor, chosen: tf.Tensor) -> tf.Tensor:
    """Takes patches [B, N] of each example of x [B, patches, ...]."""
    return tf.gather(x, chosen, batch_dims=1)


def _flat(x: tf.Tensor) -> tf.Tensor:
    """Maps [B, N, side * side] to [B, N * side * side]."""
    return tf.reshape(x, [-1, x.shape[1] * x.shape[2]])


@tf.custom_gradient
def _cross_entropy(
    logits: tf.Tensor, hot: tf.Tensor
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, None]]]:
    """Cross-entropy over the first axis; [outputs, ...] to [...]."""
    shifted = logits - tf.reduce_max(logits, axis=0)
    exponentials = tf.exp(shifted)
    total = tf.reduce_sum(exponentials, axis=0)
    right = tf.reduce_sum(shifted * hot, axis=0)

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, None]:
        return upstream * (exponentials / total - hot), None

    return tf.math.log(total) - right, gradient
