"""One batch computed in parts, at the same time, on the cores of a CPU.

XLA shares an operation among cores only if it is large, and computes one after the other. Where
operations are small, as those of a model for a CPU are, a core is better used by a part of the
batch of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from simple_tf.compilation import compiled
from simple_tf.replicas import tracing_part


def check_parts(parts: int, name: str, num_rows: int | None = None) -> None:
    """Raises a ValueError unless so many parts can have equally many of the rows.

    Args:
        parts: how many.
        name: what the option is called.
        num_rows: of a batch; None: not known yet.
    """
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {parts!r}.")
    if num_rows is not None and num_rows % parts:
        raise ValueError(
            f"{name} is {parts}, but a batch of {num_rows} cannot be shared equally by so many."
        )


def in_parts(
    function: Callable[..., Any], parts: int, name: str, jit_compile: bool = False
) -> Callable[..., list[Any]]:
    """Returns a function that applies another to equal parts of a batch; traceable.

    What is drawn for a row is the same, however many parts there are, see `replicas`. The parts
    depend on nothing of each other, so that TensorFlow computes them at the same time.

    Args:
        function: takes rows, a nest of tensors, and what all parts have in common.
        parts: how many.
        name: what their number is called, for the error.
        jit_compile: whether to compile the function with XLA.

    Returns:
        Takes what `function` takes, and returns what it returns for each of the parts. Raises a
        ValueError if the parts cannot have equally many rows.
    """
    if parts == 1:
        alone = compiled(function, jit_compile=True) if jit_compile else function
        return lambda rows, *common: [alone(rows, *common)]

    def compute(part: tf.Tensor | int, rows: Any, *common: Any) -> Any:
        with tracing_part(part, parts):
            return function(rows, *common)

    run = compiled(compute, jit_compile)

    def compute_all(rows: Any, *common: Any) -> list[Any]:
        flat = tf.nest.flatten(rows)
        check_parts(parts, name, flat[0].shape[0])
        cut = [tf.split(values, parts) for values in flat]
        return [
            run(tf.constant(part), tf.nest.pack_sequence_as(rows, [x[part] for x in cut]), *common)
            for part in range(parts)
        ]

    return compute_all
