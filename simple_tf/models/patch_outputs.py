"""The last layer of the patch model, in the order in which a CPU computes it fastest.

Outputs stay in patches, [B, patches, outputs, pixels of a patch]: what the matrix product
yields as it is. Maximum, softmax and loss then run over an axis that is not the last one, so that
neighbouring pixels share a vector instruction, and only the finished frame is put together from
patches. For 32 colours this takes a fifth of the time of [B, H, W, outputs].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from simple_tf.models.choices import computed_once, largest, systematic_draw
from simple_tf.models.heads import FrameHead, PaletteHead
from simple_tf.models.layers import NamedLayer
from simple_tf.models.losses import clipped
from simple_tf.models.noise import Noise
from simple_tf.models.patch_layers import PatchSize
from simple_tf.replicas import ByteVariable

# The prior's table is stored divided by this: it has to reach logits of several units, for which
# steps of the size that suits the kernels would be too small.
_PRIOR_SCALE = 10.0
_NEVER = -1e9
# What is less probable is never drawn: many small errors would add up to pixels from nowhere.
_SURE = 0.1
# Logits that are so far apart are as good as infinitely far.
_HIGHEST_ODDS = 30.0


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
        self.shape = (size.num_patches, head.num_outputs, size.side**2)
        # Zeros: the first prediction is what the subclass starts from.
        self.kernel = self.add_variable_at(
            "kernel", (channels, self.shape[1] * self.shape[2]), "zeros"
        )
        self.prior = self.add_variable_at("prior", self.shape, "zeros") if pixel_prior else None

    def call(self, x: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """Computes the outputs.

        Args:
            x: features, [B, rows, columns, channels].
            frames: the latest frames, uint8 [B, K, H, W, C], newest last.

        Returns:
            float32 [B, rows * columns, outputs, side * side].
        """
        del frames
        outputs = self._product(x)
        return outputs if self.prior is None else outputs + self.prior * _PRIOR_SCALE

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """Returns the head's loss [B] on uint8 frames [B, H, W, C]."""
        return self.head.loss(self._joined(outputs), frames)

    def training_loss(
        self, x: tf.Tensor, frames: tf.Tensor, targets: tf.Tensor, noise: Noise
    ) -> tf.Tensor:
        """Returns the loss [B] of features on the frames that follow the latest."""
        del noise
        return self.loss(self(x, frames), targets)

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the likeliest uint8 frames [B, H, W, C]."""
        return self.head.decode(self._joined(outputs))

    def drawn(self, outputs: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Returns outputs whose likeliest frame is one drawn from these outputs."""
        raise NotImplementedError("Only frames of a palette's colours can be drawn.")

    def _product(self, x: tf.Tensor) -> tf.Tensor:
        """Maps features [B, ..., channels] of N patches to [B, N, outputs, side * side]."""
        return _dense(x, self.kernel, self.shape[2])

    def _joined(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the outputs as heads know them, [B, H, W, outputs]."""
        by_pixel = tf.transpose(outputs, [0, 1, 3, 2])
        width = self.shape[1] * self.shape[2]
        return self.size.join(tf.reshape(by_pixel, [-1, self.size.rows, self.size.columns, width]))


class PalettePatchOutputs(PatchOutputs):
    """As `PatchOutputs` for a palette head, in patches throughout.

    Most pixels of the next frame have a colour that is on the screen already. So beside a logit
    for every colour the network gives a pixel a few more, for sources: the colour that it has now,
    that its neighbours have, that it had before, that it usually has, and that it will have if
    what moves goes on moving. Each is added to the logit of whatever colour the source shows.

    Args:
        size: how frames are cut.
        channels: width of the features.
        head: the palette's head.
        background: the game's usual image, uint8 [H, W, C].
        pixel_prior: see `PatchOutputs`.
        copy_strength: by how many logits a pixel's colour now, or where motion leads, is ahead
            before training.
        colour_spread: deviation, in units of a channel's 255, of the target around the true colour:
            a prediction that is near in colour is then better than one that is far, and what has
            been learned about one shade holds for its neighbours. 0: only the true colour counts.
        loss_patches: how many patches of a frame are trained on: those that change and, to fill
            up, random others. Most of a frame stands still and is right from the start; what is
            left out takes no time. 0: all.
        motion: whether the last of the frames is not the newest one, but a guess at the next, see
            `motion.go_on_moving`.
        unusual_lead: by how many logits colours other than a pixel's usual one are ahead when a
            frame is made of outputs. Of a ball that will be in one of three places no pixel is
            likelier than not to show it, so that without a lead it vanishes for good; with one of
            1.5 a pixel shows what it holds for at least 18 % likely by comparison.
        **options: see `NamedLayer`.
    """

    # Where a pixel may take its colour from in the newest frame: (rows down, columns right).
    NEIGHBOURS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))

    def __init__(
        self,
        size: PatchSize,
        channels: int,
        head: PaletteHead,
        background: ByteVariable,
        pixel_prior: bool,
        copy_strength: float,
        colour_spread: float,
        loss_patches: int,
        motion: bool = False,
        unusual_lead: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(size, channels, head, pixel_prior, **options)
        self.palette_head = head
        self._background = background
        self.copy_strength = copy_strength
        self.colour_spread = colour_spread
        self.loss_patches = min(loss_patches, size.num_patches)
        self.motion = motion
        self.unusual_lead = float(unusual_lead)  # Gin may give a whole number.
        self.num_sources = len(self.NEIGHBOURS) + (3 if motion else 2)
        self._first_guess = self.num_sources - 1 if motion else 0
        self.sources_kernel = self.add_variable_at(
            "sources_kernel", (channels, self.num_sources * self.shape[2]), "zeros"
        )
        # Pixels beyond the frame's edge, which only complete the patches, have no loss.
        ones = tf.ones([1, size.frame_height, size.frame_width, 1])
        self._inside = size.cut_flat(ones)  # [1, patches, side * side]

    def call(self, x: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`."""
        return super().call(x, frames) + self._copies(x, self._sources(frames))

    def loss(self, outputs: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`."""
        return self._loss(outputs, self._slots(frames), self._inside)

    def training_loss(
        self, x: tf.Tensor, frames: tf.Tensor, targets: tf.Tensor, noise: Noise
    ) -> tf.Tensor:
        """See `PatchOutputs`; with `loss_patches`, of the chosen patches."""
        if not self.loss_patches:
            return super().training_loss(x, frames, targets, noise)
        sources, target = self._sources(frames), self._slots(targets)
        known = [sources[number] for number in sorted({0, self._first_guess})]
        chosen = _choose(known, target, self.loss_patches, noise)  # [B, N]
        features = _take(tf.reshape(x, [-1, self.size.num_patches, x.shape[-1]]), chosen)
        outputs = self._product(features)
        outputs += self._copies(features, [_take(source, chosen) for source in sources])
        if self.prior is not None:
            outputs += tf.gather(self.prior, chosen) * _PRIOR_SCALE
        inside = tf.gather(self._inside[0], chosen)
        return self._loss(outputs, _take(target, chosen), inside)

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """See `PatchOutputs`, but with the lead. Of equally likely colours the first."""
        outputs = self._masked(outputs)
        if self.unusual_lead:
            outputs -= tf.where(self._is_usual(), self.unusual_lead, 0.0)
        slots = largest(outputs)
        shape = [-1, self.size.rows, self.size.columns, self.shape[2]]
        joined = self.size.join(tf.reshape(slots, shape))
        return self.palette_head.palette.decode(joined[..., 0])

    def drawn(self, outputs: tf.Tensor, noise: Noise) -> tf.Tensor:
        """See `PatchOutputs`: draws which pixels show something else than the usual image.

        Each does as probably as the model holds it, and as many do as it expects: of three places
        of which a ball will be in one, one is drawn, see `choices.systematic_draw`. What a pixel
        shows instead of its usual colour is the likeliest.
        """
        usual = self._is_usual()
        logits = computed_once(self._masked(outputs), self.palette_head.palette.size < 0)
        reference = tf.reduce_sum(tf.where(usual, logits, 0.0), axis=2, keepdims=True)
        odds = tf.exp(tf.minimum(logits - reference, _HIGHEST_ODDS))
        odds = tf.reduce_sum(tf.where(usual, 0.0, odds), axis=2)  # For something unusual.
        unusual = odds / (1.0 + odds)
        unusual = tf.where(unusual < _SURE, 0.0, tf.where(unusual > 1.0 - _SURE, 1.0, unusual))
        chosen = systematic_draw(unusual * self._inside, noise)
        return tf.where(usual, tf.where(chosen, _NEVER, -_NEVER)[:, :, None], logits)

    def _loss(self, outputs: tf.Tensor, slots: tf.Tensor, inside: tf.Tensor) -> tf.Tensor:
        losses = _cross_entropy(self._masked(outputs), self._targets(slots))
        losses = clipped(losses, self.palette_head.clip)
        pixels = self.size.frame_height * self.size.frame_width
        return tf.reduce_sum(losses * inside, axis=[1, 2]) / pixels

    def _targets(self, slots: tf.Tensor) -> tf.Tensor:
        """Returns target probabilities [B, N, outputs, side * side] for slots [B, N, side * side].

        With a spread, the colours' distances are taken between the tables' rows first: a table of
        [outputs, outputs] numbers, however many pixels there are.
        """
        hot = tf.cast(slots[:, :, None] == self._numbers(), tf.float32)
        if not self.colour_spread:
            return hot
        return tf.einsum("bnis,ij->bnjs", hot, self._spread_table())

    def _spread_table(self) -> tf.Tensor:
        """Returns the target probabilities of each colour, [outputs, outputs]."""
        colours = tf.cast(self.palette_head.palette.colours, tf.float32)
        squares = tf.reduce_sum(tf.square(colours[:, None] - colours[None]), axis=-1)
        filled = tf.range(self.head.num_outputs) < self.palette_head.palette.size
        near = tf.where(filled, tf.exp(-squares / (2.0 * self.colour_spread**2)), 0.0)
        return near / tf.reduce_sum(near, axis=1, keepdims=True)

    def _sources(self, frames: tf.Tensor) -> list[tf.Tensor]:
        """Returns what the sources show, slots [B, patches, side * side] each; "now" is first."""
        encode = self.palette_head.palette.encode
        guesses = [encode(frames[:, -1])] if self.motion else []
        newest = frames.shape[1] - 1 - len(guesses)
        now, before = encode(frames[:, newest]), encode(frames[:, newest - 1])  # [B, H, W]
        moved = [_shifted(now, rows, columns) for rows, columns in self.NEIGHBOURS]
        shown, guessed = (
            [self.size.cut_flat(image[..., None]) for image in images]
            for images in ((*moved, before), guesses)
        )
        return [*shown, tf.broadcast_to(self._usual_slots(), tf.shape(shown[0])), *guessed]

    def _copies(self, x: tf.Tensor, sources: list[tf.Tensor]) -> tf.Tensor:
        """Returns the sources' part of the outputs, [B, N, outputs, side * side]."""
        strengths = tf.unstack(_dense(x, self.sources_kernel, self.shape[2]), axis=2)
        strengths[self._first_guess] += self.copy_strength
        parts = [
            tf.where(source[:, :, None] == self._numbers(), strength[:, :, None], 0.0)
            for source, strength in zip(sources, strengths, strict=True)
        ]
        return tf.add_n(parts)

    def _usual_slots(self) -> tf.Tensor:
        """Returns the colours of the usual image as slots, [1, patches, pixels]."""
        return self._slots(self._background.read_value()[None])

    def _is_usual(self) -> tf.Tensor:
        """Says of every colour whether it is the usual one, bool [1, patches, outputs, pixels]."""
        return self._usual_slots()[:, :, None] == self._numbers()

    def _slots(self, frames: tf.Tensor) -> tf.Tensor:
        """Returns the colours of uint8 frames as slots of the palette, [B, patches, pixels]."""
        return self.size.cut_flat(self.palette_head.palette.encode(frames)[..., None])

    def _masked(self, outputs: tf.Tensor) -> tf.Tensor:
        return tf.where(self._numbers() < self.palette_head.palette.size, outputs, _NEVER)

    def _numbers(self) -> tf.Tensor:
        return tf.range(self.head.num_outputs)[:, None]


def _dense(x: tf.Tensor, kernel: tf.Tensor, pixels: int) -> tf.Tensor:
    """Maps features [B, ..., channels] of N patches to float32 [B, N, outputs, pixels]."""
    flat = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), kernel)
    shape = [-1, math.prod(x.shape[1:-1]), kernel.shape[1] // pixels, pixels]
    return tf.cast(tf.reshape(flat, shape), tf.float32)


def _shifted(x: tf.Tensor, rows: int, columns: int) -> tf.Tensor:
    """Shows at every place of [B, H, W] what is so many rows below and columns to the right."""
    if not rows and not columns:
        return x
    height, width = x.shape[1:]
    padded = tf.pad(x, [[0, 0], [1, 1], [1, 1]], "SYMMETRIC")
    return tf.slice(padded, [0, 1 + rows, 1 + columns], [-1, height, width])


def _choose(known: Sequence[tf.Tensor], target: tf.Tensor, count: int, noise: Noise) -> tf.Tensor:
    """Chooses patches, int32 [B, count]: those that differ from what is known, others by chance.

    All are slots, [B, patches, pixels].
    """
    differs = tf.reduce_any([tf.reduce_any(image != target, axis=-1) for image in known], axis=0)
    ranks = tf.cast(differs, tf.float32) + noise.uniform(tf.shape(differs))  # [B, patches]
    return tf.math.top_k(ranks, count, sorted=False)[1]


def _take(x: tf.Tensor, chosen: tf.Tensor) -> tf.Tensor:
    """Takes patches [B, N] of each example of x [B, patches, ...]."""
    return tf.gather(x, chosen, batch_dims=1)


@tf.custom_gradient
def _cross_entropy(
    logits: tf.Tensor, targets: tf.Tensor
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, None]]]:
    """How far predictions are from target probabilities; [..., N, S] to [..., S].

    The divergence, that is the cross-entropy less the targets' own entropy: 0 if they agree.
    """
    shifted = logits - tf.reduce_max(logits, axis=-2, keepdims=True)
    exponentials = tf.exp(shifted)
    total = tf.reduce_sum(exponentials, axis=-2, keepdims=True)
    logs = tf.math.log(tf.maximum(targets, 1e-9))
    losses = tf.reduce_sum(targets * (logs - shifted), axis=-2) + tf.squeeze(
        tf.math.log(total), axis=-2
    )

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, None]:
        return upstream[..., None, :] * (exponentials / total - targets), None

    return losses, gradient
