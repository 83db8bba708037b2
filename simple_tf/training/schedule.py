"""How much of everything each iteration of the loop does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Protocol

import gin


class Plan(Protocol):
    """What the loop has to know of a schedule."""

    @property
    def iterations(self) -> int:
        """How many there are, counted from 1."""

    @property
    def total_interactions(self) -> int:
        """Real steps of the whole run."""


@gin.configurable
@dataclasses.dataclass(frozen=True)
class Schedule:
    """The paper's Algorithm 1 in numbers. Iterations are counted from 1.

    Multipliers name iterations from the front (1 is the first) or from the back (-1 is the last),
    so that they keep their meaning when the number of iterations changes; where two of them meet,
    the larger one counts.

    Attributes:
        iterations: how often world model and policy are trained.
        initial_interactions: random play before the first iteration.
        interactions_per_iteration: play with the new policy at the end of each iteration.
        max_interactions: the budget; the last collections are cut to what is left of it.
        world_model_steps: training steps of the world model per iteration.
        world_model_multipliers: iteration to factor on `world_model_steps`.
        policy_updates: PPO updates per iteration.
        policy_multipliers: iteration to factor on `policy_updates`.
    """

    iterations: int = gin.REQUIRED
    initial_interactions: int = gin.REQUIRED
    interactions_per_iteration: int = gin.REQUIRED
    max_interactions: int = gin.REQUIRED
    world_model_steps: int = gin.REQUIRED
    policy_updates: int = gin.REQUIRED
    world_model_multipliers: Mapping[int, int] = dataclasses.field(default_factory=dict)
    policy_multipliers: Mapping[int, int] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (
            "iterations",
            "initial_interactions",
            "max_interactions",
            "world_model_steps",
            "policy_updates",
        ):
            self._make_whole(name, 1)
        self._make_whole("interactions_per_iteration", 0)
        if self.initial_interactions > self.max_interactions:
            raise ValueError(
                f"Schedule.initial_interactions is {self.initial_interactions}, more than the "
                f"budget Schedule.max_interactions of {self.max_interactions}."
            )
        for multipliers in (self.world_model_multipliers, self.policy_multipliers):
            if any(key == 0 or factor < 1 for key, factor in multipliers.items()):
                raise ValueError(f"Multipliers map iterations to factors, not {multipliers!r}.")

    def _make_whole(self, name: str, least: int) -> None:
        value = whole_number(f"Schedule.{name}", getattr(self, name), least)
        object.__setattr__(self, name, value)

    def interactions(self, iteration: int) -> int:
        """Real steps to play in an iteration; iteration 0 is the random play before the first."""
        if iteration == 0:
            return self.initial_interactions
        before = self.initial_interactions + self.interactions_per_iteration * (iteration - 1)
        left = max(self.max_interactions - before, 0)
        return min(self.interactions_per_iteration, left)

    def last_played(self, iteration: int) -> int:
        """Returns the latest iteration up to this one in which the game is played."""
        while not self.interactions(iteration):
            iteration -= 1
        return iteration

    def interactions_before(self, iteration: int) -> int:
        """Real steps of all collections before an iteration's own: what its policy learned from."""
        return sum(self.interactions(earlier) for earlier in range(iteration))

    @property
    def total_interactions(self) -> int:
        """Real steps of the whole run."""
        return sum(self.interactions(iteration) for iteration in range(self.iterations + 1))

    def world_model_steps_of(self, iteration: int) -> int:
        """Training steps of the world model in an iteration."""
        factor = self._factor(self.world_model_multipliers, iteration)
        return factor * self.world_model_steps

    def policy_updates_of(self, iteration: int) -> int:
        """PPO updates in an iteration."""
        return self._factor(self.policy_multipliers, iteration) * self.policy_updates

    @property
    def total_policy_updates(self) -> int:
        """PPO updates of the whole run."""
        return sum(self.policy_updates_of(each + 1) for each in range(self.iterations))

    def _factor(self, multipliers: Mapping[int, int], iteration: int) -> int:
        from_the_back = iteration - self.iterations - 1
        return max(multipliers.get(iteration, 1), multipliers.get(from_the_back, 1))


@gin.configurable
def all_policy_updates() -> int:
    """Returns the PPO updates of a whole run, as gin has them: for rates that fall with it."""
    return Schedule().total_policy_updates


def whole_number(name: str, value: object, least: int) -> int:
    """Returns a count that a user has set; 1e5 is one as well.

    Raises:
        ValueError: it is none, or less than `least`.
    """
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if not isinstance(whole, int) or whole < least:
        raise ValueError(
            f"{name} must be a whole number of at least {least}, such as 100000 or 1e5: {value!r}."
        )
    return whole
