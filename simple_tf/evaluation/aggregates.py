"""One number for many games, with an interval: what Agarwal et al. (2021) recommend.

Scores are given per game as a list with one human-normalised score for each run. Intervals are
percentiles of a stratified bootstrap: the runs of every game are drawn again, with replacement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

CONFIDENCE = 0.95
REPETITIONS = 2000

# Several samples at once: the runs of each game, float64 [repetitions, runs of the game].
_Samples = Sequence[np.ndarray]
_Aggregate = Callable[[_Samples], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number and its bootstrap interval."""

    value: float
    low: float
    high: float


def aggregate_mean(samples: _Samples) -> np.ndarray:
    """Returns the mean over games of each game's mean, [repetitions]."""
    return _game_means(samples).mean(axis=1)


def aggregate_median(samples: _Samples) -> np.ndarray:
    """Returns the median over games of each game's mean, [repetitions]."""
    return np.median(_game_means(samples), axis=1)


def interquartile_mean(samples: _Samples) -> np.ndarray:
    """Returns the mean of the middle half of all runs of all games, [repetitions]."""
    pooled = np.sort(np.concatenate(samples, axis=1), axis=1)
    cut = pooled.shape[1] // 4
    return pooled[:, cut : pooled.shape[1] - cut].mean(axis=1)


def optimality_gap(samples: _Samples) -> np.ndarray:
    """Returns by how much runs fall short of a human score on average, [repetitions]."""
    return 1.0 - aggregate_mean([np.minimum(runs, 1.0) for runs in samples])


AGGREGATES: Mapping[str, _Aggregate] = {
    "mean": aggregate_mean,
    "median": aggregate_median,
    "IQM": interquartile_mean,
    "optimality gap": optimality_gap,
}


def estimate_all(
    scores: Mapping[str, Sequence[float]], seed: int = 0, repetitions: int = REPETITIONS
) -> dict[str, Estimate]:
    """Returns all aggregates of human-normalised scores, by name.

    Args:
        scores: by game, one for each run; at least one game with one run.
        seed: of the bootstrap.
        repetitions: of the bootstrap.
    """
    point = [np.asarray(runs, np.float64)[None] for runs in scores.values()]
    drawn = _bootstrap(scores, seed, repetitions)
    return {
        name: _estimate(float(aggregate(point)[0]), aggregate(drawn))
        for name, aggregate in AGGREGATES.items()
    }


@dataclasses.dataclass(frozen=True)
class Profile:
    """Share of runs with a score above each threshold, float64 [thresholds] each."""

    thresholds: np.ndarray
    shares: np.ndarray
    low: np.ndarray
    high: np.ndarray


def performance_profile(
    scores: Mapping[str, Sequence[float]],
    thresholds: np.ndarray,
    seed: int = 0,
    repetitions: int = REPETITIONS,
) -> Profile:
    """Returns, for each threshold, the share of runs above it; games count alike.

    Args:
        scores: human-normalised, by game, one for each run.
        thresholds: float64 [thresholds].
        seed: of the bootstrap.
        repetitions: of the bootstrap.
    """
    point = [np.asarray(runs, np.float64)[None] for runs in scores.values()]
    drawn = _bootstrap(scores, seed, repetitions)
    above = np.stack([_share_above(drawn, threshold) for threshold in thresholds])
    shares = [float(_share_above(point, threshold)[0]) for threshold in thresholds]
    low, high = np.quantile(above, _tails(), axis=1)
    return Profile(thresholds, np.array(shares), low, high)


def _share_above(samples: _Samples, threshold: float) -> np.ndarray:
    return aggregate_mean([(runs > threshold).astype(np.float64) for runs in samples])


def _game_means(samples: _Samples) -> np.ndarray:
    return np.stack([runs.mean(axis=1) for runs in samples], axis=1)  # [repetitions, games]


def _bootstrap(scores: Mapping[str, Sequence[float]], seed: int, repetitions: int) -> _Samples:
    """Draws the runs of every game again, with replacement."""
    rng = np.random.default_rng(seed)
    games = [np.asarray(runs, np.float64) for runs in scores.values()]
    return [runs[rng.integers(0, len(runs), (repetitions, len(runs)))] for runs in games]


def _estimate(value: float, drawn: np.ndarray) -> Estimate:
    low, high = np.quantile(drawn, _tails())
    return Estimate(value, float(low), float(high))


def _tails() -> tuple[float, float]:
    return (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
