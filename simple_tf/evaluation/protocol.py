"""How a policy is scored: the choices without which a score cannot be compared with another."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence

import gin

from simple_tf.envs.atari import AtariSource
from simple_tf.envs.game import GameSource

IN_TRAINING = "in_training"
FINAL = "final"


@gin.configurable
@dataclasses.dataclass(frozen=True)
class EvaluationProtocol:
    """What is played; the defaults are the original's final evaluation.

    Attributes:
        episodes: how many; each one that is started counts exactly once.
        temperature: actions are drawn from softmax(logits / temperature); 0 takes the likeliest.
        noops: whether episodes begin with steps without action, as the game's settings have them.
        sticky_probability: of sticky actions; None: as the game's settings have it.
        max_steps: episodes are cut after so many agent steps; None: never.
    """

    episodes: int = 64
    temperature: float = 0.5
    noops: bool = True
    sticky_probability: float | None = None
    max_steps: int | None = 50_000

    def __post_init__(self) -> None:
        _check_count("episodes", self.episodes)
        if self.max_steps is not None:
            _check_count("max_steps", self.max_steps)
        temperature = self.temperature
        if not isinstance(temperature, numbers.Real) or not 0.0 <= temperature < float("inf"):
            raise ValueError(f"temperature must be a number of at least 0, not {temperature!r}.")
        if not isinstance(self.noops, bool):
            raise ValueError(f"noops must be True or False, not {self.noops!r}.")

    def applied_to(self, source: GameSource) -> GameSource:
        """Returns the game with this protocol's starts and joystick."""
        if not isinstance(source, AtariSource):
            if self.sticky_probability:
                raise ValueError(
                    f"{source.name} has no sticky actions: only Atari games have them."
                )
            return source
        settings = source.settings
        if not self.noops:
            settings = dataclasses.replace(settings, noop_range=(0, 0))
        if self.sticky_probability is not None:
            settings = dataclasses.replace(settings, sticky_probability=self.sticky_probability)
        return dataclasses.replace(source, settings=settings)


def protocol_for(purpose: str) -> EvaluationProtocol:
    """Returns the protocol that gin has bound in the scope `purpose`, e.g. `in_training`."""
    with gin.config_scope(purpose):
        return EvaluationProtocol()


def protocol_grid(
    protocol: EvaluationProtocol, temperatures: Sequence[float], noops: Sequence[bool]
) -> list[EvaluationProtocol]:
    """Returns the protocol with every combination of temperature and start."""
    return [
        dataclasses.replace(protocol, temperature=temperature, noops=with_noops)
        for with_noops in noops
        for temperature in temperatures
    ]


def _check_count(name: str, value: object) -> None:
    """Raises ValueError unless the value is a whole number of at least 1; gin checks no types."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")
