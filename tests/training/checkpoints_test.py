import errno
import pathlib
import shutil
import subprocess

import pytest
import tensorflow as tf

from simple_tf.training.checkpoints import CheckpointError, RunCheckpoints, latest_state


class _Saved:
    """A variable with its checkpoints."""

    def __init__(self, directory, size=1000):
        self.variable = tf.Variable(tf.zeros([size]))
        self.checkpoints = RunCheckpoints(directory, tf.train.Checkpoint(x=self.variable))

    def save(self, value):
        self.variable.assign(tf.fill(self.variable.shape, float(value)))
        return self.checkpoints.save({"step": value, "phase": "policy"})

    def restore(self):
        return self.checkpoints.restore()

    @property
    def value(self):
        return float(self.variable[-1])


def test_the_newest_is_restored_with_its_position(tmp_path):
    writer = _Saved(tmp_path)
    writer.save(1)
    writer.save(2)
    reader = _Saved(tmp_path)
    assert reader.restore() == {"step": 2, "phase": "policy"}
    assert reader.value == 2.0


def test_none_at_all_is_a_fresh_start(tmp_path):
    assert _Saved(tmp_path / "none").restore() is None


def test_only_the_last_few_are_kept(tmp_path):
    writer = _Saved(tmp_path)
    for value in range(5):
        writer.save(value)
    assert writer.checkpoints.numbers() == [3, 4, 5]


def test_one_alone_would_have_no_predecessor(tmp_path):
    with pytest.raises(ValueError, match="checkpoints_to_keep must be at least 2, not 1"):
        RunCheckpoints(tmp_path, tf.train.Checkpoint(), keep=1)


@pytest.mark.parametrize("name", ["state.data-00000-of-00001", "state.index", "contents.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_newest_gives_way_to_the_one_before(tmp_path, caplog, name, damage):
    writer = _Saved(tmp_path)
    writer.save(1)
    path = writer.save(2) / name
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 0x40
        path.write_bytes(bytes(content))
    elif damage == "cut":
        path.write_bytes(bytes(content[: len(content) // 2]))
    else:
        path.unlink()
    reader = _Saved(tmp_path)
    assert reader.restore() == {"step": 1, "phase": "policy"}
    assert reader.value == 1.0
    assert "000002 is damaged" in caplog.text
    assert (tmp_path / ".damaged-000002").is_dir()  # Put aside, for whoever knows better.
    # What is saved next counts on from the good one.
    reader.save(3)
    assert _Saved(tmp_path).restore()["step"] == 3


def test_what_cannot_be_read_just_now_is_not_damaged(tmp_path, monkeypatch):
    writer = _Saved(tmp_path)
    writer.save(1)
    newest = writer.save(2)

    def stale(path, *arguments, **options):
        if path.parent == newest:
            raise OSError(errno.ESTALE, "Stale file handle")
        return opened(path, *arguments, **options)

    opened = pathlib.Path.open
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "open", stale)
        with pytest.raises(CheckpointError, match=r"000002 cannot be read: .*Stale.*try again"):
            _Saved(tmp_path).restore()
    assert _Saved(tmp_path).restore()["step"] == 2


def test_when_all_are_damaged_nothing_is_started_over_in_silence(tmp_path):
    for number in range(2):
        path = _Saved(tmp_path).save(number)
        (path / "state.index").write_bytes(b"")
    with pytest.raises(CheckpointError, match="All checkpoints"):
        _Saved(tmp_path).restore()


def test_another_model_is_refused(tmp_path):
    _Saved(tmp_path).save(1)
    other = tf.train.Checkpoint(y=tf.Variable(0.0), x=tf.Variable(tf.zeros([1000])))
    with pytest.raises(CheckpointError, match="another model"):
        RunCheckpoints(tmp_path, other).restore()


def test_a_checkpoint_that_does_not_fit_is_left_as_it_is(tmp_path):
    _Saved(tmp_path).save(1)
    other = _Saved(tmp_path, size=10)
    with pytest.raises(CheckpointError, match=r"another version.*left as it is"):
        other.restore()
    assert _Saved(tmp_path).restore() == {"step": 1, "phase": "policy"}


def test_leftovers_of_a_killed_writer_do_no_harm(tmp_path):
    path = _Saved(tmp_path).save(1)
    shutil.copytree(path, tmp_path / ".unfinished")
    (tmp_path / ".unfinished" / "state.index").write_bytes(b"half")
    reader = _Saved(tmp_path)
    assert reader.restore()["step"] == 1
    reader.save(2)
    assert not (tmp_path / ".unfinished").exists()


def test_latest_state_passes_over_damage(tmp_path):
    writer = _Saved(tmp_path)
    good = writer.save(1)
    (writer.save(2) / "state.index").write_bytes(b"")
    assert latest_state(tmp_path) == str(good / "state")
    with pytest.raises(CheckpointError, match="no whole checkpoint"):
        latest_state(tmp_path / "elsewhere")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB."""
    mount = tmp_path / "small"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", mount], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this user may not mount a tmpfs")
    yield mount
    subprocess.run(["umount", mount], check=True)


def test_a_full_disk_leaves_what_was_there(small_disk):
    saved = _Saved(small_disk / "checkpoints", size=200_000)  # 0.8 MB each.
    saved.save(1)
    (small_disk / "ballast").write_bytes(bytes(900_000))
    with pytest.raises(CheckpointError, match="disk is full"):
        saved.save(2)
    assert _Saved(small_disk / "checkpoints", size=200_000).restore()["step"] == 1
    (small_disk / "ballast").unlink()
    saved.save(3)
    assert _Saved(small_disk / "checkpoints", size=200_000).restore()["step"] == 3
