"""Going on from the policy that has played the real game best: an option, not the original's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import tensorflow as tf

from simple_tf.data.store import EpisodeStore
from simple_tf.training.phase import Advance
from simple_tf.training.schedule import Schedule

_NONE_YET = float("-inf")


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
    If they are fewer than those of the policy kept so far, that one is brought back, and learns on
    in a model that has seen where the other failed.

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
        score = points_per_1000(self._store, iteration)
        # As good is good enough: where nobody scores yet, learning goes on.
        if score >= float(self._kept.score.numpy()):
            self._kept.keep(score, iteration)
        else:
            self._kept.bring_back()
        self._done = iteration
        metrics = {
            "points_per_1000": score,
            "kept_points_per_1000": float(self._kept.score.numpy()),
            "kept_iteration": float(self._kept.iteration.numpy()),
        }
        yield Advance(1, metrics)


def points_per_1000(store: EpisodeStore, iteration: int) -> float:
    """The game's own points in an iteration's collection, per 1,000 interactions.

    Not per episode: a collection may be shorter than one, and most of its episodes are cut off.
    """
    episodes = store.episodes_of(iteration)
    points = sum(episode.raw_return for episode in episodes)
    return 1000.0 * points / sum(episode.num_steps for episode in episodes)
