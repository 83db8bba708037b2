"""The recurrent world model: one frame at a time, two conv-LSTM layers at the bottom."""

from __future__ import annotations

from typing import Any

import gin
import tensorflow as tf

from simple_tf.models.bits import BitOptions
from simple_tf.models.convolution import convolve
from simple_tf.models.frame_network import NetworkSize
from simple_tf.models.heads import FrameHead
from simple_tf.models.interface import State
from simple_tf.models.layers import NamedLayer
from simple_tf.models.next_frame import NextFrameModel, without_autograph
from simple_tf.models.noise import Noise, StatelessNoise
from simple_tf.models.schedules import ScheduledSampling
from simple_tf.models.stochastic_discrete import bit_latent


@gin.configurable(denylist=["frame_shape", "num_actions", "head", "num_input_frames", "seed"])
class RecurrentModel(NextFrameModel):
    """As the SD model, with the newest frame as input and memory in conv-LSTM layers.

    In simulation the original starts the LSTM afresh on the last K frames at every step. The
    encoder's activation of a frame does not depend on the LSTM, so carrying the last K - 1
    activations gives the same numbers without encoding old frames again.

    Args:
        frame_shape: (height, width, channels).
        num_actions: number of actions.
        head: meaning of the frame outputs.
        hidden_size: channels at full resolution.
        compress_steps: number of halvings.
        doubling_steps: how many of them double the channels.
        lstm_layers: conv-LSTM layers; they share one kernel, as in the original.
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
        hidden_size: int = 64,
        compress_steps: int = 6,
        doubling_steps: int = 2,
        lstm_layers: int = 2,
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
        super().__init__(
            NetworkSize(frame_shape, hidden_size, compress_steps, doubling_steps, dropout),
            num_actions=num_actions,
            head=head,
            extra_inputs=0,
            num_input_frames=num_input_frames,
            context=1,
            num_reward_classes=num_reward_classes,
            reward_clip=reward_clip,
            sampling=sampling or ScheduledSampling("linear", 40_000),
            separate_target_actions=separate_target_actions,
            precision=precision,
            seed=seed,
            name="recurrent",
        )
        self.latent = self.bit_latent = bit_latent(self, bits or BitOptions(), temperature)
        self.middle = ConvLstm(
            self.size.bottom_channels, lstm_layers, name="lstm", **self.layer_options
        )

    def training_state(self, batch_size: tf.Tensor) -> State:
        """See `NextFrameModel`: LSTM states."""
        return self.middle.zeros(batch_size, self.size.bottom_shape)

    @without_autograph
    def initial_state(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        seed: tf.Tensor | tuple[int, int] = (0, 0),
        ages: tf.Tensor | None = None,
    ) -> State:
        """See `WorldModel`: bottom activations of the first K - 1 frames, [B, K-1, h, w, F]."""
        del ages
        self.check_history(frames)
        length = self.num_input_frames - 1
        old = tf.reshape(frames[:, :length], [-1, 1, *self.frame_shape])
        embedded = self.actions(tf.reshape(self.check_actions(actions), [-1]))
        bottom, _ = self.encoder(self.stacked(old), embedded, None)
        bottom = self.bit_latent.infer(bottom, StatelessNoise(seed))
        return tf.reshape(bottom, [-1, length, *self.size.bottom_shape])

    def run_middle(
        self, x: tf.Tensor, state: State, noise: Noise | None
    ) -> tuple[tf.Tensor, State]:
        """See `NextFrameModel`: one step of the LSTM layers, whose state is carried."""
        del noise
        return self.middle(x, state)

    def simulate_middle(self, x: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        """See `NextFrameModel`: the LSTM layers afresh over the last K activations."""
        activations = tf.concat([state, tf.cast(x, state.dtype)[:, None]], axis=1)
        lstm = self.middle.zeros(tf.shape(x)[0], self.size.bottom_shape)
        for t in range(self.num_input_frames):
            middle, lstm = self.middle(activations[:, t], lstm)
        return middle, activations[:, 1:]


class ConvLstm(NamedLayer):
    """Convolutional LSTM layers that share one kernel.

    Args:
        channels: channels of input, output and cell.
        layers: number of layers.
        **options: see `NamedLayer`.
    """

    SIZE = 5
    FORGET_BIAS = 1.0

    def __init__(self, channels: int, layers: int, **options: Any) -> None:
        super().__init__(**options)
        self.num_layers = layers
        self.kernel = self.add_kernel((self.SIZE, self.SIZE, 2 * channels, 4 * channels))
        self.bias = self.add_bias(4 * channels)

    def zeros(self, batch_size: tf.Tensor, shape: tuple[int, int, int]) -> State:
        """Returns the first state: (cell, output) of every layer."""
        return [(tf.zeros([batch_size, *shape]),) * 2 for _ in range(self.num_layers)]

    def call(self, x: tf.Tensor, states: State) -> tuple[tf.Tensor, State]:
        """Maps [B, h, w, channels] to the same shape, and the states to the next ones."""
        new_states = []
        for cell, output in states:
            gates = self._convolve(tf.concat([x, tf.cast(output, x.dtype)], axis=-1))
            write, candidate, forget, read = tf.split(tf.cast(gates, tf.float32), 4, axis=-1)
            forget = tf.sigmoid(forget + self.FORGET_BIAS)
            cell = forget * cell + tf.sigmoid(write) * tf.tanh(candidate)
            output = tf.sigmoid(read) * tf.tanh(cell)
            new_states.append((cell, output))
            x = tf.cast(output, x.dtype)
        return x, new_states

    def _convolve(self, x: tf.Tensor) -> tf.Tensor:
        # On a 2x2 bottom only the central 3x3 taps ever meet an activation: drop the others.
        rows, columns = (_reachable(self.SIZE, x.shape[axis]) for axis in (1, 2))
        kernel = tf.convert_to_tensor(self.kernel)[rows, columns]
        return tf.nn.bias_add(convolve(x, kernel, 1), self.bias)


def _reachable(size: int, length: int) -> slice:
    """Returns the taps of an odd kernel that reach from one of `length` positions to another."""
    reach = min(size // 2, length - 1)
    return slice(size // 2 - reach, size // 2 + reach + 1)
