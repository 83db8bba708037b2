"""Convolutions that choose how to be computed.

Near the bottom of a full-size network a kernel holds millions of weights but meets only a few
positions. A convolution routine first re-arranges all weights for itself, which then costs several
times more than the arithmetic; a matrix product reads them once, as they are. So convolutions
with a large kernel and few positions are written as matrix products here. Results agree up to
rounding.
"""

from __future__ import annotations

import tensorflow as tf

# Measured with oneDNN on two cores: below this size of kernel, or above this number of
# positions, the convolution routine is as fast or faster.
_LARGE_KERNEL = 2**20
_FEW_POSITIONS = 40


def convolve(x: tf.Tensor, kernel: tf.Tensor, stride: int) -> tf.Tensor:
    """SAME-padded convolution of [B, H, W, in] with a kernel [h, w, in, out]."""
    height, width = -(-x.shape[1] // stride), -(-x.shape[2] // stride)
    if not _as_product(kernel, height * width) or kernel.shape[0] % stride:
        return tf.nn.conv2d(x, kernel, stride, "SAME")
    patches = _patches(x, kernel.shape[0], kernel.shape[1], stride)
    weights = tf.reshape(kernel, [-1, kernel.shape[3]])
    product = tf.matmul(tf.reshape(patches, [-1, weights.shape[0]]), weights)
    return tf.reshape(product, [-1, height, width, kernel.shape[3]])


def convolve_transposed(x: tf.Tensor, kernel: tf.Tensor, size: tuple[int, int]) -> tf.Tensor:
    """SAME-padded transposed convolution of stride 2 of [B, H, W, in] with [4, 4, out, in].

    Args:
        x: [B, H, W, in].
        kernel: [4, 4, out, in].
        size: size of the result: 2 H or 2 H - 1 rows, 2 W or 2 W - 1 columns; what is left out
            is the last row or column.
    """
    _, height, width, channels = x.shape
    outputs = kernel.shape[2]
    if not _as_product(kernel, height * width):
        return tf.nn.conv2d_transpose(x, kernel, [tf.shape(x)[0], *size, outputs], 2, "SAME")
    weights = tf.reshape(kernel, [-1, channels])
    product = tf.matmul(tf.reshape(x, [-1, channels]), weights, transpose_b=True)
    taps = tf.reshape(product, [-1, height, width, 4, 4 * outputs])
    rows = _interleave(taps, axis=1)  # [B, 2 H, W, 4 * out]
    full = _interleave(tf.reshape(rows, [-1, 2 * height, width, 4, outputs]), axis=2)
    return tf.slice(full, [0, 0, 0, 0], [-1, *size, -1])


def _as_product(kernel: tf.Tensor, positions: int) -> bool:
    return kernel.shape.num_elements() >= _LARGE_KERNEL and positions <= _FEW_POSITIONS


def _patches(x: tf.Tensor, rows: int, columns: int, stride: int) -> tf.Tensor:
    """Returns what a SAME-padded kernel meets at each position, [B, H', W', rows, columns, in].

    The image is cut into tiles of stride x stride; a patch is a rectangle of neighbouring tiles.
    Plain slices and their gradients run on all cores, those with a stride on one.
    """
    height, width = -(-x.shape[1] // stride), -(-x.shape[2] // stride)
    padding = [_same(x.shape[1], rows, stride), _same(x.shape[2], columns, stride)]
    channels = x.shape[3]
    x = tf.pad(x, [[0, 0], *padding, [0, 0]])
    tiles_down, tiles_across = height + rows // stride - 1, width + columns // stride - 1
    x = tf.reshape(x, [-1, tiles_down, stride, tiles_across, stride * channels])
    x = tf.transpose(x, [0, 1, 3, 2, 4])  # [B, tiles down, tiles across, stride, stride * in]
    x = _joined_neighbours(x, 2, width, columns // stride, 4)
    return _joined_neighbours(x, 1, height, rows // stride, 3)


def _joined_neighbours(x: tf.Tensor, axis: int, length: int, count: int, into: int) -> tf.Tensor:
    """Joins each of `length` positions along `axis` with its next neighbours, along `into`."""
    size = [-1, *x.shape[1:]]
    size[axis] = length
    begins = [[i if a == axis else 0 for a in range(x.shape.rank)] for i in range(count)]
    return tf.concat([tf.slice(x, begin, size) for begin in begins], axis=into)


def _same(length: int, size: int, stride: int) -> list[int]:
    """Returns TensorFlow's SAME padding before and after an axis."""
    outputs = -(-length // stride)
    total = max((outputs - 1) * stride + size - length, 0)
    return [total // 2, total - total // 2]


def _interleave(taps: tf.Tensor, axis: int) -> tf.Tensor:
    """Adds the four taps of a transposed convolution along one axis, doubling it.

    Position j contributes to outputs 2 j - 1 .. 2 j + 2: tap 1 falls on the even output 2 j, tap 2
    on the odd one after it, tap 3 on the next even and tap 0 on the odd one before.

    Args:
        taps: [B, H, W, 4, N].
        axis: 1 or 2.

    Returns:
        [B, H, W, N] with the axis doubled.
    """
    length = taps.shape[axis]
    even = _tap(taps, 1, axis, 0, 0) + _tap(taps, 3, axis, 0, 1)
    odd = _tap(taps, 2, axis, 0, 0) + _tap(taps, 0, axis, 1, 0)
    both = tf.stack([even, odd], axis=axis + 1)
    shape = [-1, *even.shape[1:]]
    shape[axis] = 2 * length
    return tf.reshape(both, shape)


def _tap(taps: tf.Tensor, index: int, axis: int, drop_first: int, drop_last: int) -> tf.Tensor:
    """Returns one tap, [B, H, W, N]; what is dropped at one end is filled with 0 at the other."""
    begin, size = [0, 0, 0, index, 0], [-1, *taps.shape[1:]]
    begin[axis], size[3] = drop_first, 1
    size[axis] -= drop_first + drop_last
    tap = tf.squeeze(tf.slice(taps, begin, size), axis=3)
    if not drop_first and not drop_last:
        return tap
    padding = [[0, 0] for _ in range(4)]
    padding[axis] = [drop_last, drop_first]
    return tf.pad(tap, padding)
