"""How every binary starts and ends: user errors as one sentence, exit codes that mean something."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import tensorflow as tf
from absl import app, logging

from simple_tf.agents.replay import ReplayError
from simple_tf.data.errors import StoreError
from simple_tf.envs.batch import WorkerError
from simple_tf.envs.catalog import UnknownGameError
from simple_tf.file_system import is_full_disk
from simple_tf.training.background_work import BackgroundError
from simple_tf.training.checkpoints import CheckpointError
from simple_tf.training.devices import DeviceError
from simple_tf.training.gin_files import ConfigurationError
from simple_tf.training.loop import DivergedError
from simple_tf.training.run_directory import RunError
from simple_tf.training.sweep import SweepError
from simple_tf.training.workers import WorkerLostError

# These say all there is to say.
_OWN_ERRORS = (
    ConfigurationError,
    UnknownGameError,
    StoreError,
    ReplayError,
    WorkerError,
    RunError,
    SweepError,
    CheckpointError,
    BackgroundError,
    DivergedError,
    DeviceError,
    WorkerLostError,
)
# These are most often a user's mistake, but may be a bug in somebody's code.
_COMMON_ERRORS = (ValueError, OSError)
# Gin raises a plain RuntimeError when a binding is missing.
_MISSING_BINDING = "Required bindings"


def run(main: Callable[[list[str]], int]) -> None:
    """Parses flags and runs `main`; an error the user can mend is printed without a traceback."""

    def guarded(arguments: list[str]) -> int:
        if len(arguments) > 1:
            print(f"Not a flag: {' '.join(arguments[1:])}. See --help.", file=sys.stderr)
            return 2
        try:
            return explain_errors(lambda: main(arguments))
        except KeyboardInterrupt:  # Before there was anything to save, or for the second time.
            print("Stopped at once. What was saved before is whole.", file=sys.stderr)
            return exit_code(signal.SIGINT.name)

    app.run(guarded)


def explain_errors(work: Callable[[], int]) -> int:
    """Returns the exit code of some work; prints an error that the user can mend as a sentence."""
    try:
        return work()
    except (*_OWN_ERRORS, *_COMMON_ERRORS, RuntimeError, tf.errors.OpError) as error:
        sentence = _explain(error)
        if sentence is None:
            raise
        logging.debug("Where it happened:", exc_info=True)
        print(f"Error: {sentence}", file=sys.stderr)
        return 1


def exit_code(stopped_by: str | None) -> int:
    """Returns 0, or the shell's code for the signal that stopped the work early."""
    return 0 if stopped_by is None else 128 + signal.Signals[stopped_by].value


def _explain(error: Exception) -> str | None:
    """What to tell the user; None for a bug, which keeps its traceback."""
    # Gin adds a line for every configurable that an error passes through.
    lines = [line for line in str(error).splitlines() if not line.startswith("  In call to")]
    message = "\n".join(lines)
    if isinstance(error, _OWN_ERRORS):
        return message
    if is_full_disk(error):
        return (
            f"The disk is full ({message}). Free some space and give the same command again: what "
            "was saved before is whole."
        )
    if isinstance(error, _COMMON_ERRORS):
        return f"{message} (--verbosity=1 shows where this happened)"
    if message.startswith(_MISSING_BINDING):
        return f"The gin files are incomplete. {message}"
    return None
