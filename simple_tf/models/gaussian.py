"""The Gaussian world model: a latent as in a variational auto-encoder (after SV2P)."""

from __future__ import annotations

from typing import Any

import gin
import tensorflow as tf

from simple_tf.models.frame_network import ConvMiddle, NetworkSize
from simple_tf.models.heads import FrameHead
from simple_tf.models.layers import ConditionalScaleShift, Dense, NamedLayer
from simple_tf.models.next_frame import NextFrameModel
from simple_tf.models.noise import Noise
from simple_tf.models.posterior import PosteriorNetwork
from simple_tf.models.schedules import ScheduledSampling


@gin.configurable(denylist=["frame_shape", "num_actions", "head", "num_input_frames", "seed"])
class GaussianModel(NextFrameModel):
    """K stacked frames, the action and a Gaussian latent predict the next frame.

    Args:
        frame_shape: (height, width, channels).
        num_actions: number of actions.
        head: meaning of the frame outputs.
        latent_size: size of the latent vector.
        kl_weight: weight of the divergence of the posterior from N(0, I).
        posterior_filters: channels of the posterior's two convolutions.
        hidden_size: channels at full resolution.
        compress_steps: number of halvings.
        doubling_steps: how many of them double the channels.
        middle_layers: convolutions at the bottom.
        middle_dropout: rate before each of them, in training.
        dropout: rate in the encoder and decoder.
        sampling: when predicted frames are fed back; default: an exponential rise.
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
        latent_size: int = 128,
        kl_weight: float = 1e-3,
        posterior_filters: tuple[int, int] = PosteriorNetwork.FILTERS,
        hidden_size: int = 64,
        compress_steps: int = 6,
        doubling_steps: int = 2,
        middle_layers: int = 2,
        middle_dropout: float = 0.5,
        dropout: float = 0.1,
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
            sampling=sampling or ScheduledSampling("exponential", 10_000),
            separate_target_actions=separate_target_actions,
            precision=precision,
            seed=seed,
            name="gaussian",
        )
        options = self.layer_options
        posterior = PosteriorNetwork(
            (frame_shape[0], frame_shape[1]),
            (num_input_frames + 1) * frame_shape[2],
            hidden_size,
            posterior_filters,
            name="latent/posterior",
            seed=seed,
        )
        self.latent = GaussianLatent(
            self.size.bottom_channels, posterior, latent_size, kl_weight, name="latent", **options
        )
        self.middle = ConvMiddle(
            self.size.bottom_channels,
            middle_layers,
            middle_dropout,
            name="middle",
            **options,
        )


class GaussianLatent(NamedLayer):
    """Draws a vector from the posterior in training, from N(0, I) otherwise, and injects it.

    Args:
        channels: channels of the bottom activation.
        posterior: network that looks at the target.
        size: size of the latent.
        kl_weight: weight of the divergence.
        **options: see `NamedLayer`.
    """

    # Keeps the posterior from collapsing onto a point, as the original's floor does.
    MIN_LOG_VARIANCE = -5.0

    def __init__(
        self,
        channels: int,
        posterior: PosteriorNetwork,
        size: int,
        kl_weight: float,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        children = self.child_options
        self.size = size
        self.kl_weight = kl_weight
        self.posterior = posterior
        self.mean = Dense(posterior.num_outputs, size, name="latent/mean", **children)
        self.log_variance = Dense(
            posterior.num_outputs, size, name="latent/log_variance", **children
        )
        self.inject = ConditionalScaleShift(channels, size, name="latent/inject", **children)

    def infer(self, bottom: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Injects a draw from N(0, I) into the bottom activation [B, h, w, channels]."""
        return self.inject(bottom, noise.normal([tf.shape(bottom)[0], self.size]))

    def train(
        self,
        bottom: tf.Tensor,
        frames: tf.Tensor,
        action: tf.Tensor,
        step: tf.Tensor,
        noise: Noise,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Injects a draw from the posterior; see `BitLatent.train`."""
        del step
        mean, log_variance = self.posterior_of(frames, action)
        draw = mean + tf.exp(0.5 * log_variance) * noise.normal(tf.shape(mean))
        return self.inject(bottom, draw), tf.concat([mean, log_variance], axis=-1)

    def loss(self, evidence: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Returns the weighted divergence [B] from what `train` returned, [B, 2 * size]."""
        del noise
        mean, log_variance = tf.split(evidence, 2, axis=-1)
        divergence = 0.5 * (tf.exp(log_variance) + mean**2 - 1.0 - log_variance)
        return self.kl_weight * tf.reduce_sum(divergence, axis=-1)

    def posterior_of(self, frames: tf.Tensor, action: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns mean and log variance, float32 [B, size]."""
        x = self.posterior(frames, action)
        log_variance = tf.cast(self.log_variance(x), tf.float32)
        return tf.cast(self.mean(x), tf.float32), tf.maximum(log_variance, self.MIN_LOG_VARIANCE)
