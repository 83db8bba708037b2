"""Which program a configuration is for: found in its files, not told by the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from simple_tf.training.gin_files import ConfigurationError, find_gin_file

LOOP = "simple_tf.train"
MODEL_FREE = "simple_tf.train_model_free"

# No configuration of the loop has a learner, and none of the model-free ones is without.
_LEARNER = re.compile(r"^\s*ModelFreeExperiment\.learner\s*=", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*include\s+['\"]([^'\"]+)['\"]", re.MULTILINE)


def program_of(gin_files: Sequence[str], bindings: Sequence[str]) -> str:
    """Returns the module that runs a configuration; parses nothing, and needs no TensorFlow.

    Args:
        gin_files: paths, or names of shipped files. What is missing is for others to complain of.
        bindings: further lines of gin.
    """
    texts = (*bindings, *(text for name in gin_files for text in _texts(name, frozenset())))
    return MODEL_FREE if any(map(_LEARNER.search, texts)) else LOOP


def check_program(program: str, gin_files: Sequence[str], bindings: Sequence[str]) -> None:
    """Raises ConfigurationError if a configuration is missing, or is for another program."""
    for name in gin_files:
        find_gin_file(name)  # Raises: what is missing is no configuration of any program.
    right = program_of(gin_files, bindings)
    if right != program:
        raise ConfigurationError(
            f"{', '.join(gin_files)} is a configuration of another program: python -m {right}."
        )


def _texts(name: str, outer: frozenset[Path]) -> Iterator[str]:
    """A file's content, and that of all files that it includes."""
    try:
        path = find_gin_file(name)
        text = path.read_text(encoding="utf-8")
    except (ConfigurationError, OSError, UnicodeDecodeError):
        return
    yield text
    if path not in outer:
        for included in _INCLUDE.findall(text):
            yield from _texts(included, outer | {path})
