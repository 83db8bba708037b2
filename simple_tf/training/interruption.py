"""Ctrl-C and SIGTERM as a question to ask between steps, so that nothing is lost in the middle."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """While entered, the first SIGINT or SIGTERM is remembered; a second one acts as always."""

    def __init__(self) -> None:
        self._received: int | None = None
        self._previous: dict[int, Any] = {}

    @property
    def signal_name(self) -> str | None:
        """The signal that was received, e.g. "SIGINT", or None."""
        return None if self._received is None else signal.Signals(self._received).name

    def requested(self) -> bool:
        """Whether the user, or the system, has asked to stop."""
        return self._received is not None

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._remember)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self._received = number
        self._restore()
        # At once, or whoever pressed Ctrl-C would press it again. No `print`: it may be inside one.
        os.write(2, b"\nStopping after the work at hand; once more ends at once.\n")

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}
