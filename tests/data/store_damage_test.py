"""Files are really damaged here; the store must notice every time, and name the file."""

import dataclasses
import shutil

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data import codec
from simple_tf.data.errors import DamageError, DamageWarning
from simple_tf.data.store import EpisodeStore


def _assert_refused_and_skipped(store, name: str, rest: int) -> str:
    with pytest.raises(DamageError, match=name) as error:
        EpisodeStore.open(store.directory)
    with pytest.warns(DamageWarning, match=name):
        skipped = EpisodeStore.open(store.directory, on_damage="skip")
    assert len(skipped.episodes) == rest
    assert any(name in str(damage) for damage in skipped.damaged)
    return str(error.value)


def _assert_all_noticed(paths, store) -> None:
    results = zip(paths, codec.read_episodes(paths, store.description), strict=True)
    named = {p.name: isinstance(e, DamageError) and p.name in str(e) for p, e in results}
    assert [name for name, noticed in named.items() if not noticed] == []


def test_flipped_bits_anywhere(make_store, tmp_path):
    """Every 23rd byte: record lengths, checksums, columns, frames, the last byte."""
    store = make_store([[2]])
    whole = store.episodes[0].path.read_bytes()
    paths = []
    for position in sorted({*range(0, len(whole), 23), *range(24), len(whole) - 1}):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        paths.append(tmp_path / f"flipped_{position}")
        paths[-1].write_bytes(damaged)
    _assert_all_noticed(paths, store)


def test_truncation_anywhere(make_store, tmp_path):
    store = make_store([[2]])
    stored = store.episodes[0]
    whole = stored.path.read_bytes()
    paths = []
    for length in {*range(0, len(whole), 31), *stored.frame_offsets[:-1].tolist(), len(whole) - 1}:
        paths.append(tmp_path / f"truncated_{length}")
        paths[-1].write_bytes(whole[:length])
    _assert_all_noticed(paths, store)


@pytest.mark.parametrize("tail", [b"\0", b"more" * 100])
def test_bytes_too_many(make_store, tail):
    store = make_store([[6, 6]])
    path = store.episodes[1].path
    path.write_bytes(path.read_bytes() + tail)
    _assert_refused_and_skipped(store, "episode_00001.tfrecord", rest=1)


def test_damage_is_named_and_the_rest_is_used(make_store):
    store = make_store([[6, 6, 6]])
    data = bytearray(store.episodes[1].path.read_bytes())
    data[len(data) // 2] ^= 1
    store.episodes[1].path.write_bytes(data)
    message = _assert_refused_and_skipped(store, "episode_00001.tfrecord", rest=2)
    assert "episode_00000" not in message
    assert "episode_00002" not in message


def test_a_file_in_the_wrong_place(make_store):
    store = make_store([[6], [6]])
    moved = store.directory / "iteration_001" / "episode_00007.tfrecord"
    shutil.copy(store.episodes[0].path, moved)
    message = _assert_refused_and_skipped(store, "episode_00007.tfrecord", rest=2)
    assert "by its content it is episode 0 of iteration 0" in message


@pytest.mark.parametrize("name", ["episode_1.tfrecord", "copy.tfrecord", "episode_000001.tfrecord"])
def test_misnamed_files(make_store, name):
    store = make_store([[6, 6]])
    shutil.copy(store.episodes[1].path, store.episodes[1].path.with_name(name))
    _assert_refused_and_skipped(store, name, rest=2)


def test_a_file_of_another_store(make_store, make_episode, tmp_path, description):
    store = make_store([[6]])
    other_game = dataclasses.replace(description, settings={"frame_skip": 2})
    other = EpisodeStore.create_or_open(tmp_path / "other", other_game)
    stored = other.append(make_episode(0, 1))
    shutil.copy(stored.path, store.episodes[0].path.with_name("episode_00001.tfrecord"))
    message = _assert_refused_and_skipped(store, "episode_00001.tfrecord", rest=1)
    assert "settings.frame_skip: 4 in the store, 2 now" in message


def test_removed_files_are_missed(make_store, make_episode, description):
    store = make_store([[6, 6]])
    reader = EpisodeStore.open(store.directory)
    store.episodes[1].path.unlink()
    with pytest.raises(DamageError, match=r"episode_00001\.tfrecord: the file is gone"):
        reader.refresh()
    _assert_refused_and_skipped(store, "1 episode files, but the manifest counts 2", rest=1)
    with pytest.warns(DamageWarning):
        repaired = EpisodeStore.create_or_open(store.directory, description, on_damage="skip")
    repaired.append(make_episode(0, 2))
    assert len(EpisodeStore.open(store.directory).episodes) == 2


def test_skipped_files_are_reported_once(make_store, recwarn):
    store = make_store([[6, 6]])
    store.episodes[0].path.write_bytes(b"")
    opened = EpisodeStore.open(store.directory, on_damage="skip")
    opened.refresh()
    assert len([w for w in recwarn if w.category is DamageWarning]) == 1
    assert len(opened.damaged) == 1


def _rewrite(path, change) -> None:
    """Writes the file again with valid checksums, after `change` of header or frames."""
    records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
    header = tf.train.Example.FromString(records[0])
    frames = change(header.features.feature, records[1:]) or records[1:]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in [header.SerializeToString(), *frames]:
            writer.write(record)


def _set(name, *values):
    def change(features, _):
        features[name].int64_list.value[:] = values

    return change


def _drop(name):
    def change(features, _):
        del features[name]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_set("actions", 0, 1), "got 2, 6 and 6"),
        (_set("actions", 0, 1, 2, 3, 0, 0), "action 3 is out of range"),
        (_set("rewards", 0, 0, 0, 0, 0, 2), "must be -1, 0 or 1"),
        (_set("rewards", 0, 0, 0, 0, 0, 256), "not int8"),
        (_set("num_steps", 5), "7 frames instead of 6"),
        (_set("iteration", 1), "by its content it is episode 0 of iteration 1"),
        (_set("terminated", 0), "must be terminated or truncated"),
        (_set("format_version", 9), "format version 9"),
        (_drop("raw_rewards"), "lacks the field 'raw_rewards'"),
        (_drop("description"), "lacks the field 'description'"),
        (lambda _, frames: frames[:-1], "6 frames instead of 7"),
        (lambda _, frames: [*frames[:-1], b"not an image"], "frame 6: it is not a PNG"),
        (lambda _, frames: [*frames[:-1], frames[-1][:-1]], "frame 6: its PNG chunks"),
    ],
)
def test_contradictions_with_valid_checksums(make_store, change, reason):
    store = make_store([[6]])
    _rewrite(store.episodes[0].path, change)
    message = _assert_refused_and_skipped(store, "episode_00000.tfrecord", rest=0)
    assert reason in message


def test_frames_of_another_size(make_store, make_episode):
    store = make_store([[6]])
    others = make_episode(num_steps=6, shape=(10, 12, 3)).png_frames
    _rewrite(store.episodes[0].path, lambda *_: list(others))
    assert "frame 0: it is not a PNG image of 12x10x3" in _assert_refused_and_skipped(
        store, "episode_00000.tfrecord", rest=0
    )


def test_a_header_that_is_no_example(make_store):
    store = make_store([[6]])
    records = list(tf.data.TFRecordDataset(str(store.episodes[0].path)).as_numpy_iterator())
    with tf.io.TFRecordWriter(str(store.episodes[0].path)) as writer:
        for record in [b"\xff" * 50, *records[1:]]:
            writer.write(record)
    _assert_refused_and_skipped(store, "not a tf.train.Example", rest=0)


def test_random_files_are_never_accepted(make_store):
    store = make_store([[6]])
    generator = np.random.default_rng(0)
    for size in (1, 12, 16, 100, 5000):
        store.episodes[0].path.write_bytes(generator.bytes(size))
        (result,) = codec.read_episodes([store.episodes[0].path], store.description)
        assert isinstance(result, DamageError)
