"""Episode files: to the bit, in a format that plain TensorFlow reads."""

import re
from pathlib import Path

import numpy as np
import pytest

from simple_tf.data import codec
from simple_tf.data.description import StoreDescription
from simple_tf.data.errors import DamageError

DOCUMENT = Path(__file__).parents[2] / "docs" / "episode_store.md"


@pytest.mark.parametrize("shape", [(12, 10, 3), (52, 40, 1)])
def test_round_trip(tmp_path, make_episode, shape):
    about = StoreDescription("pong", shape, ("NOOP", "UP", "DOWN"), {"noops": 8})
    episode = make_episode(3, 5, 20, shape)
    written = codec.write_episode(tmp_path / "episode", episode, about)
    (read,) = codec.read_episodes([tmp_path / "episode"], about)
    for name in ("key", "seed", "terminated", "truncated", "path", "frame_shape"):
        assert getattr(read, name) == getattr(written, name)
    for name in ("actions", "raw_rewards", "rewards"):
        np.testing.assert_array_equal(getattr(read, name), getattr(episode, name), strict=True)
    np.testing.assert_array_equal(read.frame_offsets, written.frame_offsets)
    np.testing.assert_array_equal(codec.read_frames(read), episode.decode_frames())
    np.testing.assert_array_equal(codec.read_frames(read, 4, 3), episode.decode_frames()[4:7])
    assert codec.read_description(tmp_path / "episode") == about


def test_the_same_episode_gives_the_same_file(tmp_path, make_episode, description):
    for name in ("one", "two"):
        codec.write_episode(tmp_path / name, make_episode(), description)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_one_bad_file_does_not_hide_the_next(tmp_path, make_episode, description):
    paths = [tmp_path / str(number) for number in range(6)]
    for number, path in enumerate(paths):
        codec.write_episode(path, make_episode(0, number), description)
    paths[1].write_bytes(b"")
    paths[2].write_bytes(paths[2].read_bytes()[:-1])
    paths[4].unlink()
    results = list(codec.read_episodes(paths, description))
    assert [isinstance(result, DamageError) for result in results] == [
        False, True, True, False, True, False,
    ]  # fmt: skip
    assert [result.index for result in results if not isinstance(result, DamageError)] == [0, 3, 5]


def test_frames_that_changed_after_opening_are_noticed(tmp_path, make_episode, description):
    stored = codec.write_episode(tmp_path / "episode", make_episode(), description)
    data = bytearray(stored.path.read_bytes())
    data[-30] ^= 4
    stored.path.write_bytes(data)
    with pytest.raises(DamageError, match=r"episode: frames 6 to 6: its pixels do not match"):
        codec.read_frames(stored, 6, 1)
    stored.path.write_bytes(data[:-100])
    with pytest.raises(DamageError, match="PNG"):
        codec.read_frames(stored, 6, 1)


def test_the_documented_way_to_read_an_episode(make_store, make_episode):
    """Runs the program in the document, which uses nothing of this package."""
    program, _ = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert "simple_tf" not in program
    store = make_store([[5, 8]])
    names = {"path": str(store.episodes[1].path)}
    exec(program, names)
    episode = make_episode(0, 1, 8)
    np.testing.assert_array_equal(names["frames"], episode.decode_frames())
    np.testing.assert_array_equal(names["actions"], episode.actions)
    np.testing.assert_array_equal(names["rewards"], episode.rewards)
    np.testing.assert_array_equal(names["raw_rewards"], episode.raw_rewards)


def test_the_documented_way_to_draw_windows_and_starts(make_store):
    _, program = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    names = {"store_dir": make_store([[40, 30]]).directory}
    exec(program, names)
    assert names["batch"]["frames"].shape[:2] == (16, 10)
    assert names["batch"]["actions"].shape == names["batch"]["reward_classes"].shape == (16, 9)
    assert names["frames"].shape[:2] == (16, 4)
    assert names["actions"].shape == (16, 3)
