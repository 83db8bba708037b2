"""Loads benchmarks, which are programs with flags of their own, into a test's process."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from absl import flags

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def load_benchmark(name: str) -> ModuleType:
    """Returns benchmarks/NAME.py as a module; its flags, and its neighbours', are forgotten."""
    spec = importlib.util.spec_from_file_location(f"{name}_benchmark", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _no_flags(), _neighbours():
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _no_flags() -> Iterator[None]:
    """Other programs in this process may have flags of the same names."""
    known = flags.FLAGS
    hidden = {
        name: known[name]
        for name in known
        if not known.find_module_defining_flag(name, "").startswith("absl")
    }
    for name in hidden:
        delattr(known, name)
    kept = set(known)
    try:
        yield
    finally:
        for name in set(known) - kept:
            delattr(known, name)
        for name, flag in hidden.items():
            known[name] = flag


@contextlib.contextmanager
def _neighbours() -> Iterator[None]:
    """Benchmarks import each other by their bare names."""
    loaded = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    try:
        yield
    finally:
        sys.path.remove(str(FOLDER))
        for name in set(sys.modules) - loaded:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
                del sys.modules[name]
