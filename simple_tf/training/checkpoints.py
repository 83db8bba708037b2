"""The whole state of a run on disk: written in one step, verified when read."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from absl import logging

from simple_tf.file_system import is_full_disk

_STATE = "state"
_CONTENTS = "contents.json"
_UNFINISHED = ".unfinished"
_DAMAGED = ".damaged-"
_BLOCK = 1 << 20
# What reading a checkpoint raises that is not what was written: files that are gone, or different.
_DAMAGE = (FileNotFoundError, ValueError, KeyError, TypeError)


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written or used; the message says why and what to do."""


class RunCheckpoints:
    """Numbered checkpoints of one set of objects, each with the position of the run it belongs to.

        DIR/000041/state.index, state.data-*    tensors, as `tf.train.Checkpoint` writes them
        DIR/000041/contents.json                the position, and size and CRC of the other files
        DIR/.damaged-000041/                    one that was found damaged, out of the way

    A checkpoint is written under another name, flushed to the disk and renamed, so it is there
    whole or not at all. Damage that comes later is found by the CRCs.

    Args:
        directory: where they are kept.
        objects: what is saved and restored.
        keep: how many to keep, at least 2, so that a damaged one has a predecessor.
        writes: False for a worker that is not the chief: it takes part in saving, because state
            is gathered from all workers, but changes nothing in the directory.
    """

    def __init__(
        self, directory: Path, objects: tf.train.Checkpoint, keep: int = 3, writes: bool = True
    ) -> None:
        if keep < 2:
            raise ValueError(
                f"checkpoints_to_keep must be at least 2, not {keep}: a damaged one needs a "
                "predecessor."
            )
        self._writes = writes
        self._directory = directory
        self._objects = objects
        self._keep = keep

    def save(self, position: Mapping[str, Any]) -> Path | None:
        """Writes a checkpoint that survives a crash once this returns.

        Args:
            position: where in the run this is; anything that JSON can hold.

        Returns:
            Where it is; None where somebody else writes it.

        Raises:
            CheckpointError: the disk is full or fails; earlier checkpoints are untouched.
        """
        if not self._writes:
            self._take_part_in_saving()
            return None
        unfinished = self._directory / _UNFINISHED
        number = max(self.numbers(), default=0) + 1
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            self._objects.write(str(unfinished / _STATE))
            _write_contents(unfinished, position)
            final = unfinished.rename(self._path(number))
            _sync(self._directory)
        except (OSError, tf.errors.OpError) as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise CheckpointError(
                f"Could not save the run to {self._directory}: {explain(error)} What was saved "
                "before is whole: the same command goes on from there."
            ) from error
        self._remove_old()
        return final

    def restore(self) -> dict[str, Any] | None:
        """Restores the newest whole checkpoint; damaged ones are passed over with a warning.

        Returns:
            Its position, or None if there has never been a checkpoint.

        Raises:
            CheckpointError: there are checkpoints, but none of them can be used, or read just now.
        """
        numbers = self.numbers()
        for number in reversed(numbers):
            problem, position = self._try(self._path(number))
            if problem is None:
                return position
            logging.warning("The checkpoint %s is damaged: %s", self._path(number), problem)
            if self._writes:  # A later save must not take it for a predecessor.
                self._put_aside(number)
        if numbers:
            raise CheckpointError(
                f"All checkpoints in {self._directory} were damaged. The episodes beside them can "
                "still be read; start a new run in another directory."
            )
        return None

    def numbers(self) -> list[int]:
        """The numbers of all checkpoints, oldest first."""
        names = [path.name for path in self._directory.glob("[0-9]*")]
        return sorted(int(name) for name in names if name.isdigit())

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:06d}"

    def _take_part_in_saving(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            self._objects.write(str(Path(scratch) / _STATE))

    def _try(self, path: Path) -> tuple[str | None, dict[str, Any] | None]:
        """Returns what is damaged, or else the position.

        Raises:
            CheckpointError: the files are what was written, but do not fit; or nobody knows,
                because they cannot be read.
        """
        try:
            position = verified_position(path)
        except _DAMAGE as error:
            return explain(error), None
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {path} cannot be read: {explain(error)} It was left as it is; try "
                "again when the file system is in order."
            ) from error
        try:
            status = self._objects.read(str(path / _STATE))
            status.assert_existing_objects_matched()
        except (AssertionError, OSError, ValueError, tf.errors.OpError) as error:
            reason = explain(error).splitlines()[0]
            raise CheckpointError(
                f"The checkpoint {path} is of another model, or another version, than this run: "
                f"{reason} It was left as it is."
            ) from error
        return None, position

    def _put_aside(self, number: int) -> None:
        aside = self._directory / f"{_DAMAGED}{number:06d}"
        shutil.rmtree(aside, ignore_errors=True)
        self._path(number).rename(aside)

    def _remove_old(self) -> None:
        for number in self.numbers()[: -self._keep]:
            shutil.rmtree(self._path(number), ignore_errors=True)


def latest_state(directory: Path) -> str:
    """The prefix of the newest whole checkpoint in a directory, for `tf.train.Checkpoint.read`.

    Raises:
        CheckpointError: there is none.
    """
    path, _ = _latest(directory)
    return str(path / _STATE)


def latest_position(directory: Path) -> dict[str, Any]:
    """The position that the newest whole checkpoint in a directory was saved at.

    Raises:
        CheckpointError: there is none.
    """
    _, position = _latest(directory)
    return position


def _latest(directory: Path) -> tuple[Path, dict[str, Any]]:
    candidates = sorted((p for p in directory.glob("[0-9]*") if p.name.isdigit()), reverse=True)
    for path in candidates:
        try:
            return path, verified_position(path)
        except (*_DAMAGE, OSError):
            continue
    raise CheckpointError(
        f"There is no whole checkpoint in {directory}: the records of a run are not enough, its "
        "checkpoints/ and episodes/ are needed."
    )


def verified_position(path: Path) -> dict[str, Any]:
    """The position that a checkpoint was saved at, after comparing all files with their CRCs."""
    contents = json.loads((path / _CONTENTS).read_text(encoding="utf-8"))
    for name, expected in contents["files"].items():
        if _size_and_crc(path / name) != expected:
            raise ValueError(f"{name} is not what was written.")
    return contents["position"]


def explain(error: Exception) -> str:
    """What an error of the file system means, as a sentence."""
    if is_full_disk(error):
        return "the disk is full; free some space and try again."
    message = error.message if isinstance(error, tf.errors.OpError) else str(error)
    return message if message.endswith(".") else f"{message}."


def _write_contents(directory: Path, position: Mapping[str, Any]) -> None:
    """Flushes the files of a checkpoint and writes down what they have to look like."""
    files = {}
    for path in sorted(directory.iterdir()):
        _sync(path)
        files[path.name] = _size_and_crc(path)
    with (directory / _CONTENTS).open("w", encoding="utf-8") as file:
        json.dump({"position": dict(position), "files": files}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    _sync(directory)


def _size_and_crc(path: Path) -> list[int]:
    size = crc = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            size += len(block)
            crc = zlib.crc32(block, crc)
    return [size, crc]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
