"""Arrays over one block of memory that can be handed to another process as a file descriptor.

The block is an anonymous file: it has no name, so nothing is left behind however a process ends.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Mapping

import numpy as np

_ALIGNMENT = 64

Layout = Mapping[str, tuple[tuple[int, ...], str]]
"""Shape and dtype of each array, by name."""


def create_block(layout: Layout) -> int:
    """Returns the file descriptor of a new, zeroed block for the layout; the caller closes it."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("simple_tf_games")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, sum(_padded_bytes(shape, dtype) for shape, dtype in layout.values()))
    return descriptor


def map_arrays(descriptor: int, layout: Layout) -> dict[str, np.ndarray]:
    """Maps the block into this process and returns its arrays by name."""
    memory = mmap.mmap(descriptor, 0)
    arrays: dict[str, np.ndarray] = {}
    offset = 0
    for name, (shape, dtype) in layout.items():
        arrays[name] = np.ndarray(shape, dtype, memory, offset)
        offset += _padded_bytes(shape, dtype)
    return arrays


def _padded_bytes(shape: tuple[int, ...], dtype: str) -> int:
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return -(-size // _ALIGNMENT) * _ALIGNMENT
