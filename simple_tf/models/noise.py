"""Sources of randomness that models draw from.

A model never calls a random op itself: it asks a `Noise`. Training and simulation hand it a
`StatelessNoise` made from a seed, so draws depend on (seed, position of the draw) alone;
`FixedNoise` removes the randomness, which is what comparisons with recorded tensors need.
"""

from __future__ import annotations

from typing import Protocol

import tensorflow as tf

from simple_tf.replicas import drawn_gumbels, drawn_rows, this_replica

_PHILOX = tf.random.Algorithm.PHILOX.value
_PHILOX_WORDS = 4


class Noise(Protocol):
    """What models need from randomness.

    The first axis of what is drawn is the batch's (or the batch's merged with others behind it):
    a batch that is split over replicas draws for each row what the whole one would.
    """

    def at(self, position: int | tf.Tensor) -> Noise:
        """Returns an independent source for one position (time step, component)."""

    def uniform(self, shape: tf.Tensor) -> tf.Tensor:
        """Draws float32 from [0, 1)."""

    def normal(self, shape: tf.Tensor) -> tf.Tensor:
        """Draws float32 from N(0, 1)."""

    def truncated_normal(self, shape: tf.Tensor) -> tf.Tensor:
        """Draws float32 from N(0, 1) truncated at two deviations."""

    def dropout(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        """Zeroes a share of `x` and rescales the rest."""

    def categorical(self, logits: tf.Tensor) -> tf.Tensor:
        """Draws int32 [B] from logits [B, N]."""


class StatelessNoise:
    """Draws that are a pure function of the seed and of the order of the calls.

    Args:
        seed: integer tensor of shape [2].
    """

    def __init__(self, seed: tf.Tensor) -> None:
        self._seed = tf.convert_to_tensor(seed, tf.int32)
        self._draws = 0

    def at(self, position: int | tf.Tensor) -> StatelessNoise:
        """See `Noise`. Positions do not collide with this source's own draws."""
        return StatelessNoise(fold_in(self._seed, -1 - position))

    def uniform(self, shape: tf.Tensor) -> tf.Tensor:
        """See `Noise`."""
        seed = self._next()
        return drawn_rows(lambda full: tf.random.stateless_uniform(full, seed), shape)

    def normal(self, shape: tf.Tensor) -> tf.Tensor:
        """See `Noise`."""
        seed = self._next()
        return drawn_rows(lambda full: tf.random.stateless_normal(full, seed), shape)

    def truncated_normal(self, shape: tf.Tensor) -> tf.Tensor:
        """See `Noise`."""
        seed = self._next()
        return drawn_rows(lambda full: tf.random.stateless_truncated_normal(full, seed), shape)

    def dropout(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        """See `Noise`."""
        return x * _kept(tf.shape(x), x.shape[-1], rate, self._next(), x.dtype) if rate else x

    def categorical(self, logits: tf.Tensor) -> tf.Tensor:
        """See `Noise`."""
        noisy = logits + drawn_gumbels(tf.shape(logits), self._next())
        return tf.argmax(noisy, axis=-1, output_type=tf.int32)

    def _next(self) -> tf.Tensor:
        self._draws += 1
        return fold_in(self._seed, self._draws)


class FixedNoise:
    """No randomness: uniforms are one constant, normals 0, dropout off, categorical argmax.

    Args:
        uniform_value: value of every uniform draw, a number or a scalar tensor.
    """

    def __init__(self, uniform_value: float | tf.Tensor) -> None:
        self._value = uniform_value

    def at(self, position: int | tf.Tensor) -> FixedNoise:
        """See `Noise`."""
        del position
        return self

    def uniform(self, shape: tf.Tensor) -> tf.Tensor:
        """See `Noise`."""
        return tf.fill(shape, tf.cast(self._value, tf.float32))

    def normal(self, shape: tf.Tensor) -> tf.Tensor:
        """See `Noise`."""
        return tf.zeros(shape)

    def truncated_normal(self, shape: tf.Tensor) -> tf.Tensor:
        """See `Noise`."""
        return tf.zeros(shape)

    def dropout(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        """See `Noise`."""
        del rate
        return x

    def categorical(self, logits: tf.Tensor) -> tf.Tensor:
        """See `Noise`."""
        return tf.argmax(logits, axis=-1, output_type=tf.int32)


def _kept(
    shape: tf.Tensor, channels: int, rate: float, seed: tf.Tensor, dtype: tf.DType
) -> tf.Tensor:
    """Returns the factors of dropout: 0, or one over the share that is kept.

    Sixteen random bits decide about one element (a rate of 0.15 becomes 0.149994): drawing is most
    of the work, and TensorFlow's dropout draws twice as many.
    """
    pairs = tf.concat([shape[:-1], [-(-channels // 2)]], axis=0)
    halves = tf.concat([shape[:-1], [-1]], axis=0)
    draws = tf.reshape(tf.bitcast(_random_words(pairs, seed), tf.uint16), halves)[..., :channels]
    threshold = round(rate * 2**16)
    scale = tf.constant(2**16 / (2**16 - threshold), dtype)
    return tf.cast(draws >= tf.constant(threshold, tf.uint16), dtype) * scale


def _random_words(shape: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draws uint32 for this replica's rows, and not for those of others: these draws are large.

    Philox numbers its blocks of four words, so that a replica can begin with its own.
    """
    index, _ = this_replica()
    words = tf.reduce_prod(shape[1:])  # Of one row.
    blocks = -(-words // _PHILOX_WORDS)
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
    skipped = tf.cast(index, tf.uint64) * tf.cast(shape[0] * blocks, tf.uint64)
    drawn = tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=tf.stack([shape[0], blocks * _PHILOX_WORDS]),
        key=key,
        counter=counter + tf.stack([skipped, tf.zeros([], tf.uint64)]),
        alg=_PHILOX,
        dtype=tf.uint32,
    )
    return tf.reshape(drawn[:, :words], shape)


def fold_in(seed: tf.Tensor, data: int | tf.Tensor) -> tf.Tensor:
    """Mixes an integer into a seed of shape [2]."""
    return tf.random.experimental.stateless_fold_in(seed, tf.cast(data, seed.dtype))
