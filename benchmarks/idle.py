"""What waits, and for what, while several processes work together."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from simple_tf.envs.batch import BatchStep, GameBatch

_TICKS = os.sysconf("SC_CLK_TCK")


class IdleWatch:
    """Measures a block of work: `with IdleWatch(batches) as watch: …`.

    Args:
        batches: games that are played in it.

    Attributes:
        seconds: that the block took.
        waiting_for_games: the share of that time in which this process waited for their steps.
        idle: the share of the cores' time that neither this process nor its children used.
    """

    def __init__(self, batches: Sequence[GameBatch]) -> None:
        self.seconds = self.waiting_for_games = self.idle = 0.0
        self._batches = batches
        self._waited = 0.0
        self._begin = (0.0, 0.0)

    def __enter__(self) -> IdleWatch:
        for batch in self._batches:
            # In front of the class's own.
            batch.receive = functools.partial(self._timed, batch.receive)  # type: ignore
        self._begin = time.perf_counter(), processor_seconds()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        begin, used_before = self._begin
        self.seconds = time.perf_counter() - begin
        used = processor_seconds() - used_before
        self.idle = 1.0 - used / self.seconds / len(os.sched_getaffinity(0))
        self.waiting_for_games = self._waited / self.seconds
        for batch in self._batches:
            del batch.receive

    def _timed(self, receive: Any) -> BatchStep:
        begin = time.perf_counter()
        step: BatchStep = receive()
        self._waited += time.perf_counter() - begin
        return step


def processor_seconds() -> float:
    """Used so far by this process and by its living children, over all their threads."""
    return sum(_used(pid) for pid in (os.getpid(), *_children()))


def _children() -> list[int]:
    threads = Path(f"/proc/{os.getpid()}/task").iterdir()
    return [int(pid) for thread in threads for pid in _read(thread / "children").split()]


def _used(pid: int) -> float:
    """Of one process; the name in front of the numbers may hold spaces."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def _read(path: Path) -> str:
    """What a file of the kernel says; nothing if its process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""
