import numpy as np
import pytest

from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.data.codec import read_frames
from simple_tf.data.errors import StoreError
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.training.collection import collect
from simple_tf.training.random_play import open_store


def _collect(directory, num_slots, num_interactions, max_steps=None, seed=3, **options):
    source = find_game("pong")
    store = open_store(directory, source)
    with GameBatch(source, num_slots, seed, max_steps=max_steps, num_workers=0) as batch:
        summary = collect(batch, store, RandomPolicy(6, seed), 0, num_interactions, **options)
    return store, summary


@pytest.mark.parametrize(("num_slots", "num_interactions"), [(1, 70), (3, 100), (4, 3), (2, 41)])
def test_plays_and_stores_exactly_the_budget(tmp_path, num_slots, num_interactions):
    reported = []
    store, summary = _collect(
        tmp_path, num_slots, num_interactions, max_steps=20, report=reported.append
    )
    assert store.num_steps() == summary.interactions == sum(reported) == num_interactions
    assert len(store.episodes) == summary.episodes
    assert [episode.index for episode in store.episodes] == list(range(summary.episodes))
    assert all(episode.num_steps <= 20 for episode in store.episodes)


def test_every_stored_episode_replays_from_its_seed_and_actions(tmp_path):
    store, _ = _collect(tmp_path, 2, 90, max_steps=25)
    game = find_game("pong").make()
    frame = np.zeros(game.frame_shape, np.uint8)
    for episode in store.episodes:
        game.reset(episode.seed)
        frames = read_frames(episode)
        game.write_frame(frame)
        np.testing.assert_array_equal(frames[0], frame)
        for action, raw_reward, expected in zip(
            episode.actions, episode.raw_rewards, frames[1:], strict=True
        ):
            assert game.step(int(action)).raw_reward == raw_reward
            game.write_frame(frame)
            np.testing.assert_array_equal(frame, expected)


def test_a_game_over_is_kept_apart_from_a_cut(tmp_path):
    store, summary = _collect(tmp_path, 1, 1800)
    assert summary.finished == sum(episode.terminated for episode in store.episodes) >= 1
    assert [episode.truncated for episode in store.episodes] == [
        not episode.terminated for episode in store.episodes
    ]
    finished = [episode.raw_return for episode in store.episodes if episode.terminated]
    assert summary.mean_raw_return == pytest.approx(np.mean(finished))
    assert store.episodes[0].rewards.min() == -1


def test_the_seed_decides_the_data(tmp_path):
    one, _ = _collect(tmp_path / "one", 2, 60)
    same, _ = _collect(tmp_path / "same", 2, 60)
    other, _ = _collect(tmp_path / "other", 2, 60, seed=4)
    actions = [
        np.concatenate([episode.actions for episode in store.episodes])
        for store in (one, same, other)
    ]
    np.testing.assert_array_equal(actions[0], actions[1])
    assert not np.array_equal(actions[0], actions[2])


def test_stopping_early_keeps_what_was_played(tmp_path):
    calls = iter(range(1000))
    store, summary = _collect(tmp_path, 2, 1000, should_stop=lambda: next(calls) >= 17)
    assert store.num_steps() == summary.interactions == 34


def _stored_lengths(store):
    return sorted(episode.num_steps for episode in store.episodes)


def test_an_exception_keeps_what_was_played(tmp_path):
    store = open_store(tmp_path, find_game("pong"))
    calls = iter(range(1000))

    def failing_policy(observations):
        if next(calls) == 12:
            raise RuntimeError("the cat sat on the network")
        return np.zeros(len(observations), int)

    with GameBatch(find_game("pong"), 3, num_workers=0) as batch:
        with pytest.raises(RuntimeError, match="the cat"):
            collect(batch, store, failing_policy, 0, 900)
        assert _stored_lengths(store) == [12, 12, 12]
        # The same games go on with a new collection that knows nothing of the failed one.
        collect(batch, store, RandomPolicy(6, 0), 1, 60)
    assert [episode.num_steps for episode in store.episodes_of(1)] == [20, 20, 20]
    assert [episode.index for episode in store.episodes_of(1)] == [0, 1, 2]


def test_an_episode_that_could_not_be_written_is_written_at_the_end(tmp_path, monkeypatch):
    store = open_store(tmp_path, find_game("pong"))
    append, attempts = store.append, []

    def full_disk_once(episode):
        attempts.append(episode)
        if len(attempts) == 1:
            raise StoreError("the disk is full")
        return append(episode)

    monkeypatch.setattr(store, "append", full_disk_once)
    with (
        GameBatch(find_game("pong"), 2, max_steps=15, num_workers=0) as batch,
        pytest.raises(StoreError, match="full"),
    ):
        collect(batch, store, RandomPolicy(6, 0), 0, 100)
    assert _stored_lengths(store) == [15, 15]


@pytest.mark.parametrize("bad", [0, -5, 10.5, "10"])
def test_an_impossible_budget_is_refused(tmp_path, bad):
    with pytest.raises(ValueError, match="num_interactions must be a whole number"):
        _collect(tmp_path, 1, bad)
