"""How true the world model is to the play that it was not trained on."""

from __future__ import annotations

from collections.abc import Iterator

import gin
from absl import logging

from simple_tf.data.store import EpisodeStore
from simple_tf.evaluation.filmstrip import filmstrip, write_filmstrip
from simple_tf.evaluation.world_model import WorldModelEvaluator
from simple_tf.training.phase import Advance
from simple_tf.training.run_directory import RunDirectory
from simple_tf.training.run_videos import write_comparison
from simple_tf.training.schedule import Plan, Schedule

# Parts of the rollout after which scores are reported; the original's choice.
_SHARES_OF_HORIZON = (0.25, 1.0)


@gin.configurable(denylist=["evaluator", "run", "store", "schedule"])
class WorldModelEvaluationPhase:
    """See `Phase`. Compares with held-out play of the policy that the model has just trained.

    Args:
        evaluator: compares.
        run: where filmstrips go, and a video, which is always of the latest evaluation.
        store: the episodes.
        schedule: of the run.
        every: evaluate in every so many iterations, and in the last; 0: never.
    """

    name = "world_model_evaluation"
    unit = "evaluations"
    resumable = True

    def __init__(
        self,
        evaluator: WorldModelEvaluator,
        run: RunDirectory,
        store: EpisodeStore,
        schedule: Schedule,
        every: int = 1,
    ) -> None:
        self.evaluator = evaluator
        self._run = run
        self._store = store
        self._schedule = schedule
        self._every = every
        self._iteration = 0

    @property
    def headline(self) -> tuple[str, ...]:
        """See `Phase`."""
        return (f"reward_accuracy_{self.evaluator.horizon}",)

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return int(is_due(iteration, self._every, self._schedule))

    def global_step(self) -> int:
        """See `Phase`."""
        return self._iteration

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        del step  # There is only one.
        self._iteration = iteration
        try:
            result = self.evaluator.evaluate(self._store, self._schedule.last_played(iteration))
        except ValueError as error:  # Too little held-out play: no reason to end the run.
            logging.warning("The world model was not evaluated: %s", error)
            yield Advance(1, {})
            return
        write_filmstrip(self._run.filmstrip(iteration), result.examples)
        write_comparison(self._run.videos, result.examples)
        metrics: dict[str, float] = {}
        for share in _SHARES_OF_HORIZON:
            steps = max(int(result.scores.horizon * share), 1)
            scores = result.scores.at(steps)
            metrics |= {f"{name}_{steps}": value for name, value in scores.items()}
        yield Advance(1, metrics, images={"filmstrip": filmstrip(result.examples)})


def is_due(iteration: int, every: int, schedule: Plan) -> bool:
    """Whether something that is done in every so many iterations, and in the last, is due."""
    if not every:
        return False
    return iteration % every == 0 or iteration == schedule.iterations
