"""Where things are in a store's directory, and the file-system steps that keep it whole."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from simple_tf.data.description import MANIFEST_NAME
from simple_tf.data.errors import StoreError
from simple_tf.file_system import NoLocksError, lock_file

Key = tuple[int, int]

_LOCK_NAME = ".lock"


def iteration_directory(store: Path, iteration: int) -> Path:
    return store / f"iteration_{iteration:03d}"


def episode_path(store: Path, key: Key) -> Path:
    return iteration_directory(store, key[0]) / f"episode_{key[1]:05d}.tfrecord"


def temporary_path(path: Path) -> Path:
    """The name under which `path` is written. Hidden, so nobody takes it for an episode."""
    return path.with_name(f".{path.name}.tmp")


def key_of(path: Path) -> Key | None:
    """The key that a file's place in the store says it has; None if it has no proper place."""
    numbers = re.findall(r"\d+", f"{path.parent.name}/{path.name}")
    if len(numbers) != 2:
        return None
    key = int(numbers[0]), int(numbers[1])
    return key if episode_path(path.parent.parent, key) == path else None


def find_episode_files(store: Path) -> list[Path]:
    """Everything under the store's iterations that claims to be an episode file, sorted."""
    return sorted(
        Path(entry.path)
        for directory in sorted(store.glob("iteration_*/"))
        for entry in os.scandir(directory)
        if entry.name.endswith(".tfrecord") and not entry.name.startswith(".")
    )


def check_can_hold_store(directory: Path) -> None:
    """Raises StoreError if the directory is in use for something else."""
    if directory.exists() and not directory.is_dir():
        raise StoreError(f"{directory} is a file, not a directory for an episode store")
    if not directory.exists() or (directory / MANIFEST_NAME).exists():
        return
    names = [path.name for path in directory.iterdir() if not path.name.startswith(".")]
    if names and not any(name.startswith("iteration_") for name in names):
        raise StoreError(
            f"{directory} is neither empty nor an episode store: it holds {sorted(names)[0]}, "
            "so choose another directory"
        )


@contextlib.contextmanager
def lock(store: Path) -> Iterator[None]:
    """One writer at a time. The system drops the lock of a process that dies.

    On a file system without locks there is a warning, once, and no lock.
    """
    with (store / _LOCK_NAME).open("w") as file:
        try:
            lock_file(file, wait=True)
        except NoLocksError as error:
            _warn_of_no_locks(store, str(error))
        yield


@functools.cache
def _warn_of_no_locks(store: Path, reason: str) -> None:
    warnings.warn(
        f"{store} is on a file system without locks ({reason}): see to it yourself that no two "
        "processes write to it at once",
        stacklevel=5,
    )


def remove_leftovers(store: Path) -> None:
    """Removes what a writer that was killed left unfinished. Call it with the lock held."""
    for pattern in (".*.tmp", "iteration_*/.*.tmp"):
        for path in store.glob(pattern):
            path.unlink(missing_ok=True)


def sync_directory(directory: Path) -> None:
    """Makes renames in the directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
