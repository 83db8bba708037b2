"""Games that are taken up again in the middle of their episodes."""

import numpy as np
import pytest

from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.envs.resumable_batch import ResumableBatch
from simple_tf.envs.slot import FIRST, LAST


def _make(game="breakout", max_steps=None):
    source = find_game(game)
    return ResumableBatch(
        lambda first: GameBatch(source, 3, 5, 2, max_steps, num_workers=0, first_episodes=first)
    )


def _play(games, steps, rng):
    seen = []
    for _ in range(steps):
        games.send(rng.integers(0, games.batch.num_actions, games.num_slots))
        seen.append([np.copy(part) for part in games.step])
    return seen


@pytest.mark.parametrize("max_steps", [None, 17])
def test_restored_games_go_on_to_the_bit(max_steps):
    games, rng = _make(max_steps=max_steps), np.random.default_rng(0)
    _play(games, 50, rng)
    state = games.state()
    assert [len(actions) for actions in state.actions] == [50 if max_steps is None else 14] * 3
    expected = _play(games, 20, np.random.default_rng(1))
    other = _make(max_steps=max_steps)
    _play(other, 3, rng)
    other.restore(state)
    assert other.state() == state
    assert other.take_finished().interactions == 0
    for one, two in zip(_play(other, 20, np.random.default_rng(1)), expected, strict=True):
        for part, same in zip(one, two, strict=True):
            np.testing.assert_array_equal(part, same)
    assert other.state() == games.state()


def test_games_at_their_end_are_restored_at_their_end(monkeypatch, request):
    games = _make(max_steps=6)
    _play(games, 6, np.random.default_rng(0))
    assert set(games.step.step_type) == {LAST}
    other = _make(max_steps=6)
    other.restore(games.state())
    assert set(other.step.step_type) == {LAST}
    _play(other, 1, np.random.default_rng(0))
    assert set(other.step.step_type) == {FIRST}
    assert other.state().episodes == (1, 1, 1)


def test_only_real_steps_count_and_scores_are_raw(monkeypatch):
    monkeypatch.syspath_prepend(str(__import__("pathlib").Path(__file__).parent))
    games = _make("tiny_games:Corridor-v0")
    seen = _play(games, 60, np.random.default_rng(0))
    types = np.array([step[1] for step in seen])
    finished = games.take_finished()
    assert finished.interactions == (types != FIRST).sum() < types.size
    assert len(finished.raw_returns) == (types == LAST).sum() > 3
    assert set(finished.raw_returns) <= {5.0, -2.0}
    assert games.take_finished() == ([], 0)
