"""Going on from the policy that has played the real game best: an option, not the original's."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from simple_tf.data.store import EpisodeStore
from simple_tf.training.phase import Advance
from simple_tf.training.schedule import Schedule

_NONE_YET = float("-inf")

# Points come in bursts: those of stretches this long are nearly independent of each other.
_STRETCH = 100
# Of the difference. With one, two of five iterations of equally good policies would be thrown away:
# each is compared with the luckiest one before it.
_STANDARD_ERRORS = 2.0


class KeptPolicy(tf.Module):
    """A copy of a policy and of its optimiser, and what it scored. Part of the checkpoints.

    Args:
        variables: what makes up the policy in training; made in the same strategy's scope.
    """

    def __init__(self, variables: Sequence[tf.Variable]) -> None:
        super().__init__(name="kept_policy")
        self._originals = list(variables)
        self._copies = [
            tf.Variable(tf.zeros_like(variable), trainable=False) for variable in variables
        ]
        self.score = tf.Variable(_NONE_YET, trainable=False)
        self.iteration = tf.Variable(0, dtype=tf.int64, trainable=False)

    def keep(self, score: float, iteration: int) -> None:
        """Copies the policy as it is."""
        self._assign(self._copies, self._originals)
        self.score.assign(score)
        self.iteration.assign(iteration)

    def bring_back(self) -> None:
        """Makes the policy the one that was kept."""
        self._assign(self._originals, self._copies)

    @staticmethod
    def _assign(to: Sequence[tf.Variable], values: Sequence[tf.Variable]) -> None:
        for variable, value in zip(to, values, strict=True):
            variable.assign(value.read_value())


class SelectionPhase:
    """See `Phase`. Compares how the newest policy has just played with how the best one did.

    A policy learns to please its model, and where the model is wrong it may come out worse than it
    was. What it collects shows that, at no further cost: points per interaction in the real game.
    If they are fewer than those of the policy kept so far, by more than chance explains, that one
    is brought back, and learns on in a model that has seen where the other failed. If chance may
    explain it, the newest policy learns on, and the kept one is kept.

    Args:
        kept: the policy kept so far; None: every policy is followed by the next, as in the paper.
        store: the episodes.
        schedule: of the run.
    """

    name = "selection"
    unit = "policies"
    headline = ("points_per_1000", "kept_iteration")
    resumable = False

    def __init__(self, kept: KeptPolicy | None, store: EpisodeStore, schedule: Schedule) -> None:
        self._kept = kept
        self._store = store
        self._schedule = schedule
        self._done = 0

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return int(self._kept is not None and self._schedule.interactions(iteration) > 0)

    def global_step(self) -> int:
        """See `Phase`."""
        return self._done

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        del step  # There is only one.
        assert self._kept is not None
        newest = rate_of(self._store, iteration)
        kept_iteration = int(self._kept.iteration.numpy())
        best = rate_of(self._store, kept_iteration) if kept_iteration else None
        # As good is good enough: where nobody scores yet, learning goes on.
        worse = best is not None and newest.is_worse_than(best)
        if best is None or newest.points >= best.points:
            self._kept.keep(newest.points, iteration)
        elif worse:
            self._kept.bring_back()
        self._done = iteration
        metrics = {
            "points_per_1000": newest.points,
            "kept_points_per_1000": float(self._kept.score.numpy()),
            "kept_iteration": float(self._kept.iteration.numpy()),
            "brought_back": float(worse),
        }
        yield Advance(1, metrics)


@dataclasses.dataclass(frozen=True)
class PointRate:
    """How fast the game's own points came, per 1,000 interactions.

    Not per episode: a collection may be shorter than one, and most of its episodes are cut off.

    Attributes:
        points: of all interactions.
        error: standard error, from how much stretches of play differ.
    """

    points: float
    error: float

    def is_worse_than(self, other: PointRate) -> bool:
        """Whether it is lower by more than two standard errors of the difference."""
        error = math.hypot(self.error, other.error)
        return other.points - self.points > _STANDARD_ERRORS * error


def rate_of(store: EpisodeStore, iteration: int) -> PointRate:
    """Returns how fast points came in an iteration's collection."""
    return rate_of_rewards(
        np.concatenate([episode.raw_rewards for episode in store.episodes_of(iteration)])
    )


def rate_of_rewards(rewards: np.ndarray) -> PointRate:
    """Returns how fast points came in successive interactions, [N]."""
    per_1000 = 1000.0 / len(rewards)
    stretches = np.array_split(rewards.astype(np.float64), max(2, len(rewards) // _STRETCH))
    points = [float(np.sum(stretch)) for stretch in stretches]
    return PointRate(
        points=per_1000 * sum(points),
        error=per_1000 * math.sqrt(len(points) * float(np.var(points, ddof=1))),
    )
