"""Layers with explicit sizes shared by the frame, posterior and policy-free networks.

Every layer is told its input width and creates its variables when constructed, so a model is
complete (countable, loadable, checkpointable) before it has seen a frame. Variable names are
full paths inside the model (`down_0/conv/kernel`); `t2t_names.py` maps them to Tensor2Tensor's.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from simple_tf.models.convolution import convolve, convolve_transposed

Activation = Callable[[tf.Tensor], tf.Tensor]

# Gain of the uniform fan-average initialiser of every kernel.
INITIALIZER_GAIN = 1.3


class NamedLayer(tf.keras.layers.Layer):
    """A Keras layer whose variables carry the layer's full path and are seeded by it.

    Args:
        name: path of the layer inside the model.
        dtype: Keras dtype policy.
        seed: root seed of the initial values; each variable mixes in its own path.
    """

    def __init__(
        self, name: str, dtype: tf.keras.mixed_precision.Policy | str = "float32", seed: int = 0
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.seed = seed

    @property
    def child_options(self) -> dict[str, Any]:
        """Options that a layer hands down to the layers it contains."""
        return {"dtype": self._dtype_policy, "seed": self.seed}

    def variable_seed(self, suffix: str) -> int:
        """Returns the seed of one variable, a function of its path alone."""
        return zlib.crc32(f"{self.seed}/{self.name}/{suffix}".encode()) & 0x7FFFFFFF

    def add_variable_at(self, suffix: str, shape: tuple[int, ...], initializer: Any) -> tf.Variable:
        """Creates the trainable variable `<layer path>/<suffix>`."""
        return self.add_weight(
            name=f"{self.name}/{suffix}", shape=shape, initializer=initializer, dtype=tf.float32
        )

    def add_kernel(self, shape: tuple[int, ...], suffix: str = "kernel") -> tf.Variable:
        """Creates a kernel with the uniform fan-average initialiser."""
        initializer = tf.keras.initializers.VarianceScaling(
            INITIALIZER_GAIN, "fan_avg", "uniform", seed=self.variable_seed(suffix)
        )
        return self.add_variable_at(suffix, shape, initializer)

    def add_bias(self, size: int, stddev: float = 0.0, suffix: str = "bias") -> tf.Variable:
        """Creates a bias, normal with the given deviation (0: zeros)."""
        initializer = (
            tf.keras.initializers.RandomNormal(0.0, stddev, seed=self.variable_seed(suffix))
            if stddev
            else tf.keras.initializers.Zeros()
        )
        return self.add_variable_at(suffix, (size,), initializer)


class Dense(NamedLayer):
    """Affine map of the last axis, as one matrix product.

    Args:
        inputs: width of the last axis.
        outputs: width of the result.
        bias_stddev: deviation of the initial bias.
        activation: applied to the result.
        **options: see `NamedLayer`.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        bias_stddev: float = 0.0,
        activation: Activation | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.activation = activation
        self.kernel = self.add_kernel((inputs, outputs))
        self.bias = self.add_bias(outputs, bias_stddev)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, ..., inputs] to [B, ..., outputs]; all but the batch size is static."""
        inputs, outputs = self.kernel.shape
        flat = x if x.shape.rank == 2 else tf.reshape(x, [-1, inputs])
        y = tf.nn.bias_add(tf.matmul(flat, self.kernel), self.bias)
        if self.activation is not None:
            y = self.activation(y)
        return y if x.shape.rank == 2 else tf.reshape(y, [-1, *x.shape[1:-1], outputs])


class Conv(NamedLayer):
    """SAME-padded two-dimensional convolution, NHWC.

    Args:
        inputs: input channels.
        outputs: output channels.
        size: side of the square kernel.
        stride: stride in both directions.
        activation: applied to the result.
        **options: see `NamedLayer`.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        size: int,
        stride: int = 1,
        activation: Activation | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.stride = stride
        self.activation = activation
        self.kernel = self.add_kernel((size, size, inputs, outputs))
        self.bias = self.add_bias(outputs)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, H, W, inputs] to [B, ceil(H / stride), ceil(W / stride), outputs]."""
        y = tf.nn.bias_add(convolve(x, self.kernel, self.stride), self.bias)
        return y if self.activation is None else self.activation(y)


class TransposedConv(NamedLayer):
    """SAME-padded 4x4 transposed convolution of stride 2, ReLU; kernel [4, 4, out, in].

    Args:
        size: (height, width) of the result, see `convolve_transposed`.
        inputs: input channels.
        outputs: output channels.
        **options: see `NamedLayer`.
    """

    def __init__(self, size: tuple[int, int], inputs: int, outputs: int, **options: Any) -> None:
        super().__init__(**options)
        self.size = size
        self.kernel = self.add_kernel((4, 4, outputs, inputs))
        self.bias = self.add_bias(outputs)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, H, W, inputs] to [B, *size, outputs]."""
        y = convolve_transposed(x, self.kernel, self.size)
        return tf.nn.relu(tf.nn.bias_add(y, self.bias))


class LayerNorm(NamedLayer):
    """Normalises the last axis; statistics are always taken in float32."""

    EPSILON = 1e-6

    def __init__(self, channels: int, **options: Any) -> None:
        super().__init__(**options)
        self.scale = self.add_variable_at("scale", (channels,), "ones")
        self.bias = self.add_bias(channels)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [..., channels] to the same shape."""
        return layer_norm(x, tf.cast(self.scale, tf.float32), tf.cast(self.bias, tf.float32))


@tf.custom_gradient
def layer_norm(
    x: tf.Tensor, scale: tf.Tensor, bias: tf.Tensor
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, ...]]]:
    """Normalises the last axis of x, then scales and shifts.

    The closed-form gradient keeps one tensor of x's size for the backward pass, where automatic
    differentiation keeps four, and takes a third of the operations.
    """
    wide = tf.cast(x, tf.float32)
    centred = wide - tf.reduce_mean(wide, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    inverse = tf.math.rsqrt(variance + LayerNorm.EPSILON)
    normalised = centred * inverse

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, ...]:
        upstream = tf.cast(upstream, tf.float32)
        inner = upstream * scale
        along = tf.reduce_mean(inner * normalised, axis=-1, keepdims=True)
        mean = tf.reduce_mean(inner, axis=-1, keepdims=True)
        down = (inner - mean - normalised * along) * inverse
        # BiasAddGrad sums over all axes but the last, faster than a general reduction.
        d_scale = tf.raw_ops.BiasAddGrad(out_backprop=upstream * normalised)
        return tf.cast(down, x.dtype), d_scale, tf.raw_ops.BiasAddGrad(out_backprop=upstream)

    return tf.cast(normalised * scale + bias, x.dtype), gradient


class ConditionalScaleShift(NamedLayer):
    """Injects a vector into every position: x * sigmoid(dense(v)) + dense(v).

    Used for the action and for the latent ("multi_additive" and "complex_addn" in the original).
    """

    def __init__(self, channels: int, condition: int, **options: Any) -> None:
        super().__init__(**options)
        children = self.child_options
        self.mul = Dense(condition, channels, name=f"{self.name}/mul", **children)
        self.add = Dense(condition, channels, name=f"{self.name}/add", **children)

    def call(self, x: tf.Tensor, condition: tf.Tensor) -> tf.Tensor:
        """Maps [B, H, W, channels] and [B, condition] to [B, H, W, channels]."""
        scale = tf.nn.sigmoid(self.mul(condition))[:, None, None, :]
        return x * scale + self.add(condition)[:, None, None, :]


class MeanWithAttention(NamedLayer):
    """Pools positions by the plain mean and by learned soft attention heads."""

    HEADS = 4

    def __init__(self, channels: int, **options: Any) -> None:
        super().__init__(**options)
        children = self.child_options
        self.attention = Dense(channels, self.HEADS, name=f"{self.name}/attention", **children)
        self.output_layer = Dense(
            (self.HEADS + 1) * channels, 2 * channels, name=f"{self.name}/output", **children
        )

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """Maps [B, H, W, channels] to [B, 2 * channels]."""
        positions, channels = x.shape[1] * x.shape[2], x.shape[3]
        flat = tf.reshape(x, [-1, positions, channels])
        # Positions last: a softmax over another axis transposes with a computed permutation,
        # which XLA cannot differentiate inside a loop.
        scores = tf.transpose(self.attention(flat), [0, 2, 1])  # [B, heads, H*W]
        weights = tf.nn.softmax(tf.cast(scores, tf.float32))
        # The original takes the mean, not the sum, of the weighted activations.
        attended = tf.matmul(tf.cast(weights, flat.dtype), flat) / positions  # [B, heads, channels]
        plain = tf.reduce_mean(flat, axis=1, keepdims=True)
        pooled = tf.transpose(tf.concat([attended, plain], axis=1), [0, 2, 1])
        return self.output_layer(tf.reshape(pooled, [-1, channels * (self.HEADS + 1)]))


def standardise(frames: tf.Tensor) -> tf.Tensor:
    """Standardises every image and channel over its pixels.

    Args:
        frames: [..., H, W, C], any numeric type.

    Returns:
        float32 of the same shape; a constant channel becomes 0.
    """
    x = tf.cast(frames, tf.float32)
    mean = tf.reduce_mean(x, axis=[-3, -2], keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=[-3, -2], keepdims=True)
    floor = 1.0 / np.sqrt(frames.shape[-3] * frames.shape[-2])
    return (x - mean) / tf.maximum(tf.sqrt(variance), floor)


def position_signal(
    height: int, width: int, channels: int, min_scale: float = 1.0, max_scale: float = 1e4
) -> np.ndarray:
    """Returns the sinusoidal position signal of an image, float32 [1, height, width, channels].

    Each axis owns channels // 4 timescales, a sine and a cosine for each: rows first, then
    columns; channels left over stay 0.
    """
    scales = channels // 4
    increment = np.log(max_scale / min_scale) / max(scales - 1, 1)
    inverse = min_scale * np.exp(-increment * np.arange(scales, dtype=np.float32))
    signal = np.zeros((1, height, width, channels), np.float32)
    for axis, length in enumerate((height, width)):
        phase = np.arange(length, dtype=np.float32)[:, None] * inverse[None, :].astype(np.float32)
        waves = np.concatenate([np.sin(phase), np.cos(phase)], axis=1)
        first = axis * 2 * scales
        shape = (1, length, 1, 2 * scales) if axis == 0 else (1, 1, length, 2 * scales)
        signal[..., first : first + 2 * scales] += waves.reshape(shape)
    return signal


class PositionSignal(tf.Module):
    """Adds the position signal of one fixed image size."""

    def __init__(self, height: int, width: int, channels: int) -> None:
        super().__init__()
        # One eager tensor, captured by reference: unrolled graphs do not copy it per step.
        with tf.init_scope():
            self._signal = tf.constant(position_signal(height, width, channels))

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Adds the signal to [B, height, width, channels]."""
        return x + tf.cast(self._signal, x.dtype)


def pad_to_even(x: tf.Tensor) -> tf.Tensor:
    """Zero-pads [B, H, W, C] at the bottom and right to even sizes."""
    rows, columns = x.shape[1] % 2, x.shape[2] % 2
    if not rows and not columns:
        return x
    return tf.pad(x, [[0, 0], [0, rows], [0, columns], [0, 0]])


def halved_sizes(height: int, width: int, steps: int) -> list[tuple[int, int]]:
    """Returns the sizes before each of `steps` halvings (rounded up) and after the last."""
    sizes = [(height, width)]
    for _ in range(steps):
        height, width = (height + 1) // 2, (width + 1) // 2
        sizes.append((height, width))
    return sizes
