"""How long a model-free learner learns, and when it is evaluated."""

from __future__ import annotations

import dataclasses

import gin


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
        for name in ("interactions", "evaluate_every"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(
                    f"ModelFreeSchedule.{name} must be a whole number of at least 1: {value!r}."
                )

    def check(self, update_size: int) -> None:
        """Raises ValueError if the budget is not enough for one update of so many steps."""
        if self.interactions < update_size:
            raise ValueError(
                f"ModelFreeSchedule.interactions is {self.interactions}, less than the "
                f"{update_size} steps of one update."
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
