"""A collection that was ended half-way is played again: as it was, or, if it cannot be, anew."""

from pathlib import Path

import numpy as np
import pytest

from simple_tf.data.codec import read_frames
from simple_tf.data.store import EpisodeStore
from simple_tf.envs.catalog import find_game
from simple_tf.training.collection_phase import CollectionPhase
from simple_tf.training.random_play import open_store
from simple_tf.training.schedule import Schedule

SCHEDULE = Schedule(
    iterations=2,
    initial_interactions=300,
    interactions_per_iteration=100,
    max_interactions=500,
    world_model_steps=1,
    policy_updates=1,
)


@pytest.fixture(scope="module")
def source():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
        yield find_game("tiny_games:Corridor-v0")


@pytest.fixture
def warnings(monkeypatch):
    found = []
    monkeypatch.setattr("absl.logging.warning", lambda text, *values: found.append(text % values))
    return found


def play(source, directory, seed):
    """Plays iteration 0; returns the store and what the loop would count."""
    store = open_store(directory, source)
    phase = CollectionPhase(source, store, None, SCHEDULE, 1, seed=seed)
    return store, sum(advance.interactions for advance in phase.run(0, 0))


def files(store):
    paths = sorted(store.directory.glob("iteration_*/*.tfrecord"))
    return {path: (path.stat().st_ino, path.read_bytes()) for path in paths}


def lose_the_end(store):
    """As if the collection had been ended half-way."""
    episodes = [episode for episode in store.episodes if episode.iteration == 0]
    assert len(episodes) > 4
    for episode in episodes[3:]:
        episode.path.unlink()
    (store.directory / "manifest.json").unlink()
    return [episode.path for episode in episodes[:3]]


def test_what_comes_out_as_before_is_kept(source, tmp_path, warnings):
    store, counted = play(source, tmp_path, seed=1)
    whole = files(store)
    assert counted == 300
    kept = lose_the_end(store)
    again, counted = play(source, tmp_path, seed=1)
    assert (counted, warnings) == (300, [])
    found = files(again)
    assert {path: content for path, (_, content) in found.items()} == {
        path: content for path, (_, content) in whole.items()
    }
    assert all(found[path] == whole[path] for path in kept)


def test_what_comes_out_differently_is_given_up(source, tmp_path, warnings):
    store, _ = play(source, tmp_path / "run", seed=1)
    kept = lose_the_end(store)
    steps = sum(store.get((0, index)).num_steps for index in range(len(kept)))
    again, counted = play(source, tmp_path / "run", seed=2)
    assert counted == 300
    (warning,) = warnings
    assert "came out differently now" in warning
    assert f"These {steps} interactions are given up." in warning
    fresh, _ = play(source, tmp_path / "fresh", seed=2)
    for found in (again, EpisodeStore.open(tmp_path / "run")):
        assert len(found.episodes) == len(fresh.episodes)
        for mine, expected in zip(found.episodes, fresh.episodes, strict=True):
            assert mine.same_play(expected)
            np.testing.assert_array_equal(read_frames(mine), read_frames(expected))
