"""Muon: steps whose singular values are all about the same size (Jordan et al., 2024).

A gradient of few examples moves a matrix along a few directions only. Muon makes the momentum
orthogonal before it is applied, so that rare directions are learned as fast as common ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gin
import tensorflow as tf

# Of the polynomial whose repeated application brings singular values from 0 to 1 near 1; its
# author's. Five times are enough for values between 0.7 and 1.2.
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_FLOOR = 1e-7
# How often the polynomial is applied to squares that follow from each other. Where the matrix is
# nearly nothing, their rounding errors grow about twelvefold each time: five times are too many for
# the products of a GPU (TF32) or a TPU (bfloat16), and ten for float32.
_IN_A_ROW = 3
# A momentum that is less than this share of what it has lately been makes a smaller step, by as
# much: orthogonal steps have no size of their own, and a matrix without any gradient, as a reward's
# while all rewards are predicted well enough, would drift on for hundreds of steps.
_FADED = 0.01
# What "lately" is: the peak that a momentum is compared with falls by this factor in each step.
_PEAK_KEPT = 0.999


@gin.configurable
class Muon(tf.keras.optimizers.Optimizer):
    """Muon for matrices, Adam for everything else.

    Args:
        learning_rate: a number or a schedule; Adam's, and Muon's times `scale`.
        scale: root mean square of a matrix's step, in learning rates: 0.2 is about that of Adam.
        momentum: share of the past that a matrix's momentum keeps; its step looks ahead by one.
        repetitions: how often the polynomial is applied.
        smallest_side: matrices with a shorter side are left to Adam, as vectors are.
        left_out: so are variables whose names contain one of these. The last layer is best left
            out, says its author.
        beta_1: Adam's.
        beta_2: Adam's.
        epsilon: Adam's.
        weight_decay: each step takes this share of every weight away, times the learning rate and
            beside its gradient, see `world_model_adam`. Muon's steps are as large for a gradient of
            one rare example as for any other: without decay what they have learned by heart stays.
    """

    def __init__(
        self,
        learning_rate: float | tf.keras.optimizers.schedules.LearningRateSchedule = 2e-3,
        scale: float = 0.2,
        momentum: float = 0.95,
        repetitions: int = 5,
        smallest_side: int = 32,
        left_out: Sequence[str] = ("outputs",),
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(name="Muon", weight_decay=weight_decay or None, jit_compile=False)
        self._learning_rate = self._build_learning_rate(learning_rate)
        self.scale = scale
        self.momentum = momentum
        self.repetitions = repetitions
        self.smallest_side = smallest_side
        self.left_out = tuple(left_out)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def is_orthogonal(self, variable: tf.Variable) -> bool:
        """Whether the variable's steps are Muon's."""
        is_matrix = variable.shape.rank == 2 and min(variable.shape) >= self.smallest_side
        return is_matrix and not any(part in variable.name for part in self.left_out)

    def build(self, var_list: list[tf.Variable]) -> None:
        """Creates the first moments and the second ones."""
        super().build(var_list)
        if getattr(self, "_built", False):
            return
        self._built = True
        self._first = [self.add_variable_from_reference(v, "first") for v in var_list]
        # Of a matrix, the peak of its momentum's norm instead.
        shapes = [[1] if self.is_orthogonal(v) else v.shape for v in var_list]
        self._second = [
            self.add_variable(shape, name=f"second/{variable._shared_name}")
            for variable, shape in zip(var_list, shapes, strict=True)
        ]

    def update_step(self, gradient: tf.Tensor, variable: tf.Variable) -> None:
        """Applies one gradient."""
        index = self._index_dict[self._var_key(variable)]
        gradient = tf.cast(tf.convert_to_tensor(gradient), variable.dtype)
        rate = tf.cast(self.learning_rate, variable.dtype)
        first, second = self._first[index], self._second[index]
        if self.is_orthogonal(variable):
            first.assign(self.momentum * first + gradient)
            ahead = self.momentum * first + gradient
            norm = tf.norm(ahead)
            second.assign(tf.maximum(_PEAK_KEPT * second, norm))
            faded = tf.minimum(tf.math.divide_no_nan(norm, _FADED * second[0]), 1.0)
            step = faded * orthogonal(ahead, self.repetitions)
            # An orthogonal matrix of m rows and n columns has entries of 1 / sqrt(max(m, n)).
            variable.assign_sub(rate * self.scale * max(variable.shape) ** 0.5 * step)
            return
        number = tf.cast(self.iterations + 1, variable.dtype)
        first.assign_add((gradient - first) * (1.0 - self.beta_1))
        second.assign_add((tf.square(gradient) - second) * (1.0 - self.beta_2))
        rate = rate * tf.sqrt(1.0 - self.beta_2**number) / (1.0 - self.beta_1**number)
        variable.assign_sub(rate * first / (tf.sqrt(second) + self.epsilon))

    def get_config(self) -> dict[str, Any]:
        """See the base class."""
        return {
            "learning_rate": self._serialize_hyperparameter(self._learning_rate),
            "scale": self.scale,
            "momentum": self.momentum,
            "repetitions": self.repetitions,
            "smallest_side": self.smallest_side,
            "left_out": self.left_out,
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "weight_decay": self.weight_decay or 0.0,
        }


def orthogonal(matrix: tf.Tensor, repetitions: int = 5) -> tf.Tensor:
    """Returns a matrix with the same singular vectors whose singular values are all near 1."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = tf.transpose(matrix) if tall else matrix
    x /= tf.norm(x) + _FLOOR
    # Of equal cost where one side is one and a half times the other.
    apply = _by_squares if 2 * x.shape[1] > 3 * x.shape[0] else _by_itself
    for done in range(0, repetitions, _IN_A_ROW):
        x = apply(x, min(_IN_A_ROW, repetitions - done))
    return tf.transpose(x) if tall else x


def _by_itself(x: tf.Tensor, repetitions: int) -> tf.Tensor:
    """Applies the polynomial to a matrix."""
    for _ in range(repetitions):
        x = tf.matmul(_polynomial(tf.matmul(x, x, transpose_b=True)), x)
    return x


def _by_squares(x: tf.Tensor, repetitions: int) -> tf.Tensor:
    """Does the same, up to rounding if they are few, with two products of the whole matrix.

    Each repetition multiplies x by a polynomial of its square, x x', so that the next square
    follows from this one: only the factors have to be known, and their product is applied last.
    """
    square = tf.matmul(x, x, transpose_b=True)
    product = factor = _polynomial(square)
    for _ in range(repetitions - 1):
        square = tf.matmul(factor, tf.matmul(square, factor))
        factor = _polynomial(square)
        product = tf.matmul(factor, product)
    return tf.matmul(product, x)


def _polynomial(square: tf.Tensor) -> tf.Tensor:
    """Returns what x is to be multiplied by, of x x'."""
    a, b, c = _COEFFICIENTS
    rest = b * square + c * tf.matmul(square, square)
    return tf.linalg.set_diag(rest, tf.linalg.diag_part(rest) + a)
