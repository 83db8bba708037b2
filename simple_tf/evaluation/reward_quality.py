"""How well predicted rewards match real ones: by class, by depth of the rollout, by probability.

A reward one step early or late does a policy no harm, so a step's neighbours count as well. What a
model gives is what a policy is trained with: probabilities where dreams pay the expected reward,
and otherwise the likeliest class alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

NO_REWARD = 1
"""The class of a step without a reward; class 0 is -1, class 2 is +1."""

FEWEST_EVENTS = 5
"""A kind of reward is judged where there are at least so many."""

DEPTHS = (1, 5, 10, 25, 50)
_BIN_EDGES = (0.0, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclasses.dataclass(frozen=True)
class RewardCounts:
    """Real and predicted rewards of one class over some steps.

    Attributes:
        real: how many there were.
        given: how many the model gave; a probability counts as a part of one.
        found: of the real ones, how many the model gave within one step.
        justified: of the given ones, how many were real within one step.
    """

    real: float
    given: float
    found: float
    justified: float

    @property
    def recall(self) -> float | None:
        """Share of the real rewards that the model gave."""
        return self.found / self.real if self.real else None

    @property
    def precision(self) -> float | None:
        """Share of the given rewards that were real."""
        return self.justified / self.given if self.given else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of recall and precision; 0 where none is found; None without a reward."""
        if self.recall is None:
            return None
        total = self.recall + (self.precision or 0.0)
        return 2 * self.recall * (self.precision or 0.0) / total if total else 0.0


@dataclasses.dataclass(frozen=True)
class ReliabilityBin:
    """Steps whose predicted probability of a class is about the same.

    Attributes:
        predicted: mean probability.
        observed: share of them with that reward.
        steps: how many.
    """

    predicted: float
    observed: float
    steps: int


def given_rewards(probabilities: np.ndarray, kind: str) -> np.ndarray:
    """What a dream pays, as parts of each class, float [..., R].

    Args:
        probabilities: [..., R].
        kind: "expected" or "likeliest", see `SimulatedEnvironment`.
    """
    if kind == "expected":
        return probabilities
    return np.eye(probabilities.shape[-1])[probabilities.argmax(axis=-1)]


def reward_sums(given: np.ndarray) -> np.ndarray:
    """The rewards themselves, float [...], from parts of each class, [..., R]."""
    return given @ (np.arange(given.shape[-1]) - NO_REWARD)


def depth_bands(horizon: int, depths: Sequence[int] = DEPTHS) -> list[tuple[int, int]]:
    """First and last step of each band: 1, 2 to 5, 6 to 10, … up to the horizon."""
    ends = [depth for depth in depths if depth < horizon] + [horizon]
    return list(zip([1, *(end + 1 for end in ends[:-1])], ends, strict=True))


def count_rewards(
    real: np.ndarray, given: np.ndarray, reward_class: int, first: int = 1, last: int | None = None
) -> RewardCounts:
    """Counts one class in the steps from `first` to `last`, counted from 1.

    Args:
        real: classes, int [S, T].
        given: parts of each class, [S, T, R].
        reward_class: which.
        first: first step.
        last: last step; T by default.
    """
    events = (real == reward_class).astype(np.float64)
    parts = given[..., reward_class].astype(np.float64)
    found = events * np.minimum(_with_neighbours(parts), 1.0)
    justified = parts * (_with_neighbours(events) > 0)
    band = np.s_[:, first - 1 : last]
    return RewardCounts(*(float(x[band].sum()) for x in (events, parts, found, justified)))


def reliability(
    real: np.ndarray, probabilities: np.ndarray, reward_class: int
) -> list[ReliabilityBin]:
    """Compares the probability of a class with how often it came, bin by bin.

    Args:
        real: classes, int [S, T].
        probabilities: [S, T, R].
        reward_class: which.
    """
    predicted = probabilities[..., reward_class].ravel()
    came = (real == reward_class).ravel()
    bins = np.clip(np.digitize(predicted, _BIN_EDGES) - 1, 0, len(_BIN_EDGES) - 2)
    return [
        ReliabilityBin(
            float(predicted[chosen].mean()), float(came[chosen].mean()), int(chosen.sum())
        )
        for chosen in (bins == number for number in range(len(_BIN_EDGES) - 1))
        if chosen.any()
    ]


def _with_neighbours(values: np.ndarray) -> np.ndarray:
    """The sum of each step and the steps before and after it, [S, T]."""
    padded = np.pad(values, ((0, 0), (1, 1)))
    return padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
