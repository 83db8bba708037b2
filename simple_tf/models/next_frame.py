"""A world model assembled from the frame network, a latent and a middle network."""

from __future__ import annotations

from typing import Any, Protocol

import tensorflow as tf

from simple_tf.models import unroll
from simple_tf.models.frame_network import (
    ActionEmbedding,
    FrameDecoder,
    FrameEncoder,
    NetworkSize,
    RewardHead,
)
from simple_tf.models.heads import FrameHead
from simple_tf.models.interface import Prediction, State, WindowLosses, WorldModel
from simple_tf.models.layers import Dense, standardise
from simple_tf.models.noise import Noise, StatelessNoise
from simple_tf.models.schedules import ScheduledSampling

# These models contain no Python control flow on tensors, and converting them costs seconds.
without_autograph = tf.autograph.experimental.do_not_convert


class Latent(Protocol):
    """A stochastic component injected at the bottom of the network."""

    def infer(self, bottom: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Injects a latent drawn from the prior."""

    def train(
        self,
        bottom: tf.Tensor,
        frames: tf.Tensor,
        action: tf.Tensor,
        step: tf.Tensor,
        noise: Noise,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Injects a latent inferred from the target; returns also what `loss` needs, [B, E]."""

    def loss(self, evidence: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Returns the loss [B] of latents; separate, so that all calls of a window share it."""


class NextFrameModel(WorldModel):
    """What the paper's world models have in common.

    A subclass sets `latent` and `middle` and says how frames enter (`context`, `network_inputs`)
    and what is carried between steps.

    Args:
        size: sizes of the frame network.
        num_actions: number of actions.
        head: meaning of the frame outputs.
        extra_inputs: input channels beside the frames of `context`.
        num_input_frames: K.
        context: frames stacked into one network input: K, or 1 for stepwise models.
        num_reward_classes: R.
        reward_clip: cross-entropy below which a reward is good enough. The original clips it
            with the pixels' constant; the paper does not mention it.
        sampling: when predicted frames are fed back in training.
        separate_target_actions: whether target frames after the first embed their actions by a
            table of their own, as the original does; simulation never uses that table.
        precision: Keras dtype policy: float32, mixed_bfloat16 or mixed_float16.
        seed: of the initial weights.
        name: Keras name.
    """

    def __init__(
        self,
        size: NetworkSize,
        num_actions: int,
        head: FrameHead,
        extra_inputs: int,
        num_input_frames: int,
        context: int,
        num_reward_classes: int,
        reward_clip: float,
        sampling: ScheduledSampling,
        separate_target_actions: bool,
        precision: str,
        seed: int,
        name: str,
    ) -> None:
        super().__init__(
            size.frame_shape, num_actions, num_input_frames, num_reward_classes, head, name
        )
        options: dict[str, Any] = {
            "dtype": tf.keras.mixed_precision.Policy(precision),
            "seed": seed,
        }
        self.layer_options = options
        self.size = size
        self.context = context
        self.reward_clip = reward_clip
        self.sampling = sampling
        self.latent: Latent | None = None
        self.actions = ActionEmbedding(num_actions, size.hidden_size, name="actions", **options)
        self.target_actions = (
            ActionEmbedding(num_actions, size.hidden_size, name="target_actions", **options)
            if separate_target_actions
            else None
        )
        inputs = context * size.frame_shape[2] + extra_inputs
        self.encoder = FrameEncoder(size, inputs, name="encoder", **options)
        self.decoder = FrameDecoder(size, name="decoder", **options)
        self.outputs_layer = Dense(size.hidden_size, head.num_outputs, name="outputs", **options)
        self.reward = RewardHead(
            size.bottom_channels + size.hidden_size, num_reward_classes, name="reward", **options
        )

    def stacked(self, frames: tf.Tensor) -> tf.Tensor:
        """Standardises frames [B, k, H, W, C] and stacks them: [B, H, W, k * C]."""
        x = tf.transpose(standardise(frames), [0, 2, 3, 1, 4])  # [B, H, W, k, C]
        return tf.reshape(x, [-1, *x.shape[1:3], x.shape[3] * x.shape[4]])

    def run_middle(
        self, x: tf.Tensor, state: State, noise: Noise | None
    ) -> tuple[tf.Tensor, State]:
        """Runs the middle network in training; most models return the state unchanged."""
        return self.middle(x, noise), state

    def simulate_middle(self, x: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        """Runs the middle network in simulation, where the state may be another one."""
        return self.run_middle(x, state, None)

    def training_state(self, batch_size: tf.Tensor) -> State:
        """Returns the state before the first call of an unrolled window."""
        del batch_size
        return ()

    def network_inputs(self, state: State, frames: tf.Tensor) -> tuple[tf.Tensor, State]:
        """Returns the encoder's input and the state after reading it.

        Args:
            state: carried state.
            frames: standardised and stacked, [B, H, W, context * C].
        """
        return frames, state

    @without_autograph
    def initial_state(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        seed: tf.Tensor | tuple[int, int] = (0, 0),
        ages: tf.Tensor | None = None,
    ) -> State:
        """See `WorldModel`: these models keep nothing."""
        del actions, seed, ages
        self.check_history(frames)
        return ()

    @without_autograph
    def step(
        self, state: State, frames: tf.Tensor, action: tf.Tensor, seed: tf.Tensor | tuple[int, int]
    ) -> Prediction:
        """See `WorldModel`."""
        self.check_history(frames)
        embedded = self.actions(self.check_actions(action))
        inputs, state = self.network_inputs(state, self.stacked(frames[:, -self.context :]))
        bottom, skips = self.encoder(inputs, embedded, None)
        if self.latent is not None:
            bottom = self.latent.infer(bottom, StatelessNoise(seed))
        middle, state = self.simulate_middle(bottom, state)
        features = self.decoder(middle, skips, embedded, None)
        return Prediction(state, self.outputs_layer(features), self.reward(bottom, features))

    @without_autograph
    def window_losses(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        reward_classes: tf.Tensor,
        global_step: tf.Tensor,
        noise: Noise,
        training: bool = True,
        ages: tf.Tensor | None = None,
    ) -> WindowLosses:
        """See `WorldModel`."""
        del ages
        self.check_window(frames, actions, reward_classes)
        actions = self.check_actions(actions)
        return unroll.unroll(self, frames, actions, reward_classes, global_step, noise, training)

    def corrupt_inputs(self, frames: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Returns the K true input frames of a training window as the model sees them."""
        del noise
        return frames
