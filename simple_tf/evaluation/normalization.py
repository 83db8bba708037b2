"""Scores of different games on one scale: human-normalised, and the paper's own formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np


def human_normalized(score: float, random: float, human: float) -> float:
    """Returns 0 for random play and 1 for a person's score."""
    return (score - random) / (human - random)


def fraction_of_baseline(score: float, random: float, baseline: float) -> float:
    """Returns what part of a baseline's gain over random play was reached.

    The paper: (score - random) / (baseline - random), "if denominator is smaller than 0, both
    nominator and denominator are increased by 1". Where the denominator is then 0, there is no
    answer: NaN.
    """
    gain, baseline_gain = score - random, baseline - random
    if baseline_gain < 0:
        gain, baseline_gain = gain + 1.0, baseline_gain + 1.0
    return gain / baseline_gain if baseline_gain else float("nan")


def difference_in_human_scores(score: float, baseline: float, human: float) -> float:
    """Returns (score - baseline) / human, the paper's formula, to the letter.

    In a game where people score below 0 (Fishing Derby) its sign is turned round.
    """
    return (score - baseline) / human if human else float("nan")


def count_best(scores: Mapping[str, Mapping[str, float]]) -> dict[str, int]:
    """Counts the games in which each contestant has the best score; ties count for all.

    Args:
        scores: by game, then by contestant; the same contestants in every game.
    """
    return _count(scores, lambda values: float(np.max(values)))


def count_at_least_median(scores: Mapping[str, Mapping[str, float]]) -> dict[str, int]:
    """Counts the games in which each contestant reaches the contestants' median score.

    Args:
        scores: by game, then by contestant; the same contestants in every game.
    """
    return _count(scores, lambda values: float(np.median(values)))


def _count(
    scores: Mapping[str, Mapping[str, float]], threshold: Callable[[list[float]], float]
) -> dict[str, int]:
    counts = {name: 0 for row in scores.values() for name in row}
    for row in scores.values():
        least = threshold(list(row.values()))
        for name, score in row.items():
            counts[name] += score >= least
    return counts
