"""Work beside the loop, one piece at a time, whose errors are not lost."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from types import TracebackType

# How often whoever waits looks up.
_SECONDS_BETWEEN_LOOKS = 0.1


class BackgroundError(RuntimeError):
    """What was done beside the loop has failed."""


class BackgroundWork:
    """Runs a piece of work in a thread; leaving the context cancels it and waits for its end.

    A thread, not a process: TensorFlow computes, and games are waited for, without Python's lock,
    and a second process could have neither the GPU's memory nor the TPU, which this one holds.
    """

    def __init__(self) -> None:
        self._what = "nothing"
        self._future: concurrent.futures.Future[None] | None = None
        self._cancelled = threading.Event()

    @property
    def failed(self) -> bool:
        """Whether the work has ended with an error."""
        future = self._future
        return future is not None and future.done() and future.exception() is not None

    def start(self, what: str, work: Callable[[Callable[[], bool]], None]) -> None:
        """Begins a piece of work.

        Args:
            what: for messages, e.g. "the evaluation of iteration 3".
            work: is given a function to ask, often, whether it has been cancelled.

        Raises:
            RuntimeError: the piece before has not ended.
        """
        if self._future is not None and not self._future.done():
            raise RuntimeError(f"There is no room for {what} before {self._what} has ended.")
        self._what = what
        executor = concurrent.futures.ThreadPoolExecutor(1, "background")
        self._future = executor.submit(work, self._cancelled.is_set)
        executor.shutdown(wait=False)

    def wait(self, should_stop: Callable[[], bool]) -> bool:
        """Waits for the end of the work; returns whether there is nothing left to wait for.

        Args:
            should_stop: asked all the time; True ends the waiting, not the work.

        Raises:
            BackgroundError: the work has failed.
        """
        while self._future is not None and not self._future.done():
            if should_stop():
                return False
            concurrent.futures.wait([self._future], _SECONDS_BETWEEN_LOOKS)
        self.check()
        return True

    def check(self) -> None:
        """Raises BackgroundError if the work has failed."""
        if self._future is None or not self.failed:
            return
        error = self._future.exception()
        raise BackgroundError(
            f"Beside the loop, {self._what} has failed with {type(error).__name__}: {error} "
            "(--verbosity=1 shows where). What was saved is whole: the same command goes on from "
            "there, and tries this again."
        ) from error

    def __enter__(self) -> BackgroundWork:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cancelled.set()
        if self._future is not None:
            concurrent.futures.wait([self._future])
        self._future = None
        self._cancelled = threading.Event()
