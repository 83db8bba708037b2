"""The stochastic-discrete (SD) world model, the paper's main one."""

from __future__ import annotations

from typing import Any

import gin
import tensorflow as tf

from simple_tf.models.bits import BitLatent, BitOptions
from simple_tf.models.frame_network import ConvMiddle, NetworkSize
from simple_tf.models.heads import FrameHead
from simple_tf.models.interface import State
from simple_tf.models.layers import Conv
from simple_tf.models.next_frame import NextFrameModel, without_autograph
from simple_tf.models.posterior import PosteriorNetwork
from simple_tf.models.schedules import ScheduledSampling

INPUTS = ("stacked", "carried")


@gin.configurable(denylist=["frame_shape", "num_actions", "head", "num_input_frames", "seed"])
class StochasticDiscreteModel(NextFrameModel):
    """Frames, action and 128 latent bits predict the next frame.

    Args:
        frame_shape: (height, width, channels).
        num_actions: number of actions.
        head: meaning of the frame outputs.
        inputs: `stacked`: K frames at once, as the paper says; `carried`: the newest frame and a
            full-resolution memory, as Tensor2Tensor's code has it.
        memory_channels: channels of the memory.
        hidden_size: channels at full resolution.
        compress_steps: number of halvings.
        doubling_steps: how many of them double the channels.
        middle_layers: convolutions at the bottom.
        middle_dropout: rate before each of them, in training.
        dropout: rate in the encoder and decoder.
        bits: options of the latent.
        temperature: of the bit predictor's samples; 0 takes the likeliest.
        sampling: when predicted frames are fed back; default: the original's linear rise.
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
        inputs: str = "stacked",
        memory_channels: int = 64,
        hidden_size: int = 96,
        compress_steps: int = 6,
        doubling_steps: int = 3,
        middle_layers: int = 2,
        middle_dropout: float = 0.5,
        dropout: float = 0.15,
        bits: BitOptions | None = None,
        temperature: float = 1.0,
        sampling: ScheduledSampling | None = None,
        reward_clip: float = 0.03,
        separate_target_actions: bool = False,
        num_input_frames: int = 4,
        num_reward_classes: int = 3,
        precision: str = "float32",
        seed: int = 0,
    ) -> None:
        if inputs not in INPUTS:
            raise ValueError(f"Unknown inputs {inputs!r}; choose from {INPUTS}.")
        carried = inputs == "carried"
        super().__init__(
            NetworkSize(frame_shape, hidden_size, compress_steps, doubling_steps, dropout),
            num_actions=num_actions,
            head=head,
            extra_inputs=memory_channels if carried else 0,
            num_input_frames=num_input_frames,
            context=1 if carried else num_input_frames,
            num_reward_classes=num_reward_classes,
            reward_clip=reward_clip,
            sampling=sampling or ScheduledSampling("linear", 40_000),
            separate_target_actions=separate_target_actions,
            precision=precision,
            seed=seed,
            name="stochastic_discrete",
        )
        options = self.layer_options
        self.memory = FrameMemory(frame_shape, memory_channels, **options) if carried else None
        self.latent = bit_latent(self, bits or BitOptions(), temperature)
        self.middle = ConvMiddle(
            self.size.bottom_channels,
            middle_layers,
            middle_dropout,
            name="middle",
            **options,
        )

    def training_state(self, batch_size: tf.Tensor) -> State:
        """See `NextFrameModel`."""
        return () if self.memory is None else self.memory.zeros(batch_size)

    def network_inputs(self, state: State, frames: tf.Tensor) -> tuple[tf.Tensor, State]:
        """See `NextFrameModel`: the network sees the memory as it was before this frame."""
        if self.memory is None:
            return frames, state
        return tf.concat([frames, state], axis=-1), self.memory.update(state, frames)

    @without_autograph
    def initial_state(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        seed: tf.Tensor | tuple[int, int] = (0, 0),
        ages: tf.Tensor | None = None,
    ) -> State:
        """See `WorldModel`: the memory after the first K - 1 frames, by its update alone."""
        del actions, seed, ages
        self.check_history(frames)
        if self.memory is None:
            return ()
        state = self.memory.zeros(tf.shape(frames)[0])
        for t in range(self.num_input_frames - 1):
            state = self.memory.update(state, self.stacked(frames[:, t : t + 1]))
        return state


class FrameMemory(Conv):
    """A full-resolution memory of past frames, updated like a gated recurrent unit.

    Args:
        frame_shape: (height, width, channels).
        channels: channels of the memory.
        **options: see `NamedLayer`.
    """

    def __init__(self, frame_shape: tuple[int, int, int], channels: int, **options: Any) -> None:
        super().__init__(channels + frame_shape[2], 2 * channels, 3, name="memory", **options)
        self.shape = (*frame_shape[:2], channels)

    def zeros(self, batch_size: tf.Tensor) -> tf.Tensor:
        """Returns an empty memory [B, H, W, channels]."""
        return tf.zeros([batch_size, *self.shape])

    def update(self, memory: tf.Tensor, frame: tf.Tensor) -> tf.Tensor:
        """Returns the memory after a standardised frame [B, H, W, C]."""
        both = tf.cast(self(tf.concat([memory, frame], axis=-1)), tf.float32)
        channels = self.shape[2]
        gate = tf.sigmoid(tf.slice(both, [0, 0, 0, 0], [-1, -1, -1, channels]))
        candidate = tf.tanh(tf.slice(both, [0, 0, 0, channels], [-1, -1, -1, channels]))
        return candidate + gate * (memory - candidate)


def bit_latent(model: NextFrameModel, bits: BitOptions, temperature: float) -> BitLatent:
    """Builds the bit latent of a model from the model's sizes."""
    height, width, channels = model.frame_shape
    posterior = PosteriorNetwork(
        (height, width),
        (model.context + 1) * channels,
        model.size.hidden_size,
        bits.posterior_filters,
        name="latent/posterior",
        seed=model.layer_options["seed"],
    )
    return BitLatent(
        model.size.bottom_shape, posterior, bits, temperature, name="latent", **model.layer_options
    )
