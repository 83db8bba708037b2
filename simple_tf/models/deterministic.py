"""The deterministic world model: K stacked frames, no latent, noisy pixels in training."""

from __future__ import annotations

import gin
import tensorflow as tf

from simple_tf.models.frame_network import ConvMiddle, NetworkSize
from simple_tf.models.heads import FrameHead
from simple_tf.models.layers import standardise
from simple_tf.models.next_frame import NextFrameModel
from simple_tf.models.noise import Noise
from simple_tf.models.schedules import ScheduledSampling


@gin.configurable(denylist=["frame_shape", "num_actions", "head", "num_input_frames", "seed"])
class DeterministicModel(NextFrameModel):
    """Predicts the next frame from K stacked frames and the action.

    Args:
        frame_shape: (height, width, channels).
        num_actions: number of actions.
        head: meaning of the frame outputs.
        hidden_size: channels at full resolution.
        compress_steps: number of halvings.
        doubling_steps: how many of them double the channels.
        middle_layers: convolutions at the bottom.
        middle_dropout: rate before each of them, in training.
        dropout: rate in the encoder and decoder.
        pixel_noise: share of input pixels replaced by the median colour in training.
        sampling: when predicted frames are fed back; default: always.
        reward_clip: see `NextFrameModel`.
        separate_target_actions: see `NextFrameModel`.
        num_input_frames: K.
        num_reward_classes: R.
        precision: see `NextFrameModel`.
        seed: of the initial weights.
    """

    def __init__(
        self,
        frame_shape: tuple[int, int, int],
        num_actions: int,
        head: FrameHead,
        hidden_size: int = 64,
        compress_steps: int = 6,
        doubling_steps: int = 2,
        middle_layers: int = 2,
        middle_dropout: float = 0.5,
        dropout: float = 0.1,
        pixel_noise: float = 0.05,
        sampling: ScheduledSampling | None = None,
        reward_clip: float = 0.01,
        separate_target_actions: bool = False,
        num_input_frames: int = 4,
        num_reward_classes: int = 3,
        precision: str = "float32",
        seed: int = 0,
    ) -> None:
        super().__init__(
            NetworkSize(frame_shape, hidden_size, compress_steps, doubling_steps, dropout),
            num_actions=num_actions,
            head=head,
            extra_inputs=0,
            num_input_frames=num_input_frames,
            context=num_input_frames,
            num_reward_classes=num_reward_classes,
            reward_clip=reward_clip,
            sampling=sampling or ScheduledSampling("prediction"),
            separate_target_actions=separate_target_actions,
            precision=precision,
            seed=seed,
            name="deterministic",
        )
        self.pixel_noise = pixel_noise
        self.middle = ConvMiddle(
            self.size.bottom_channels,
            middle_layers,
            middle_dropout,
            name="middle",
            **self.layer_options,
        )

    def stacked(self, frames: tf.Tensor) -> tf.Tensor:
        """See `NextFrameModel`. The original standardises this model's inputs twice.

        The second time only moves the last digits, but keeps gradients equal to the original's.
        """
        return super().stacked(standardise(frames))

    def corrupt_inputs(self, frames: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Replaces a share of the pixels of [B, K, H, W, C] by the batch's median colour."""
        hit = noise.uniform(tf.shape(frames)[:-1])[..., None] < self.pixel_noise
        return tf.where(hit, median_colour(frames), frames)


def median_colour(frames: tf.Tensor) -> tf.Tensor:
    """Returns the median of every channel of uint8 [..., C], uint8 [C].

    A binary search over the 256 values instead of a sort: eight cheap passes, and XLA-friendly.
    """
    pixels = tf.reshape(frames, [-1, frames.shape[-1]])
    rank = (tf.shape(pixels)[0] - 1) // 2
    value = tf.zeros([frames.shape[-1]], tf.int32)
    for bit in (128, 64, 32, 16, 8, 4, 2, 1):
        candidate = value + bit
        below = tf.reduce_sum(
            tf.cast(pixels < tf.cast(candidate, tf.uint8), tf.int32), axis=0
        )  # [C]
        value = tf.where(below <= rank, candidate, value)
    return tf.cast(value, tf.uint8)
