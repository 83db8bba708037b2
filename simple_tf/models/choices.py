"""Choosing among outputs in patches, [B, patches, ...], in ways that XLA compiles well on CPUs."""

from __future__ import annotations

import tensorflow as tf

from simple_tf.models.noise import Noise


def largest(logits: tf.Tensor) -> tf.Tensor:
    """Says which of N logits [B, P, N, S] is the largest, of equal ones the first: [B, P, S].

    One plain maximum over whole numbers that hold both, the logit and its place: XLA's argmax does
    one element at a time, and whatever needs the logits twice computes them twice. The place takes
    the last bits of a logit, of which 16 places leave 19: near ones may count as equal.
    """
    count = logits.shape[2]
    mask = (1 << (count - 1).bit_length()) - 1
    bits = tf.bitcast(logits, tf.int32)
    # Floats have a sign and a size; turned over below zero, they are ordered as integers are.
    ordered = tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, 2**31 - 1), bits)
    places = mask - tf.range(count)[:, None]
    packed = tf.bitwise.bitwise_or(tf.bitwise.bitwise_and(ordered, ~mask), places)
    return mask - tf.bitwise.bitwise_and(tf.reduce_max(packed, axis=2), mask)


def systematic_draw(probabilities: tf.Tensor, noise: Noise) -> tf.Tensor:
    """Chooses pixels with probabilities [B, patches, pixels] by systematic sampling; bool.

    The pixels of a frame are in a line, their probabilities put end to end, and a comb with teeth
    of distance 1 is laid on it at random: a pixel with a tooth is chosen. So each is chosen as
    probably as it should be, and the number of chosen ones is what is expected, to the nearest
    whole number. Sums up to a pixel are matrix products: running sums are slow in XLA.
    """
    patches, pixels = probabilities.shape[1:]
    up_to = tf.linalg.band_part(tf.ones([pixels, pixels]), 0, -1)
    before = tf.linalg.band_part(tf.ones([patches, patches]), 0, -1) - tf.eye(patches)
    within = tf.einsum("bps,st->bpt", probabilities, up_to)
    sums = within + tf.matmul(within[:, :, -1], before)[:, :, None]
    # A little more than nothing: sums of whole numbers must not fall below them.
    teeth = sums + noise.uniform([tf.shape(sums)[0], 1, 1]) + 1e-4
    return tf.floor(teeth) > tf.floor(teeth - probabilities)


def computed_once(values: tf.Tensor, never: tf.Tensor) -> tf.Tensor:
    """Keeps XLA from computing values anew for each of their uses, in several times the time.

    What a loop starts with has to be there, and this one never runs.

    Args:
        values: floats.
        never: a bool that is False, but not a constant: XLA must not know.
    """
    rounds = tf.cast(never, tf.int32)
    return tf.while_loop(
        lambda number, _: number < rounds,
        lambda number, held: (number + 1, held + 1.0),
        (tf.constant(0), values),
    )[1]
