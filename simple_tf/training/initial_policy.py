"""A policy of another run to start from: SimPLe first, then model-free learning."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

import tensorflow as tf

from simple_tf.training.policy_files import PolicyFileError, load_policy, read_description
from simple_tf.training.run_directory import RunDirectory, RunError

# What decides how the game looks to a policy, and what its network is.
_TAKEN_OVER = (
    "AtariSettings.",
    "GymnasiumSettings.",
    "PolicyNetwork.",
    "NatureNetwork.",
    "RainbowNetwork.",
    "build_policy.",
)
# What the configurations of SimPLe leave unsaid, and those of other learners say otherwise.
_LOOP_FRAMES = "AtariSettings.frame_shape = None"
# Where a run says how many frames a policy sees, and where one that starts from it does.
_STACKS = {
    "build_world_model.num_input_frames": "RealEnvironment.stack",
    "RealEnvironment.stack": "RealEnvironment.stack",
    "RainbowInRealGame.stack": "RainbowInRealGame.stack",
}
_MACRO = re.compile(r"%([\w.]+)")


@dataclasses.dataclass(frozen=True)
class InitialPolicy:
    """The latest policy of a run.

    Attributes:
        run: the run's directory.
        game: what it played.
        policy: where the policy is.
        interactions: real steps it was trained with; a run that starts from it counts on.
        bindings: of gin, without which the policy would not see what it is used to.
    """

    run: Path
    game: str
    policy: Path
    interactions: int
    bindings: tuple[str, ...]

    @classmethod
    def of_run(cls, run: Path) -> InitialPolicy:
        """Finds the latest policy of a run.

        Raises:
            RunError: there is no run, or it has no policy yet.
        """
        directory = RunDirectory(run)
        description, _ = directory.read()
        iterations = directory.policy_iterations()
        if not iterations:
            raise RunError(f"{run} has no policy to start from yet.")
        policy = directory.policy(iterations[-1])
        bindings = _LOOP_FRAMES, *_taken_over(description.bindings)
        interactions = read_description(policy)["interactions"]
        return cls(run, description.game, policy, interactions, bindings)

    def load(self, network: tf.keras.Model) -> None:
        """Reads the weights.

        Raises:
            RunError: the network is another one.
        """
        try:
            load_policy(self.policy, network)
        except PolicyFileError as error:
            raise RunError(
                f"{self.run}, a run on {self.game}, cannot be started from: its policy does not "
                f"fit the network that is to learn. {error}"
            ) from error


def _taken_over(bound: Mapping[str, str]) -> list[str]:
    """Bindings of a run that its policy needs, with the macros in them."""
    chosen = {name: value for name, value in bound.items() if name.startswith(_TAKEN_OVER)}
    chosen |= {_STACKS[name]: bound[name] for name in _STACKS if name in bound}
    waiting = list(chosen.values())
    while waiting:
        for macro in _MACRO.findall(waiting.pop()):
            if macro in bound and macro not in chosen:
                chosen[macro] = bound[macro]
                waiting.append(bound[macro])
    return [f"{name} = {value}" for name, value in chosen.items()]
