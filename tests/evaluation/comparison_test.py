"""The scores, counted by hand."""

import dataclasses

import numpy as np
import pytest

from simple_tf.evaluation.comparison import ScoreCounter


def scores_of(*comparisons):
    counter = ScoreCounter()
    for comparison in comparisons:
        counter.add(comparison)
    return counter.scores()


def test_counts_by_hand(comparison):
    scores = scores_of(comparison)
    assert scores.num_rollouts == 2
    assert scores.horizon == 3
    np.testing.assert_array_equal(scores.pixel_accuracy, [1, 7 / 8, 7 / 8])
    # Nothing has changed at step 1; one pixel at step 2 (right); three at step 3 (one wrong).
    np.testing.assert_array_equal(scores.changed_pixel_accuracy, [np.nan, 1, 2 / 3])
    np.testing.assert_array_equal(scores.perfect_frames, [1, 0.5, 0.5])
    np.testing.assert_array_equal(scores.frozen_pixel_accuracy, [1, 7 / 8, 5 / 8])


def test_reward_accuracy_compares_sums_not_steps(comparison):
    scores = scores_of(comparison)
    # Rollout 0: 1, 1, 0 against 0, 1, 0; rollout 1: 0, 0, 0 against 0, -1, 0.
    np.testing.assert_array_equal(scores.reward_accuracy, [0.5, 0.5, 1.0])
    np.testing.assert_array_equal(scores.no_reward_accuracy, [1.0, 0.0, 1.0])


def test_batches_add_up(comparison):
    perfect = dataclasses.replace(
        comparison, simulated=comparison.real, simulated_rewards=comparison.real_rewards
    )
    scores = scores_of(comparison, perfect)
    assert scores.num_rollouts == 4
    np.testing.assert_array_equal(scores.pixel_accuracy, [1, 15 / 16, 15 / 16])
    np.testing.assert_array_equal(scores.changed_pixel_accuracy, [np.nan, 1, 5 / 6])
    np.testing.assert_array_equal(scores.reward_accuracy, [0.75, 0.75, 1.0])


def test_one_channel_is_enough_to_make_a_pixel_wrong(comparison):
    wrong = comparison.real.repeat(3, axis=-1)
    wrong[0, 0, 0, 0, 2] += 1
    coloured = dataclasses.replace(
        comparison,
        start=comparison.start.repeat(3, axis=-1),
        real=comparison.real.repeat(3, axis=-1),
        simulated=wrong,
    )
    assert scores_of(coloured).pixel_accuracy[0] == 7 / 8


def test_one_step(comparison):
    at = scores_of(comparison).at(2)
    assert at["reward_accuracy"] == 0.5
    assert at["pixel_accuracy"] == 7 / 8
    assert set(at) == set(scores_of(comparison).curves())
    for step in (0, 4):
        with pytest.raises(ValueError, match=r"outside 1\.\.3"):
            scores_of(comparison).at(step)


def test_refuses_what_cannot_be_compared(comparison):
    with pytest.raises(ValueError, match="same rollouts and steps"):
        dataclasses.replace(comparison, simulated=comparison.simulated[:, :2])
    with pytest.raises(ValueError, match="no rollouts"):
        ScoreCounter().scores()
