"""Predicted rewards against real ones, counted by hand."""

import numpy as np
import pytest

from simple_tf.evaluation.reward_quality import (
    count_rewards,
    depth_bands,
    given_rewards,
    reliability,
    reward_sums,
)

# One rollout of six steps: rewards at steps 2 and 6.
REAL = np.array([[1, 2, 1, 1, 1, 2]])


def parts(*of_plus_one):
    given = np.zeros((1, 6, 3))
    given[0, :, 2] = of_plus_one
    given[0, :, 1] = 1 - given[0, :, 2]
    return given


def test_a_step_early_or_late_counts():
    counts = count_rewards(REAL, parts(1, 0, 0, 1, 0, 0), 2)
    assert (counts.real, counts.given, counts.found, counts.justified) == (2, 2, 1, 1)
    assert (counts.recall, counts.precision, counts.f1) == (0.5, 0.5, 0.5)


def test_probabilities_count_in_parts_and_no_reward_twice():
    counts = count_rewards(REAL, parts(0.5, 0.9, 0.5, 0, 0, 0.25), 2)
    assert counts.found == pytest.approx(1.25)
    assert counts.justified == counts.given == pytest.approx(2.15)


def test_bands_of_depth():
    assert depth_bands(50) == [(1, 1), (2, 5), (6, 10), (11, 25), (26, 50)]
    assert depth_bands(10) == [(1, 1), (2, 5), (6, 10)]
    assert depth_bands(7, (1, 5)) == [(1, 1), (2, 5), (6, 7)]
    given = parts(0, 1, 0, 0, 0, 0)
    early, late = (count_rewards(REAL, given, 2, *band) for band in ((1, 3), (4, 6)))
    assert (early.recall, early.precision) == (1.0, 1.0)
    assert (late.recall, late.precision, late.f1) == (0.0, None, 0.0)
    nothing = count_rewards(REAL, given, 0)
    assert (nothing.recall, nothing.precision, nothing.f1) == (None, None, None)


def test_what_a_dream_pays():
    probabilities = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    assert given_rewards(probabilities, "expected") is probabilities
    likeliest = given_rewards(probabilities, "likeliest")
    np.testing.assert_array_equal(likeliest, [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(reward_sums(likeliest), [-1, 1])
    np.testing.assert_allclose(reward_sums(probabilities), [-0.3, 0.5])


def test_calibration():
    rng = np.random.default_rng(0)
    honest = rng.uniform(size=(100, 200))
    real = np.where(rng.uniform(size=honest.shape) < honest, 2, 1)
    given = np.stack([0 * honest, 1 - honest, honest], axis=-1)
    bins = reliability(real, given, 2)
    assert sum(row.steps for row in bins) == honest.size
    for row in bins:
        error = 4 * np.sqrt(row.predicted * (1 - row.predicted) / row.steps)
        assert row.observed == pytest.approx(row.predicted, abs=error)
    boasting = reliability(real, np.sqrt(given), 2)
    assert all(row.observed < row.predicted - 0.02 for row in boasting if 0.1 < row.predicted < 0.9)
    assert len(reliability(real, given, 0)) == 1  # Never expected: all in the lowest bin.
