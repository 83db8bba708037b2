"""What moves goes on moving: a first guess at the next frame, without anything learned.

As in video codecs, a small block of one frame is looked for in the frame before. Where the same
shape was somewhere else, it is expected to move on by as much again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

_Move = Callable[[tf.Tensor], tf.Tensor]

# Colours that differ by less from the usual image, in units of 255, belong to it.
_NOTICEABLE = 12
# Side of the blocks that are compared.
_BLOCK = 3
# A block of shapes is one number with a bit per pixel.
_BITS = 1 << np.arange(_BLOCK**2).reshape(_BLOCK, _BLOCK)
# Whether something is in the middle of a block.
_MIDDLE = int(_BITS[_BLOCK // 2, _BLOCK // 2])
# Beyond the edges there is neither anything nor nothing: pixels there have a bit of another kind.
_OUTSIDE = 1 << _BLOCK**2
# Above all bits of a block: something is there in the newer frame.
_TAKEN = 1 << 2 * _BLOCK**2
# How many pixels of a block may have changed since it was somewhere else: things that move by half
# a pixel change their shape, and simulated ones are not drawn as well as real ones.
_TOLERANCE = 2
# A motion that was found is one number, too: its own, plus this where the place that it leaves is
# taken by more of the same thing, plus this other one for every pixel that has changed.
_FOLLOWED = 2**16
_CHANGED = 2**17
# What every motion within the tolerance is better than, or as good as.
_NOT_FOUND = (_TOLERANCE + 1) * _CHANGED - 1


def go_on_moving(now: tf.Tensor, before: tf.Tensor, usual: tf.Tensor, radius: int) -> tf.Tensor:
    """Moves everything that has moved by as much again; the rest stays or is the usual image.

    Shapes are compared, not colours: a thing that moves by half a pixel changes its colours. Of
    several motions the one counts that explains a block best, and of equally good ones the
    one over the fewest rows, then columns. Inside large things nothing seems to move: the guess is
    right for small ones, and for large ones that move a pixel in a step.

    Args:
        now: the newest frames, uint8 [B, H, W, C].
        before: the frames before them.
        usual: what the game usually looks like, uint8 [H, W, C].
        radius: how many pixels something may move in a step, in rows and in columns.

    Returns:
        uint8 [B, H, W, C].
    """
    usual = tf.broadcast_to(usual[None], tf.shape(now))
    shapes, shapes_before = _noticeable(now, usual), _noticeable(before, usual)
    blocks, blocks_before = _blocks(shapes), _blocks(shapes_before)
    stands = blocks == blocks_before
    # Only what is there and does not stand still can be found elsewhere.
    moves = (shapes > 0) & ~stands
    # One number for all that is to be known of a place, so that one image is moved and not three.
    places = _with_edges(blocks_before + shapes * _TAKEN, radius, 0)

    def try_motion(motion: tf.Tensor, moved: _Move, found: tf.Tensor) -> tf.Tensor:
        place = moved(places)
        differing = tf.bitwise.bitwise_and(tf.bitwise.bitwise_xor(blocks, place), _TAKEN - 1)
        changed = _num_bits(differing) * _CHANGED
        was_there = tf.bitwise.bitwise_and(place, _MIDDLE) > 0
        # As good as what was found, or better, by the pixels that have changed.
        better = moves & was_there & (changed <= found)
        followed = tf.where(place >= _TAKEN, _FOLLOWED, 0)
        return tf.where(better, changed + motion + followed, found)

    found = _for_all_motions(radius, tf.fill(tf.shape(blocks), _NOT_FOUND), try_motion)
    found = tf.where(found == _NOT_FOUND, 0, found % _CHANGED)
    # What is longer than its motion is still there when its end has moved on.
    stays = (shapes > 0) & (stands | (found >= _FOLLOWED))
    motions = _with_edges(found % _FOLLOWED, radius, 0)
    colours = _with_edges(now, radius, 0)
    return _for_all_motions(
        radius,
        tf.where(stays[..., None], now, usual),
        lambda motion, moved, guess: tf.where(
            (moved(motions) == motion)[..., None], moved(colours), guess
        ),
    )


def _for_all_motions(
    radius: int, result: tf.Tensor, step: Callable[[tf.Tensor, _Move, tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    """Applies a step to the result for every motion, long ones first: short ones overrule them.

    The rows are a loop, which XLA does not take apart: if all motions were written one by one, it
    would compute them anew wherever the result is used, in ten times the time of the whole model.

    Args:
        radius: how far things may move.
        result: what to begin with, [B, H, W, ...].
        step: is given the motion's number, which is not 0, a function that moves images which
            have edges of the radius, and the result so far.
    """
    height, width = result.shape[1:3]
    lengths = sorted(range(-radius, radius + 1), key=abs, reverse=True)

    def try_row(index: tf.Tensor, result: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        row = tf.constant(lengths)[index]

        def mover(column: int) -> _Move:
            def moved(images: tf.Tensor) -> tf.Tensor:
                begin = [0, radius - row, radius - column, *[0] * (len(images.shape) - 3)]
                return tf.slice(images, begin, [-1, height, width, *images.shape[3:]])

            return moved

        for column in lengths:
            motion = (row + radius) * (2 * radius + 1) + column + radius + 1
            tried = step(motion, mover(column), result)
            result = tried if column else tf.where(row == 0, result, tried)
        return index + 1, result

    _, result = tf.while_loop(
        lambda index, _: index < len(lengths),
        try_row,
        (tf.constant(0), result),
        maximum_iterations=len(lengths),
    )
    return result


def _with_edges(images: tf.Tensor, radius: int, filling: int) -> tf.Tensor:
    """Adds edges to images [B, H, W, ...]."""
    edges = [[0, 0], [radius, radius], [radius, radius], *[[0, 0]] * (len(images.shape) - 3)]
    return tf.pad(images, edges, constant_values=tf.constant(filling, images.dtype))


def _noticeable(frames: tf.Tensor, usual: tf.Tensor) -> tf.Tensor:
    """Returns 1 where something is that usually is not, int32 [B, H, W]."""
    differences = tf.abs(tf.cast(frames, tf.int32) - tf.cast(usual, tf.int32))
    return tf.cast(tf.reduce_max(differences, axis=-1) > _NOTICEABLE, tf.int32)


def _blocks(shapes: tf.Tensor) -> tf.Tensor:
    """Numbers the block around every pixel by what it shows, int32 [B, H, W]."""
    height, width = shapes.shape[1:]
    reach = _BLOCK // 2
    padded = tf.pad(shapes, [[0, 0], [reach, reach], [reach, reach]], constant_values=_OUTSIDE)
    parts = [
        padded[:, row : row + height, column : column + width] * int(_BITS[row, column])
        for row in range(_BLOCK)
        for column in range(_BLOCK)
    ]
    return tf.add_n(parts)


def _num_bits(numbers: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.raw_ops.PopulationCount(x=numbers), tf.int32)
