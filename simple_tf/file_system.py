"""What the file system can and cannot do here, and what its errors mean."""

from __future__ import annotations

import errno
import fcntl
import os
from typing import IO, Any

# Some file systems know no locks: Lustre without its option, many that are not local.
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)
_FULL = (errno.ENOSPC, errno.EDQUOT)


class NoLocksError(Exception):
    """There is no such thing as a lock on this file system; the message is the system's."""


def lock_file(file: IO[Any], wait: bool) -> None:
    """Takes the lock of an open file, which the system drops when the file is closed.

    Args:
        file: whose lock to take.
        wait: whether to wait for who has it.

    Raises:
        BlockingIOError: somebody has it, and nobody waits.
        NoLocksError: nobody can have it.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise NoLocksError(error.strerror) from error


def is_full_disk(error: BaseException) -> bool:
    """Whether an error of Python, or of TensorFlow, says that there is no room on the disk.

    TensorFlow has one error for want of anything, memory too, and an error that has passed through
    gin has lost its number: both keep the system's words.
    """
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return any(os.strerror(number) in str(error) for number in _FULL)
