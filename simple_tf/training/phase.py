"""What the loop knows of its phases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np


class Advance(NamedTuple):
    """A piece of a phase that has just been done.

    Attributes:
        step: how much of the phase is done now.
        metrics: of this piece, without the phase's name.
        images: pictures to show, uint8 [H, W, C], by name.
        histograms: values whose distribution to show, by name.
        interactions: real steps played in this piece that count; the loop adds them up.
        previous: whether the metrics are those of the iteration before, which come late.
    """

    step: int
    metrics: Mapping[str, float]
    images: Mapping[str, np.ndarray] = MappingProxyType({})
    histograms: Mapping[str, np.ndarray] = MappingProxyType({})
    interactions: int = 0
    previous: bool = False


class Phase(Protocol):
    """One kind of work in an iteration. A phase computes and yields; the loop does the rest.

    Attributes:
        name: prefix of its metrics.
        unit: what its steps are called.
        headline: the metrics that tell a person how it goes.
        resumable: whether the run can be saved, and continued, between two pieces. A phase that
            is not resumable is done again from its start, with the same result.
    """

    name: str
    unit: str
    resumable: bool

    @property
    def headline(self) -> tuple[str, ...]:
        """See above."""

    def size(self, iteration: int) -> int:
        """Steps of this phase in an iteration; 0 leaves it out."""

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """Does the phase from `step` on, piece by piece."""

    def global_step(self) -> int:
        """Steps in all iterations so far: the horizontal axis of its curves."""


class Pacer:
    """Chooses how many steps to do at once: as many as fit into about a second.

    Long enough that looking up between pieces costs nothing, short enough that a person who
    presses Ctrl-C, or watches, does not wait. The pieces do not change what is computed.

    Args:
        seconds: how long a piece should take.
        multiple: sizes are multiples of this.
        agree: maps the size that this process would choose to the one that all workers take.
    """

    def __init__(
        self,
        seconds: float = 1.0,
        multiple: int = 1,
        agree: Callable[[int], int] = lambda size: size,
    ) -> None:
        self._agree = agree
        self._seconds = seconds
        self._multiple = multiple
        self._size = multiple
        self._begin = time.perf_counter()

    def next(self, left: int) -> int:
        """How many of the `left` steps to do next; call `done` afterwards."""
        self._begin = time.perf_counter()
        return self._agree(min(self._size, left))

    def done(self) -> None:
        """Notes that the piece is done: doubles a short one, halves a long one."""
        took = time.perf_counter() - self._begin
        if took < 0.5 * self._seconds:
            self._size *= 2
        elif took > 2.0 * self._seconds:
            self._size = max(self._size // 2 // self._multiple * self._multiple, self._multiple)
