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
    if not _as_product(kernel, height * width):
        return tf.nn.conv2d(x, kernel, stride, "SAME")
    patches = tf.concat(_taps(x, kernel.shape[0], kernel.shape[1], stride), axis=-1)
    weights = tf.reshape(kernel, [-1, kernel.shape[3]])
    product = tf.matmul(tf.reshape(patches, [-1, weights.shape[0]]), weights)
    return tf.reshape(product, [-1, height, width, kernel.shape[3]])


def convolve_transposed(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """SAME-padded transposed convolution of stride 2 of [B, H, W, in] with [4, 4, out, in]."""
    _, height, width, channels = x.shape
    outputs = kernel.shape[2]
    if not _as_product(kernel, height * width):
        shape = [tf.shape(x)[0], 2 * height, 2 * width, outputs]
        return tf.nn.conv2d_transpose(x, kernel, shape, 2, "SAME")
    weights = tf.reshape(kernel, [-1, channels])
    product = tf.matmul(tf.reshape(x, [-1, channels]), weights, transpose_b=True)
    taps = tf.reshape(product, [-1, height, width, 4, 4, outputs])
    rows = _interleave(tf.unstack(taps, axis=3), axis=1)  # [B, 2 H, W, 4, out]
    return _interleave(tf.unstack(rows, axis=3), axis=2)  # [B, 2 H, 2 W, out]


def _as_product(kernel: tf.Tensor, positions: int) -> bool:
    return kernel.shape.num_elements() >= _LARGE_KERNEL and positions <= _FEW_POSITIONS


def _taps(x: tf.Tensor, rows: int, columns: int, stride: int) -> list[tf.Tensor]:
    """Returns what each tap of a SAME-padded kernel meets, [B, H', W', in] each."""
    height, width = -(-x.shape[1] // stride), -(-x.shape[2] // stride)
    x = tf.pad(
        x, [[0, 0], _same(x.shape[1], rows, stride), _same(x.shape[2], columns, stride), [0, 0]]
    )
    return [
        x[:, i : i + stride * height : stride, j : j + stride * width : stride]
        for i in range(rows)
        for j in range(columns)
    ]


def _same(length: int, size: int, stride: int) -> list[int]:
    """Returns TensorFlow's SAME padding before and after an axis.

    The end is padded generously: slices take what they need.
    """
    outputs = -(-length // stride)
    total = max((outputs - 1) * stride + size - length, 0)
    return [total // 2, total - total // 2 + stride]


def _interleave(taps: list[tf.Tensor], axis: int) -> tf.Tensor:
    """Adds the four taps of a transposed convolution along one axis, doubling it.

    Position j contributes to outputs 2 j - 1 .. 2 j + 2: tap 1 falls on the even output 2 j, tap 2
    on the odd one after it, tap 3 on the next even and tap 0 on the odd one before.
    """
    even = taps[1] + _shifted(taps[3], axis, 1)
    odd = taps[2] + _shifted(taps[0], axis, -1)
    both = tf.stack([even, odd], axis=axis + 1)
    shape = [-1, *even.shape[1:]]
    shape[axis] = 2 * even.shape[axis]
    return tf.reshape(both, shape)


def _shifted(x: tf.Tensor, axis: int, by: int) -> tf.Tensor:
    """Moves x by one position along an axis, filling with zeros."""
    padding = [[0, 0] for _ in x.shape]
    padding[axis] = [1, 0] if by > 0 else [0, 1]
    length = x.shape[axis]
    begin = [0] * len(x.shape)
    begin[axis] = 0 if by > 0 else 1
    size = [-1] * len(x.shape)
    size[axis] = length
    return tf.slice(tf.pad(x, padding), begin, size)
