"""Where in a run we are."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

PREVIOUS = "previous/"


@dataclasses.dataclass
class Position:
    """With a checkpoint's tensors, all that a resumption needs.

    Attributes:
        iteration: 0 is the random play before the first.
        phase: name of the phase.
        step: how much of the phase is done.
        interactions: real steps played in all finished collections.
        interactions_before: the same by the end of the iteration before.
        seconds: time worked so far, over all starts of the run.
        metric_lines: lines of `metrics.jsonl` that belong to the work so far.
        summary: the current iteration's latest metrics, and seconds per phase; metrics of the
            iteration before that have come late are in it with `PREVIOUS` in front.
        finished: whether everything is done.
    """

    iteration: int = 0
    phase: str = "collection"
    step: int = 0
    interactions: int = 0
    interactions_before: int = 0
    seconds: float = 0.0
    metric_lines: int = 0
    summary: dict[str, float] = dataclasses.field(default_factory=dict)
    finished: bool = False

    def to_json(self) -> dict[str, Any]:
        """The position as fields that JSON can hold."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Position:
        """The inverse of `to_json`."""
        return cls(**fields)


class Stopwatch:
    """Adds the time that passes to a position: its total, and the phase's part of the summary."""

    def __init__(self, position: Position) -> None:
        self._position = position
        self._last = time.perf_counter()

    def lap(self) -> None:
        """Books the time since the last lap on the current phase."""
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        name = f"time/{self._position.phase}"
        self._position.seconds += passed
        self._position.summary[name] = self._position.summary.get(name, 0.0) + passed
