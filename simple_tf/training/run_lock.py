"""One process at a time works on a run."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path
from typing import TextIO

from absl import logging

from simple_tf.file_system import NoLocksError, lock_file

LOCK_NAME = ".lock"

# By device and inode. Open until this process ends, which is when the system drops its locks,
# however it ends. The programs that play the games are told of no open files, and so keep none.
_held: dict[tuple[int, int], TextIO] = {}


class InUseError(Exception):
    """Another process has the lock; the message says which, as far as is known."""


def take_lock(directory: Path) -> None:
    """Makes a directory this process's own until it ends; a second time changes nothing.

    Args:
        directory: must exist. Whoever only reads there need not ask.

    Raises:
        InUseError: another process has it.
    """
    file = (directory / LOCK_NAME).open("a+", encoding="utf-8")
    status = os.fstat(file.fileno())
    inode = status.st_dev, status.st_ino
    if inode in _held or not _locked(file):
        file.close()
        return
    _held[inode] = file
    _sign(file)


def _locked(file: TextIO) -> bool:
    """Takes the lock; False if there is no such thing here."""
    try:
        lock_file(file, wait=False)
    except BlockingIOError as error:
        file.seek(0)
        owner = file.read().strip()
        file.close()
        raise InUseError(owner or "another process") from error
    except NoLocksError as error:
        logging.warning(
            "%s is on a file system without locks (%s): see to it yourself that no two processes "
            "work on this run at once.",
            Path(file.name).parent,
            error,
        )
        return False
    return True


def _sign(file: TextIO) -> None:
    """Writes who has the lock, for those who will be refused."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    file.truncate(0)
    file.write(f"process {os.getpid()} on {platform.node() or 'this machine'}, since {now}\n")
    file.flush()
