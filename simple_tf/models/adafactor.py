"""Adafactor with the semantics of the original's configuration.

`tf.keras.optimizers.Adafactor` cannot be made to agree: it caps the learning rate at
1 / sqrt(step) whatever the options (the deterministic model's schedule is above that), and it
keeps an unfactored second moment for every variable, which is the memory Adafactor is meant
to save.
"""

from __future__ import annotations

from typing import Any

import gin
import tensorflow as tf

# Floors of the squared gradient and of a parameter's scale.
_GRADIENT_FLOOR = 1e-30
_SCALE_FLOOR = 1e-3


@gin.configurable
class Adafactor(tf.keras.optimizers.Optimizer):
    """Factored second moments, update clipping, steps relative to the parameter's scale.

    Args:
        learning_rate: size of a step relative to the parameter's root mean square; a number or
            a schedule.
        decay_exponent: the second moment at step t (from 1) keeps 1 - t ** -exponent of its past.
        clip_threshold: root mean square above which an update is scaled down.
    """

    def __init__(
        self,
        learning_rate: float | tf.keras.optimizers.schedules.LearningRateSchedule = 0.002,
        decay_exponent: float = 0.8,
        clip_threshold: float = 1.0,
    ) -> None:
        super().__init__(name="Adafactor", jit_compile=False)
        self._learning_rate = self._build_learning_rate(learning_rate)
        self.decay_exponent = decay_exponent
        self.clip_threshold = clip_threshold

    def build(self, var_list: list[tf.Variable]) -> None:
        """Creates the moments: rows and columns of the last two axes, or the whole vector."""
        super().build(var_list)
        if getattr(self, "_built", False):
            return
        self._built = True
        self._rows, self._columns = [], []
        for variable in var_list:
            shape = variable.shape
            factored = shape.rank >= 2
            rows = shape[:-1] if factored else shape
            # Unused, but not empty: TensorFlow cannot send an empty variable between workers.
            columns = shape[:-2] + shape[-1:] if factored else tf.TensorShape([1])
            name = variable._shared_name
            self._rows.append(self.add_variable(rows, name=f"rows/{name}"))
            self._columns.append(self.add_variable(columns, name=f"columns/{name}"))

    def update_step(self, gradient: tf.Tensor, variable: tf.Variable) -> None:
        """Applies one gradient."""
        index = self._index_dict[self._var_key(variable)]
        gradient = tf.cast(tf.convert_to_tensor(gradient), tf.float32)
        step = tf.cast(self.iterations + 1, tf.float32)
        keep = 1.0 - tf.pow(step, -self.decay_exponent)
        squared = tf.square(gradient) + _GRADIENT_FLOOR
        rows, columns = self._rows[index], self._columns[index]
        if variable.shape.rank >= 2:
            rows.assign(_blend(keep, rows, tf.reduce_mean(squared, axis=-1)))
            columns.assign(_blend(keep, columns, tf.reduce_mean(squared, axis=-2)))
            relative = rows / tf.reduce_mean(rows, axis=-1, keepdims=True)
            update = gradient * tf.math.rsqrt(relative)[..., None]
            update *= tf.math.rsqrt(columns)[..., None, :]
        else:
            rows.assign(_blend(keep, rows, squared))
            update = gradient * tf.math.rsqrt(rows)
        update /= tf.maximum(1.0, _rms(update) / self.clip_threshold)
        scale = tf.maximum(_rms(variable), _SCALE_FLOOR)
        variable.assign_sub(self.learning_rate * scale * update)

    def get_config(self) -> dict[str, Any]:
        """See the base class."""
        return {
            "learning_rate": self._serialize_hyperparameter(self._learning_rate),
            "decay_exponent": self.decay_exponent,
            "clip_threshold": self.clip_threshold,
        }


def _blend(keep: tf.Tensor, old: tf.Variable, new: tf.Tensor) -> tf.Tensor:
    return keep * old + (1.0 - keep) * new


def _rms(x: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(tf.reduce_mean(tf.square(x)))
