"""Learning in the real game, without a model of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from simple_tf.training.model_free_learners import ModelFreeLearner
from simple_tf.training.model_free_schedule import ModelFreeSchedule
from simple_tf.training.phase import Advance, Pacer


class LearningPhase:
    """See `Phase`: one stretch between two evaluations.

    Args:
        learner: plays and learns.
        schedule: how much.
    """

    name = "learning"
    headline = ("mean_raw_return", "entropy")
    resumable = True

    def __init__(self, learner: ModelFreeLearner, schedule: ModelFreeSchedule) -> None:
        self.unit = learner.unit
        self._learner = learner
        self._schedule = schedule

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return self._schedule.updates(iteration, self._learner.update_size)

    def global_step(self) -> int:
        """See `Phase`."""
        return self._learner.updates_done()

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        pacer, size = Pacer(), self.size(iteration)
        while step < size:
            count = pacer.next(size - step)
            metrics = self._learner.train(count)
            played = self._learner.take_finished()
            scores = played.raw_returns
            mean = sum(scores) / len(scores) if scores else math.nan
            step += count
            yield Advance(
                step, {**metrics, "mean_raw_return": mean}, interactions=played.interactions
            )
            pacer.done()
