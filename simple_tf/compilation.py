"""Functions that TensorFlow compiles, and what their bodies can know about it."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

_for_xla = contextvars.ContextVar("for_xla", default=False)


def compiled(function: Callable[..., Any], jit_compile: bool = False, **options: Any) -> Any:
    """Returns a `tf.function` without AutoGraph, whose body can ask `is_for_xla`.

    Args:
        function: what is compiled.
        jit_compile: whether by XLA.
        **options: of `tf.function`.
    """

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        # What an outer function has XLA compile, it compiles with everything inside.
        token = _for_xla.set(jit_compile or _for_xla.get())
        try:
            return function(*args, **kwargs)
        finally:
            _for_xla.reset(token)

    return tf.function(traced, jit_compile=jit_compile, autograph=False, **options)


def is_for_xla() -> bool:
    """Whether what is being traced is for XLA, which leaves assertions out and says so each time.

    Replicas of a strategy trace in threads of their own, where this is not known: False.
    """
    return _for_xla.get()
