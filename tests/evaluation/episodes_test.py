"""Every episode that is started counts exactly once, whatever its length."""

from pathlib import Path

import numpy as np
import pytest

from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.evaluation.episodes import EvaluationStopped, Quota, play_all
from simple_tf.seeding import derive_seed

RIGHT = 1


@pytest.fixture
def corridor(monkeypatch):
    """A dot starts 4 to 11 steps from the right end, where 5 points are; 15 is the end."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
    return find_game("tiny_games:Corridor-v0")


def go_right(observations):
    return np.full(len(observations), RIGHT)


def length_of(source, seed):
    """Plays one episode by hand, to the right; returns its steps."""
    game = source.make()
    game.reset(seed)
    steps = 1
    while not game.step(RIGHT).terminated:
        steps += 1
    return steps


def expected_lengths(source, seed, slots, episodes):
    """What each slot has to play: its first episodes, as many as its share."""
    rounds = -(-episodes // slots)
    places = [(slot, number) for number in range(rounds) for slot in range(slots)][:episodes]
    return [length_of(source, derive_seed(seed, "episode", *place)) for place in places]


@pytest.mark.parametrize(("slots", "episodes"), [(5, 5), (3, 11), (1, 4)])
def test_each_slot_plays_its_share_to_the_end(corridor, slots, episodes):
    with GameBatch(corridor, slots, seed=3, num_workers=0) as batch:
        quota = Quota(batch, episodes)
        play_all([quota], go_right)
    expected = expected_lengths(corridor, 3, slots, episodes)
    assert len(set(expected)) > 1
    assert [episode.num_steps for episode in quota.episodes] == expected
    assert {episode.raw_return for episode in quota.episodes} == {5.0}
    assert not any(episode.cut for episode in quota.episodes)


def test_two_batches_in_turn_play_the_same_as_each_alone(corridor):
    def lengths(*seeds):
        batches = [GameBatch(corridor, 4, seed, num_workers=0) for seed in seeds]
        quotas = [Quota(batch, 6) for batch in batches]
        play_all(quotas, go_right)
        return [[episode.num_steps for episode in quota.episodes] for quota in quotas]

    assert lengths(1, 2) == [*lengths(1), *lengths(2)]


def test_episodes_at_the_cap_are_counted_and_marked(corridor):
    with GameBatch(corridor, 8, seed=0, max_steps=7, num_workers=0) as batch:
        quota = Quota(batch, 16)
        play_all([quota], go_right)
    expected = expected_lengths(corridor, 0, 8, 16)
    for episode, length in zip(quota.episodes, expected, strict=True):
        assert episode.cut == (length > 7)
        assert episode.num_steps == min(length, 7)
        assert episode.raw_return == (0.0 if length > 7 else 5.0)
    assert 0 < sum(episode.cut for episode in quota.episodes) < 16


def test_finished_slots_are_neither_stepped_nor_shown_to_the_player(corridor):
    shown = []

    def player(observations):
        shown.append(len(observations))
        return go_right(observations)

    with GameBatch(corridor, 6, seed=5, num_workers=0) as batch:
        quota = Quota(batch, 6)
        play_all([quota], player)
    lengths = [episode.num_steps for episode in quota.episodes]
    assert shown == [sum(length > step for length in lengths) for step in range(max(lengths))]
    assert shown[-1] < 6


def test_an_episode_is_replayed_by_its_seed_and_actions(corridor):
    rng = np.random.default_rng(0)
    with GameBatch(corridor, 3, seed=9, num_workers=0) as batch:
        quota = Quota(batch, 20)
        play_all([quota], lambda observations: rng.integers(0, 2, len(observations)))
    for episode in quota.episodes:
        game = corridor.make()
        game.reset(episode.seed)
        outcomes = [game.step(int(action)) for action in episode.actions]
        assert sum(outcome.raw_reward for outcome in outcomes) == episode.raw_return
        assert [outcome.terminated for outcome in outcomes].index(True) == episode.num_steps - 1
    assert {episode.raw_return for episode in quota.episodes} == {5.0, -2.0}


def test_every_step_is_reported(corridor):
    reported = []
    with GameBatch(corridor, 3, seed=9, num_workers=0) as batch:
        quota = Quota(batch, 7)
        play_all([quota], go_right, reported.append)
    assert sum(reported) == sum(episode.num_steps for episode in quota.episodes)


def test_a_stopped_evaluation_gives_no_scores(corridor):
    with GameBatch(corridor, 3, num_workers=0) as batch, pytest.raises(EvaluationStopped):
        play_all([Quota(batch, 3)], go_right, should_stop=lambda: True)


def test_fewer_episodes_than_slots_are_refused(corridor):
    with GameBatch(corridor, 3, num_workers=0) as batch, pytest.raises(ValueError, match="shared"):
        Quota(batch, 2)
