"""The last layers of the patch model, in the order in which a CPU computes them fastest.

Every pixel gets a few features, from its patch and from its neighbourhood, and one small matrix
turns the features of any pixel into outputs: what has been learned at one place of a patch holds
at all. Outputs are kept as [B, outputs, pixels], pixels ordered by patch: maximum, softmax and
loss then run over an axis that is not the last one, so that neighbouring pixels share a vector
instruction, and only the finished frame is put together from patches.
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
    """From features of patches and the input frames to features of pixels.

    Args:
        size: how frames are cut.
        channels: width of the patches' features.
        inputs: channels of the input frames.
        features: features per pixel.
        local_channels: width of the branch that looks at each pixel's neighbourhood at half the
            resolution of a frame; 0: none.
        **options: see `NamedLayer`.
    """

    HALF = 2

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
        self.features = features
        self.size = size
        self.patches = Dense(channels, features * size.side**2, name=f"{name}/patches", **children)
        self.has_local = bool(local_channels)
        if self.has_local:
            area = self.HALF**2
            self.half = PatchSize((size.frame_height, size.frame_width, inputs), self.HALF)
            self.first = Conv(
                inputs * area, local_channels, 3, 1, tf.nn.relu, name=f"{name}/first", **children
            )
            self.second = Dense(local_channels, features * area, name=f"{name}/second", **children)

    def local(self, images: tf.Tensor) -> tf.Tensor | None:
        """Maps input frames [B, H, W, inputs] to [B, patches, side * side * features]."""
        if not self.has_local:
            return None
        x = self.half.join(self.second(self.first(self.half.cut(images))))
        return self.size.cut_flat(x)

    def call(self, x: tf.Tensor, local: tf.Tensor | None) -> tf.Tensor:
        """Maps features [B, N, channels] of N patches to [B, features, N * side * side]."""
        num_patches, pixels = x.shape[1], self.size.side**2
        z = self.patches(x)
        z = tf.nn.relu(z if local is None else z + local)
        z = tf.reshape(z, [-1, num_patches * pixels, self.features])
        return tf.transpose(z, [0, 2, 1])


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
        shape = (size.num_patches, head.num_outputs, size.side**2)
        self.prior = self.add_variable_at("prior", shape, "zeros") if pixel_prior else None

    def call(self, z: tf.Tensor, newest: tf.Tensor) -> tf.Tensor:
        """Computes the outputs of whole frames.

        Args:
            z: features of pixels, [B, features, pixels].
            newest: the newest frames, uint8 [B, H, W, C].

        Returns:
            float32 [B, outputs, pixels].
        """
        del newest
        outputs = self._product(z)
        return outputs if self.prior is None else outputs + _laid_out(self.prior)

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """Returns the head's loss [B] on uint8 frames [B, H, W, C]."""
        return self.head.loss(self._joined(outputs), frames)

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the likeliest uint8 frames [B, H, W, C]."""
        return self.head.decode(self._joined(outputs))

    def _product(self, z: tf.Tensor) -> tf.Tensor:
        kernel = tf.cast(self.kernel, z.dtype)
        tiled = tf.tile(kernel[None], [tf.shape(z)[0], 1, 1])
        return tf.cast(tf.matmul(tiled, z), tf.float32)

    def _joined(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the outputs as heads know them, [B, H, W, outputs]."""
        by_pixel = tf.transpose(outputs, [0, 2, 1])
        width = self.head.num_outputs * self.size.side**2
        return self.size.join(tf.reshape(by_pixel, [-1, self.size.rows, self.size.columns, width]))


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
        ones = tf.ones([1, size.frame_height, size.frame_width, 1])
        self._inside = size.cut_flat(ones)  # [1, patches, side * side]

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
            z: features of their pixels, [B, features, N * side * side].
            now: slots of the newest frame, [B, patches, side * side].
            target: slots of the next frame, likewise.
            chosen: int32 [B, N].
        """
        outputs = self._product(z) + self._copy(take(now, chosen))
        if self.prior is not None:
            outputs += _laid_out(tf.gather(self.prior, chosen))
        return self._loss(outputs, take(target, chosen), tf.gather(self._inside[0], chosen))

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`. Of equally likely colours the first."""
        logits = self._masked(outputs)
        best = tf.reduce_max(logits, axis=1, keepdims=True)
        # Two plain reductions: XLA's argmax does one element at a time.
        slots = tf.reduce_min(
            tf.where(logits == best, self._numbers(), self.head.num_outputs), axis=1
        )
        shape = [-1, self.size.rows, self.size.columns, self.size.side**2]
        return self.palette_head.palette.decode(self.size.join(tf.reshape(slots, shape))[..., 0])

    def slots(self, frames: tf.Tensor) -> tf.Tensor:
        """Returns the colours of uint8 frames as slots of the palette, [B, patches, pixels]."""
        return self.size.cut_flat(self.palette_head.palette.encode(frames)[..., None])

    def _loss(self, outputs: tf.Tensor, slots: tf.Tensor, inside: tf.Tensor) -> tf.Tensor:
        losses = _cross_entropy(self._masked(outputs), tf.cast(self._hot(slots), tf.float32))
        losses = clipped(losses, self.palette_head.clip)
        pixels = self.size.frame_height * self.size.frame_width
        return tf.reduce_sum(losses * _flat(inside), axis=1) / pixels

    def _copy(self, slots: tf.Tensor) -> tf.Tensor:
        return tf.where(self._hot(slots), self.copy_strength, 0.0)

    def _hot(self, slots: tf.Tensor) -> tf.Tensor:
        """Tells for every pixel which colour it has, bool [B, outputs, pixels]."""
        return _flat(slots)[:, None] == self._numbers()

    def _masked(self, outputs: tf.Tensor) -> tf.Tensor:
        return tf.where(self._numbers() < self.palette_head.palette.size, outputs, _NEVER)

    def _numbers(self) -> tf.Tensor:
        return tf.range(self.head.num_outputs)[:, None]


def take(x: tf.Tensor, chosen: tf.Tensor) -> tf.Tensor:
    """Takes patches [B, N] of each example of x [B, patches, ...]."""
    return tf.gather(x, chosen, batch_dims=1)


def _flat(x: tf.Tensor) -> tf.Tensor:
    """Maps [B, N, side * side] to [B, N * side * side]."""
    return tf.reshape(x, [-1, x.shape[1] * x.shape[2]])


def _laid_out(prior: tf.Tensor) -> tf.Tensor:
    """Maps a prior [..., N, outputs, side * side] to logits [..., outputs, N * side * side]."""
    num_patches, outputs, pixels = prior.shape[-3:]
    order = [*range(len(prior.shape) - 3), -2, -3, -1]
    order = [axis % len(prior.shape) for axis in order]
    moved = tf.transpose(prior, order)
    return _PRIOR_SCALE * tf.reshape(
        moved, [*([-1] * (len(order) - 3)), outputs, num_patches * pixels]
    )


@tf.custom_gradient
def _cross_entropy(
    logits: tf.Tensor, hot: tf.Tensor
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, None]]]:
    """Cross-entropy over the axis before the last; [..., N, S] to [..., S]."""
    shifted = logits - tf.reduce_max(logits, axis=-2, keepdims=True)
    exponentials = tf.exp(shifted)
    total = tf.reduce_sum(exponentials, axis=-2, keepdims=True)
    right = tf.reduce_sum(shifted * hot, axis=-2, keepdims=True)

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, None]:
        return upstream[..., None, :] * (exponentials / total - hot), None

    return tf.squeeze(tf.math.log(total) - right, axis=-2), gradient
