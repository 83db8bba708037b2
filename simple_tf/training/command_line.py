"""How every binary starts and ends: user errors as one sentence, exit codes that mean something."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

from absl import app, logging

from simple_tf.data.errors import StoreError
from simple_tf.envs.batch import WorkerError

# What a user can cause and mend; anything else is a bug and keeps its traceback.
_USER_ERRORS = (ValueError, StoreError, WorkerError, OSError)


def run(main: Callable[[list[str]], int]) -> None:
    """Parses flags and runs `main`; an error the user can mend is printed without a traceback."""

    def guarded(arguments: list[str]) -> int:
        if len(arguments) > 1:
            print(f"Not a flag: {' '.join(arguments[1:])}. See --help.", file=sys.stderr)
            return 2
        try:
            return main(arguments)
        except _USER_ERRORS as error:
            logging.debug("Where it happened:", exc_info=True)  # With --verbosity=1.
            print(f"Error: {_without_call_stack(error)}", file=sys.stderr)
            return 1

    app.run(guarded)


def _without_call_stack(error: Exception) -> str:
    """Gin adds a line for every configurable that an error passes through."""
    lines = str(error).splitlines()
    return "\n".join(line for line in lines if not line.startswith("  In call to configurable"))


def exit_code(stopped_by: str | None) -> int:
    """Returns 0, or the shell's code for the signal that stopped the work early."""
    return 0 if stopped_by is None else 128 + signal.Signals[stopped_by].value
