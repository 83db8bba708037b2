"""How long a model-free learner learns, and when it is evaluated."""

from __future__ import annotations

import dataclasses

import gin

from simple_tf.training.schedule import whole_number

# The name of the macro in the shipped files stands beside the setting: users know that one.
_NAMES = {
    "interactions": "ModelFreeSchedule.interactions (BUDGET)",
    "evaluate_every": "ModelFreeSchedule.evaluate_every",
}


@gin.configurable
@dataclasses.dataclass(frozen=True)
class ModelFreeSchedule:
    """A budget of interactions, cut into iterations that each end with an evaluation.

    Attributes:
        interactions: the budget. It is never exceeded; a learner that takes many steps at once
            may leave a rest of less than one update.
        evaluate_every: evaluate after every so many interactions, and at the end.
    """

    interactions: int = gin.REQUIRED
    evaluate_every: int = gin.REQUIRED

    def __post_init__(self) -> None:
        for field, name in _NAMES.items():
            object.__setattr__(self, field, whole_number(name, getattr(self, field), 1))

    def check(self, update_size: int) -> None:
        """Raises ValueError if the budget is not enough for one update of so many steps."""
        if self.interactions < update_size:
            raise ValueError(
                f"{_NAMES['interactions']} is {self.interactions}, less than the {update_size} "
                "steps of one update."
            )

    @property
    def iterations(self) -> int:
        """How many stretches there are, counted from 1."""
        return -(-self.interactions // self.evaluate_every)

    @property
    def total_interactions(self) -> int:
        """The budget."""
        return self.interactions

    def updates(self, iteration: int, update_size: int) -> int:
        """Updates of a stretch, where each takes `update_size` steps of the game at most."""
        return self._updates_until(iteration, update_size) - self._updates_until(
            iteration - 1, update_size
        )

    def _updates_until(self, iteration: int, update_size: int) -> int:
        return min(iteration * self.evaluate_every, self.interactions) // update_size
