"""The last layer of the patch model, in the order in which a CPU computes it fastest.

Outputs stay in patches, [B, rows, columns, outputs, pixels of a patch]: what the matrix product
yields as it is. Maximum, softmax and loss then run over an axis that is not the last one, so that
neighbouring pixels share a vector instruction, and only the finished frame is put together from
patches. For 32 colours this takes a fifth of the time of [B, H, W, outputs].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from simple_tf.models.heads import FrameHead, PaletteHead
from simple_tf.models.layers import NamedLayer
from simple_tf.models.losses import clipped
from simple_tf.models.patch_layers import PatchSize

# The prior's table is stored divided by this: it has to reach logits of several units, for which
# steps of the size that suits the kernels would be too small.
_PRIOR_SCALE = 10.0
_NEVER = -1e9


class PatchOutputs(NamedLayer):
    """From features to outputs in patches, and what they mean; any head.

    Args:
        size: how frames are cut.
        channels: width of the features.
        head: meaning of the outputs.
        pixel_prior: whether every pixel learns outputs of its own that depend on nothing.
        **options: see `NamedLayer`.
    """

    def __init__(
        self, size: PatchSize, channels: int, head: FrameHead, pixel_prior: bool, **options: Any
    ) -> None:
        super().__init__(**options)
        self.size = size
        self.head = head
        self.shape = (size.rows, size.columns, head.num_outputs, size.side**2)
        # Zeros: the first prediction is what the subclass starts from.
        self.kernel = self.add_variable_at(
            "kernel", (channels, self.shape[2] * self.shape[3]), "zeros"
        )
        self.prior = self.add_variable_at("prior", self.shape, "zeros") if pixel_prior else None

    def call(self, x: tf.Tensor, newest: tf.Tensor) -> tf.Tensor:
        """Computes the outputs.

        Args:
            x: features, [B, rows, columns, channels].
            newest: the newest frames, uint8 [B, H, W, C].

        Returns:
            float32 [B, rows, columns, outputs, side * side].
        """
        flat = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), self.kernel)
        outputs = tf.cast(tf.reshape(flat, [-1, *self.shape]), tf.float32)
        if self.prior is not None:
            outputs += tf.cast(self.prior, tf.float32) * _PRIOR_SCALE
        return outputs + self.start(newest)

    def start(self, newest: tf.Tensor) -> tf.Tensor:
        """Returns the outputs that the layer's own are added to; none by default."""
        del newest
        return tf.zeros([])

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """Returns the head's loss [B] on uint8 frames [B, H, W, C]."""
        return self.head.loss(self._joined(outputs), frames)

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the likeliest uint8 frames [B, H, W, C]."""
        return self.head.decode(self._joined(outputs))

    def _joined(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the outputs as heads know them, [B, H, W, outputs]."""
        by_pixel = tf.transpose(outputs, [0, 1, 2, 4, 3])
        rows, columns, count, pixels = self.shape
        return self.size.join(tf.reshape(by_pixel, [-1, rows, columns, pixels * count]))


class PalettePatchOutputs(PatchOutputs):
    """As `PatchOutputs` for a palette head, in patches throughout.

    Args:
        size: how frames are cut.
        channels: width of the features.
        head: the palette's head.
        pixel_prior: see `PatchOutputs`.
        copy_strength: by how many logits the newest frame's colour is ahead before training.
        **options: see `NamedLayer`.
    """

    def __init__(
        self,
        size: PatchSize,
        channels: int,
        head: PaletteHead,
        pixel_prior: bool,
        copy_strength: float,
        **options: Any,
    ) -> None:
        super().__init__(size, channels, head, pixel_prior, **options)
        self.palette_head = head
        self.copy_strength = copy_strength
        # Pixels beyond the frame's edge, which only complete the patches, have no loss.
        ones = tf.ones([1, size.frame_height, size.frame_width, 1])
        self._inside = None if size.is_exact else size.cut(ones)

    def start(self, newest: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`: the newest frame's colours."""
        return tf.where(self._hot(newest), self.copy_strength, 0.0)

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`."""
        hot = tf.cast(self._hot(frames), tf.float32)
        losses = clipped(_cross_entropy(self._masked(outputs), hot), self.palette_head.clip)
        if self._inside is not None:
            losses *= self._inside
        pixels = self.size.frame_height * self.size.frame_width
        return tf.reduce_sum(losses, axis=[1, 2, 3]) / pixels

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`. Of equally likely colours the first."""
        logits = self._masked(outputs)
        best = tf.reduce_max(logits, axis=3, keepdims=True)
        # Two plain reductions: XLA's argmax does one element at a time.
        slots = tf.where(logits == best, self._slots(), self.head.num_outputs)
        slots = self.size.join(tf.reduce_min(slots, axis=3))
        return self.palette_head.palette.decode(slots[..., 0])

    def _hot(self, frames: tf.Tensor) -> tf.Tensor:
        """Tells for every pixel which colour it has, bool [B, rows, columns, outputs, pixels]."""
        slots = self.size.cut(self.palette_head.palette.encode(frames)[..., None])
        return slots[:, :, :, None, :] == self._slots()

    def _masked(self, outputs: tf.Tensor) -> tf.Tensor:
        return tf.where(self._slots() < self.palette_head.palette.size, outputs, _NEVER)

    def _slots(self) -> tf.Tensor:
        return tf.range(self.head.num_outputs)[:, None]


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
