"""Aggregates against rliable's on known arrays."""

from pathlib import Path

import numpy as np
import pytest

from simple_tf.evaluation.aggregates import estimate_all, performance_profile

RLIABLE = np.load(Path(__file__).parent / "golden" / "rliable.npz")
BY_GAME = {f"game {i}": list(runs) for i, runs in enumerate(RLIABLE["scores"].T)}


def test_values_and_intervals_are_rliable_s():
    estimates = estimate_all(BY_GAME, repetitions=20_000)
    assert list(estimates) == ["mean", "median", "IQM", "optimality gap"]
    for i, estimate in enumerate(estimates.values()):
        assert estimate.value == pytest.approx(RLIABLE["values"][i], abs=1e-12)
        low, high = RLIABLE["intervals"][:, i]
        assert estimate.low == pytest.approx(low, abs=0.03 * (high - low))
        assert estimate.high == pytest.approx(high, abs=0.03 * (high - low))


def test_the_profile_is_rliable_s():
    profile = performance_profile(BY_GAME, RLIABLE["thresholds"], repetitions=5000)
    np.testing.assert_allclose(profile.shares, RLIABLE["shares"], atol=1e-12)
    # The share of 35 runs moves in steps of 1/35: an end may lie one step beside the other's.
    for ours, theirs in zip((profile.low, profile.high), RLIABLE["share_intervals"], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1 / 35 + 1e-9)


def test_by_hand():
    estimates = estimate_all({"a": [0.0, 1.0], "b": [2.0, 4.0]})
    assert estimates["mean"].value == 1.75  # (0.5 + 3) / 2
    assert estimates["median"].value == 1.75
    assert estimates["IQM"].value == 1.5  # (1 + 2) / 2
    assert estimates["optimality gap"].value == 0.25  # 1 - (0.5 + 1) / 2


def test_games_with_different_numbers_of_runs():
    estimates = estimate_all({"a": [0.5], "b": [1.0, 1.0, 2.5]})
    assert estimates["mean"].value == 1.0  # (0.5 + 1.5) / 2: games count alike.
    assert estimates["optimality gap"].value == 0.25


def test_the_seed_decides():
    assert estimate_all(BY_GAME, seed=1) == estimate_all(BY_GAME, seed=1)
    assert estimate_all(BY_GAME, seed=1) != estimate_all(BY_GAME, seed=2)
