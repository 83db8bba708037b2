"""Random actions, held or not."""

import numpy as np
import pytest

from simple_tf.agents.random_policy import RandomPolicy


def test_held_actions_are_kept_for_so_many_steps_on_average():
    policy = RandomPolicy(6, seed=3, hold=8)
    actions = np.stack([policy(np.zeros((5, 1))) for _ in range(4_000)])  # [T, N]
    # A new draw is the same action again one time in six.
    changes = (actions[1:] != actions[:-1]).mean()
    assert abs(changes - 5 / 6 / 8) < 0.01
    assert np.bincount(actions.ravel(), minlength=6).min() > 2_000


def test_games_can_take_turns_with_holding():
    policy = RandomPolicy(6, seed=3, hold=(1, 12))
    actions = np.stack([policy(np.zeros((5, 1))) for _ in range(4_000)])
    changes = (actions[1:] != actions[:-1]).mean(axis=0)
    np.testing.assert_allclose(changes, np.array([1, 1 / 12, 1, 1 / 12, 1]) * 5 / 6, atol=0.02)


def test_without_holding_every_step_draws_anew():
    plain, held = RandomPolicy(6, seed=3), RandomPolicy(6, seed=3, hold=1)
    for _ in range(20):
        np.testing.assert_array_equal(plain(np.zeros((5, 1))), held(np.zeros((5, 1))))


def test_holding_for_less_than_a_step():
    with pytest.raises(ValueError, match="at least 1 step"):
        RandomPolicy(6, seed=3, hold=0)
