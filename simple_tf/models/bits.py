"""The stochastic-discrete latent: 128 bits inferred from the target frame, and their predictor."""

from __future__ import annotations

import dataclasses
from typing import Any

import gin
import tensorflow as tf

from simple_tf.models.layers import ConditionalScaleShift, Dense, NamedLayer
from simple_tf.models.losses import cross_entropy
from simple_tf.models.noise import Noise
from simple_tf.models.posterior import PosteriorNetwork
from simple_tf.models.schedules import rising_linearly

BITS_PER_CHUNK = 8
CHUNK_VALUES = 2**BITS_PER_CHUNK


class BitPredictor(NamedLayer):
    """An LSTM that predicts the bits in chunks of 8 from the bottom activation.

    It is tiny and autoregressive, so it always computes in float32.

    Args:
        source_size: size of the flattened bottom activation.
        num_bits: number of bits, a multiple of 8.
        units: LSTM units.
        name: see `NamedLayer`.
        seed: see `NamedLayer`.
    """

    FORGET_BIAS = 1.0
    DROPOUT = 0.1

    def __init__(self, source_size: int, num_bits: int, units: int, name: str, seed: int) -> None:
        super().__init__(name=name, seed=seed)
        if num_bits % BITS_PER_CHUNK:
            raise ValueError(f"The number of bits, {num_bits}, must be a multiple of 8.")
        self.num_chunks = num_bits // BITS_PER_CHUNK
        self.first_input = self._dense("first_input", source_size, units)
        self.first_cell = self._dense("first_cell", source_size, units)
        self.first_output = self._dense("first_output", source_size, units)
        self.lstm = self._dense("lstm", 2 * units, 4 * units)
        self.logits = self._dense("logits", units, CHUNK_VALUES)
        self.embed = self._dense("embed", CHUNK_VALUES, units)

    def _dense(self, suffix: str, inputs: int, outputs: int) -> Dense:
        return Dense(inputs, outputs, name=f"{self.name}/{suffix}", **self.child_options)

    def loss(self, source: tf.Tensor, bits: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Returns the mean cross-entropy per chunk, [B], with the true bits as inputs.

        Args:
            source: flattened bottom activation [B, source_size].
            bits: [B, num_bits] of -1 and 1; no gradient reaches them.
            noise: source for dropout.
        """
        targets = chunks_of(tf.stop_gradient(bits))  # [B, chunks]
        embedded = noise.dropout(self.embed(tf.one_hot(targets, CHUNK_VALUES)), self.DROPOUT)
        inputs = tf.concat([self.first_input(source)[:, None], embedded[:, :-1]], axis=1)
        input_weights, output_weights = tf.split(self.lstm.kernel, 2)
        gates = tf.tensordot(inputs, input_weights, 1) + self.lstm.bias  # All chunks at once.
        state = (self.first_cell(source), self.first_output(source))
        outputs = []
        for chunk_gates in tf.unstack(gates, self.num_chunks, axis=1):
            state = self._advance(chunk_gates + tf.matmul(state[1], output_weights), state[0])
            outputs.append(state[1])
        logits = self.logits(noise.dropout(tf.stack(outputs, axis=1), self.DROPOUT))
        return tf.reduce_mean(cross_entropy(logits, targets), axis=1)

    def sample(self, source: tf.Tensor, noise: Noise, temperature: float) -> tf.Tensor:
        """Draws the bits chunk by chunk; [B, num_bits], -1 or 1; temperature 0: the likeliest."""
        input_weights, output_weights = tf.split(self.lstm.kernel, 2)
        # What each of the 256 possible chunks contributes to the gates of the next.
        table = tf.matmul(self.embed.kernel + self.embed.bias, input_weights) + self.lstm.bias
        gates = tf.matmul(self.first_input(source), input_weights) + self.lstm.bias
        cell, output = self.first_cell(source), self.first_output(source)
        logits_kernel, logits_bias = (tf.convert_to_tensor(v) for v in self.logits.weights)
        chunks = []
        for _ in range(self.num_chunks):
            cell, output = self._advance(gates + tf.matmul(output, output_weights), cell)
            logits = tf.matmul(output, logits_kernel) + logits_bias
            chunks.append(_choose(logits, noise, temperature))
            gates = tf.gather(table, chunks[-1])
        return bits_of(tf.stack(chunks, axis=1))

    def _advance(self, gates: tf.Tensor, cell: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        write, candidate, forget, read = tf.split(gates, 4, axis=-1)
        cell = tf.sigmoid(forget + self.FORGET_BIAS) * cell + tf.sigmoid(write) * tf.tanh(candidate)
        return cell, tf.sigmoid(read) * tf.tanh(cell)


@gin.configurable
@dataclasses.dataclass(frozen=True)
class BitOptions:
    """How the bits are trained; the defaults are the original's.

    Attributes:
        num_bits: number of bits.
        predictor_units: LSTM units of the predictor.
        posterior_filters: channels of the posterior's two convolutions.
        flip_probability: chance that a bit is flipped in training.
        logit_noise: deviation of the noise added before tanh in training.
        discrete_steps: steps over which the continuous values give way to discrete ones.
        mixing_steps: steps over which predicted bits are mixed in.
        max_mixing: final share of predicted bits.
        max_use: final share of examples that see the latent at all.
    """

    num_bits: int = 128
    predictor_units: int = 128
    posterior_filters: tuple[int, int] = PosteriorNetwork.FILTERS
    flip_probability: float = 0.1
    logit_noise: float = 0.2
    discrete_steps: int = 40_000
    mixing_steps: int = 40_000
    max_mixing: float = 0.5
    max_use: float = 0.8


class BitLatent(NamedLayer):
    """Infers bits from the target in training, predicts them otherwise, and injects them.

    Args:
        bottom_shape: (height, width, channels) of the bottom activation.
        posterior: network that looks at the target.
        bits: training options.
        temperature: of the predictor's samples; 0 takes the likeliest chunk.
        **options: see `NamedLayer`.
    """

    def __init__(
        self,
        bottom_shape: tuple[int, int, int],
        posterior: PosteriorNetwork,
        bits: BitOptions,
        temperature: float,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        children = self.child_options
        height, width, channels = bottom_shape
        self.bits = bits
        self.temperature = temperature
        self.posterior = posterior
        self.bottleneck = Dense(
            posterior.num_outputs, bits.num_bits, name="latent/bits", **children
        )
        self.predictor = BitPredictor(
            height * width * channels,
            bits.num_bits,
            bits.predictor_units,
            name="latent/predictor",
            seed=self.seed,
        )
        self.inject = ConditionalScaleShift(
            channels, bits.num_bits, name="latent/inject", **children
        )

    def infer(self, bottom: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Injects predicted bits into the bottom activation [B, h, w, channels]."""
        return self.inject(bottom, self.predictor.sample(_flat(bottom), noise, self.temperature))

    def train(
        self,
        bottom: tf.Tensor,
        frames: tf.Tensor,
        action: tf.Tensor,
        step: tf.Tensor,
        noise: Noise,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Injects bits inferred from the target.

        Args:
            bottom: [B, h, w, channels].
            frames: standardised input and target frames, [B, H, W, channels of all].
            action: embedded action [B, F].
            step: global step, a scalar.
            noise: source of all draws.

        Returns:
            The new bottom activation, and what `loss` needs: the old one, flat, and the bits.
        """
        bits, clean = self.infer_bits(self.posterior(frames, action), step, noise)
        source = _flat(bottom)
        bits = self._mix_with_predicted(bits, source, step, noise)
        used = self.inject(bottom, bits)
        use = rising_linearly(step, self.bits.mixing_steps // 2) * self.bits.max_use
        skip = noise.uniform(tf.shape(bottom)[:1]) >= use
        result = tf.where(skip[:, None, None, None], bottom, used)
        return result, tf.concat([source, clean], axis=-1)

    def loss(self, evidence: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Returns the predictor's loss [B] from what `train` returned, [B, E]."""
        source, clean = tf.split(
            evidence, [evidence.shape[-1] - self.bits.num_bits, self.bits.num_bits], axis=-1
        )
        return self.predictor.loss(source, clean, noise)

    def infer_bits(
        self, posterior: tf.Tensor, step: tf.Tensor, noise: Noise
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the noisy bits with tanh's gradient and the clean bits without one, [B, Z]."""
        logits = tf.cast(self.bottleneck(posterior), tf.float32)
        clean = tf.stop_gradient(_sign(logits))
        logits += self.bits.logit_noise * noise.truncated_normal(tf.shape(logits))
        soft = tf.tanh(logits)
        hard = soft + tf.stop_gradient(_sign(soft) - soft)  # Straight-through.
        flip = noise.uniform(tf.shape(soft)) <= self.bits.flip_probability
        hard = tf.where(flip, -hard, hard)
        share = rising_linearly(step, self.bits.discrete_steps)
        discrete = noise.uniform(tf.shape(soft)) < share
        discrete |= tf.cast(step, tf.float32) >= self.bits.discrete_steps
        return tf.where(discrete, hard, soft), clean

    def _mix_with_predicted(
        self, bits: tf.Tensor, source: tf.Tensor, step: tf.Tensor, noise: Noise
    ) -> tf.Tensor:
        """Replaces some bits by the predictor's own; replaced bits pass no gradient back."""
        if not self.bits.max_mixing:
            return bits
        predicted = self.predictor.sample(tf.stop_gradient(source), noise, self.temperature)
        share = rising_linearly(step, self.bits.mixing_steps) * self.bits.max_mixing
        return tf.where(noise.uniform(tf.shape(bits)) < share, tf.stop_gradient(predicted), bits)


def chunks_of(bits: tf.Tensor) -> tf.Tensor:
    """Packs bits [B, Z] of -1 and 1 into int32 chunks [B, Z / 8], lowest bit first."""
    ones = tf.reshape(tf.cast(bits > 0, tf.int32), [-1, bits.shape[-1] // 8, BITS_PER_CHUNK])
    return tf.reduce_sum(ones * [1 << i for i in range(BITS_PER_CHUNK)], axis=-1)


def bits_of(chunks: tf.Tensor) -> tf.Tensor:
    """Unpacks int32 chunks [B, N] into float32 bits [B, 8 N] of -1 and 1, lowest bit first."""
    ones = tf.bitwise.right_shift(chunks[:, :, None], list(range(BITS_PER_CHUNK))) & 1
    ones = tf.reshape(ones, [-1, chunks.shape[1] * BITS_PER_CHUNK])
    return 2.0 * tf.cast(ones, tf.float32) - 1.0


def _flat(bottom: tf.Tensor) -> tf.Tensor:
    _, height, width, channels = bottom.shape
    return tf.reshape(tf.cast(bottom, tf.float32), [-1, height * width * channels])


def _sign(x: tf.Tensor) -> tf.Tensor:
    return 2.0 * tf.cast(x > 0.0, x.dtype) - 1.0


def _choose(logits: tf.Tensor, noise: Noise, temperature: float) -> tf.Tensor:
    if temperature == 0.0:
        return tf.argmax(logits, axis=-1, output_type=tf.int32)
    return noise.categorical(logits / temperature)
