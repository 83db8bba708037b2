"""The store: append-only, by key, described, seen by readers while it grows."""

import dataclasses
import json

import numpy as np
import pytest

from simple_tf.data import codec, store
from simple_tf.data.errors import StoreError
from simple_tf.data.store import EpisodeStore


def test_what_was_appended_is_there_after_reopening(make_store, make_episode):
    written = make_store([[6, 3], [], [4]])
    read = EpisodeStore.open(written.directory)
    assert read.iterations == (0, 2)
    assert read.num_steps() == 13
    assert [read.num_steps(iteration) for iteration in (0, 1, 2)] == [9, 0, 4]
    assert [episode.key for episode in read.episodes] == [(0, 0), (0, 1), (2, 0)]
    assert [episode.index for episode in read.episodes_of(0)] == [0, 1]
    for episode in read.episodes:
        expected = make_episode(*episode.key, episode.num_steps)
        np.testing.assert_array_equal(codec.read_frames(episode), expected.decode_frames())
        np.testing.assert_array_equal(episode.raw_rewards, expected.raw_rewards)


def test_layout_on_disk(make_store):
    directory = make_store([[6, 3]]).directory
    files = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    assert files == {
        ".lock",
        "manifest.json",
        "iteration_000/episode_00000.tfrecord",
        "iteration_000/episode_00001.tfrecord",
    }
    counts = json.loads((directory / "manifest.json").read_text())["iterations"]["0"]
    assert (counts["episodes"], counts["steps"]) == (2, 9)


def test_a_key_is_written_once(make_store, make_episode):
    opened = make_store([[6]])
    before = opened.episodes[0].path.read_bytes()
    with pytest.raises(StoreError, match=r"episode_00000\.tfrecord exists already"):
        opened.append(make_episode(0, 0, 9))
    assert opened.episodes[0].path.read_bytes() == before
    assert opened.num_steps() == 6


def test_two_writers_do_not_overwrite_each_other(make_store, make_episode, description):
    one = make_store([[6]])
    other = EpisodeStore.create_or_open(one.directory, description)
    other.append(make_episode(0, 1))
    with pytest.raises(StoreError, match="exists already"):
        one.append(make_episode(0, 1))
    one.append(make_episode(0, 2))
    assert len(EpisodeStore.open(one.directory).episodes) == 3


def test_refresh_reads_new_files_only(make_store, make_episode, monkeypatch):
    writer = make_store([[6, 3]])
    reader = EpisodeStore.open(writer.directory)
    writer.append(make_episode(1, 0, 4))
    asked = []
    original = codec.read_episodes

    def recording(paths, description):
        asked.extend(paths)
        return original(paths, description)

    monkeypatch.setattr(store.codec, "read_episodes", recording)
    reader.refresh()
    assert [path.name for path in asked] == ["episode_00000.tfrecord"]
    assert reader.iterations == (0, 1)
    assert reader.num_steps() == 13


def test_play_from_an_iteration_on_can_be_discarded(make_store, make_episode):
    store = make_store([[6], [5, 4], [3]])
    assert store.discard_from(1) == 5 + 4 + 3
    assert store.iterations == (0,)
    reopened = EpisodeStore.open(store.directory)  # Nothing is missed.
    assert [episode.key for episode in reopened.episodes] == [e.key for e in store.episodes]
    store.append(make_episode(1, 0))
    assert EpisodeStore.open(store.directory).iterations == (0, 1)


def test_refresh_reads_what_was_played_anew(make_store, make_episode):
    store = make_store([[6]])
    key = (7, 0)
    store.append(make_episode(*key, num_steps=5))
    reader = EpisodeStore.open(store.directory)
    store.discard_from(7)
    store.append(make_episode(*key, num_steps=9))
    reader.refresh()
    assert reader.get(key).num_steps == 9
    frames = codec.read_frames(reader.get(key))
    np.testing.assert_array_equal(frames, codec.read_frames(store.get(key)))


def test_another_description_is_refused_with_the_differences(make_store, description):
    directory = make_store([[6]]).directory
    other = dataclasses.replace(description, game="boxing", settings={"frame_skip": 3})
    with pytest.raises(StoreError) as error:
        EpisodeStore.create_or_open(directory, other)
    assert 'game: "pong" in the store, "boxing" now' in str(error.value)
    assert "settings.frame_skip: 4 in the store, 3 now" in str(error.value)


def test_an_episode_that_does_not_fit_is_refused(make_store, make_episode):
    opened = make_store([])
    with pytest.raises(ValueError, match=r"frames of shape \[12, 10, 3\], not \[52, 40, 1\]"):
        opened.append(make_episode(shape=(52, 40, 1)))
    episode = make_episode()
    with pytest.raises(ValueError, match="action 3 is out of range: pong has 3 actions"):
        opened.append(dataclasses.replace(episode, actions=np.full(6, 3)))
    with pytest.raises(ValueError, match="frame 6: it is not a PNG image"):
        opened.append(dataclasses.replace(episode, png_frames=(*episode.png_frames[:-1], b"no")))
    assert opened.episodes == ()
    assert EpisodeStore.open(opened.directory).episodes == ()


@pytest.mark.parametrize("text", [None, "", '{"format_version": 1, "game":'])
def test_the_manifest_can_be_lost(make_store, description, text):
    directory = make_store([[6, 3]]).directory
    manifest = directory / "manifest.json"
    before = manifest.read_text()
    manifest.unlink() if text is None else manifest.write_text(text)
    opened = EpisodeStore.open(directory)
    assert (opened.description, opened.num_steps()) == (description, 9)
    EpisodeStore.create_or_open(directory, description)
    assert manifest.read_text() == before


def test_without_a_manifest_another_description_is_still_refused(make_store, description):
    directory = make_store([[6]]).directory
    (directory / "manifest.json").unlink()
    with pytest.raises(StoreError, match=r"settings\.frame_skip"):
        EpisodeStore.create_or_open(directory, dataclasses.replace(description, settings={}))


def test_a_manifest_that_lags_behind_is_brought_up_to_date(make_store, make_episode, description):
    opened = make_store([[6]])
    manifest = opened.directory / "manifest.json"
    old = manifest.read_text()
    opened.append(make_episode(0, 1))
    new = manifest.read_text()
    manifest.write_text(old)
    assert EpisodeStore.create_or_open(opened.directory, description).num_steps() == 12
    assert manifest.read_text() == new


def test_a_manifest_that_cannot_be_written_does_not_lose_the_episode(
    make_store, make_episode, monkeypatch
):
    opened = make_store([])

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write_manifest", fail)
    with pytest.warns(UserWarning, match="manifest was not updated: the disk is full"):
        opened.append(make_episode())
    assert EpisodeStore.open(opened.directory).num_steps() == 6


def test_leftovers_are_ignored_and_then_removed(make_store, description):
    directory = make_store([[6]]).directory
    leftovers = [
        directory / "iteration_000" / ".episode_00001.tfrecord.tmp",
        directory / ".manifest.json.tmp",
    ]
    for path in leftovers:
        path.write_bytes(b"half of it")
    assert EpisodeStore.open(directory).num_steps() == 6
    assert all(path.exists() for path in leftovers)
    EpisodeStore.create_or_open(directory, description)
    assert not any(path.exists() for path in leftovers)


def test_opening_changes_nothing(make_store):
    directory = make_store([[6]]).directory
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    EpisodeStore.open(directory)
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == before


def test_what_is_not_a_store(tmp_path, description):
    with pytest.raises(StoreError, match="there is no directory"):
        EpisodeStore.open(tmp_path / "missing")
    with pytest.raises(StoreError, match="is not an episode store"):
        EpisodeStore.open(tmp_path)
    (tmp_path / "thesis.tex").write_text("important")
    with pytest.raises(StoreError, match=r"it holds thesis\.tex"):
        EpisodeStore.create_or_open(tmp_path, description)
    with pytest.raises(StoreError, match="is a file"):
        EpisodeStore.create_or_open(tmp_path / "thesis.tex", description)


def test_unknown_damage_policy(make_store):
    with pytest.raises(ValueError, match="on_damage"):
        EpisodeStore.open(make_store([]).directory, on_damage="ignore")
