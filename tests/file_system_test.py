import errno
import fcntl
import os

import gin
import pytest
import tensorflow as tf

from simple_tf.file_system import NoLocksError, is_full_disk, lock_file


@gin.configurable
def full_disk():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_known_by_its_number_or_by_its_words():
    assert is_full_disk(OSError(errno.ENOSPC, "anything"))
    assert is_full_disk(OSError(errno.EDQUOT, "anything"))
    words = "run/state; No space left on device"
    assert is_full_disk(tf.errors.ResourceExhaustedError(None, None, words))
    with pytest.raises(OSError, match="No space left") as caught:
        full_disk()
    assert is_full_disk(caught.value)


def test_want_of_memory_and_other_troubles_are_no_full_disk():
    words = "OOM when allocating tensor with shape[4096,4096]"
    assert not is_full_disk(tf.errors.ResourceExhaustedError(None, None, words))
    assert not is_full_disk(OSError(errno.EIO, os.strerror(errno.EIO)))
    assert not is_full_disk(ValueError("full of beans"))


def test_locks_exclude_each_other(tmp_path):
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        lock_file(first, wait=True)
        with pytest.raises(BlockingIOError):
            lock_file(second, wait=False)
        first.close()
        lock_file(second, wait=False)


@pytest.mark.parametrize("wait", [True, False])
def test_where_there_are_no_locks_it_is_said(tmp_path, monkeypatch, wait):
    def refuse(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        (tmp_path / "lock").open("w") as file,
        pytest.raises(NoLocksError, match="Function not implemented"),
    ):
        lock_file(file, wait)
