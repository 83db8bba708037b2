"""What has to be set before TensorFlow is imported for the first time in a process.

Importing `simple_tf` runs `prepare_process`, which stays cheap on purpose: emulator worker
processes import the package without ever importing TensorFlow.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

from simple_tf.cores import usable_cores

# Lines that the TensorFlow 2.15 wheel prints on every import, whatever the machine. Anything else
# that appears during the import (a broken driver, a missing library) is passed on to the user.
_IMPORT_NOISE = re.compile(
    r"Unable to register cu(DNN|FFT|BLAS) factory"
    r"|TF-TRT Warning: Could not find TensorRT"
    r"|Could not find cuda drivers on your machine"
    r"|absl::InitializeLog"
)
# Lines that XLA prints when it compiles something for a CPU for the first time, and the last one
# again whenever more is computed at the same time than ever before.
_COMPILATION_NOISE = re.compile(
    r"absl::InitializeLog"
    r"|Compiled cluster using XLA!"
    r"|SetPriority unimplemented for this stream"
)

# As many parts of a batch as anyone may want to compute at the same time.
_MOST_AT_ONCE = 8

# Seconds to wait for the last lines of stderr.
_PATIENCE = 5.0

# Copies lines, but for those with noise; `sys.stderr` is the user's.
_FILTER = """
import re, sys
noise = re.compile(sys.argv[1].encode())
for line in sys.stdin.buffer:
    if not noise.search(line):
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
"""


def prepare_process() -> None:
    """Sets the defaults TensorFlow needs here; whatever the user has set already wins."""
    # This wheel has oneDNN's convolutions, but leaves them off on CPUs it does not recognise;
    # they are worth about a factor of 1.5 for the full-size networks.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    # Keep warnings and errors, drop the INFO lines of the C++ runtime.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    _silence_gym_notice()
    if "tensorflow" not in sys.modules and not any(
        isinstance(finder, _QuietTensorFlowFinder) for finder in sys.meta_path
    ):
        sys.meta_path.insert(0, _QuietTensorFlowFinder())


def compile_once() -> None:
    """Has XLA compute something on all cores, so that it says now, unheard, what it says only once.

    One of these lines calls itself an error: no log level could hide it and show real ones. All
    devices have to be chosen before, because TensorFlow computes here.
    """
    import tensorflow as tf

    def multiply(x: tf.Tensor) -> tf.Tensor:
        # Long enough, about 20 ms, that all are at it at the same time.
        return tf.while_loop(lambda *_: True, lambda x: x @ x, (x,), maximum_iterations=50)[0]

    compiled = tf.function(multiply, jit_compile=True, autograph=False)
    count = min(usable_cores(), _MOST_AT_ONCE)
    together = tf.function(
        lambda x: [compiled(x + float(i)) for i in range(count)], autograph=False
    )
    with _stderr_without_noise(_COMPILATION_NOISE), tf.device("CPU:0"):
        for _ in range(2):  # The first time they wait for the compiler, one after the other.
            together(tf.zeros([256, 256]))[0].numpy()


def _silence_gym_notice() -> None:
    """TF-Agents imports the old `gym`, which advertises its successor on every import."""
    with contextlib.suppress(ImportError):
        from gym_notices import notices

        notices.notices.clear()


class _QuietTensorFlowFinder(importlib.abc.MetaPathFinder):
    """Finds `tensorflow` as usual, but filters what its first import writes to stderr."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _QuietLoader(spec.loader)
        return spec


class _QuietLoader(importlib.abc.Loader):
    """Delegates to the real loader with known start-up noise removed from stderr."""

    def __init__(self, loader: importlib.abc.Loader):
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with _stderr_without_noise(_IMPORT_NOISE):
            self._loader.exec_module(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)


@contextlib.contextmanager
def _stderr_without_noise(noise: re.Pattern[str]) -> Iterator[None]:
    """Filters file descriptor 2, where C++ writes, and not to `sys.stderr`.

    A process of its own does it, which outlives this one: the last words of a library that aborts,
    because the processor lacks an instruction, say, are those that a user needs most.
    """
    command = [sys.executable, "-I", "-S", "-c", _FILTER, noise.pattern]
    try:
        original = os.dup(2)
    except OSError:  # No stderr at all: nothing to filter.
        yield
        return
    try:
        # In a session of its own, Ctrl-C does not reach it.
        copier = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    except OSError:  # No process more: nothing is filtered.
        os.close(original)
        yield
        return
    assert copier.stdin is not None
    os.dup2(copier.stdin.fileno(), 2)
    copier.stdin.close()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(original, 2)
        os.close(original)
        # Its input has ended, unless somebody else has got hold of it in the meantime.
        with contextlib.suppress(subprocess.TimeoutExpired):
            copier.wait(_PATIENCE)
