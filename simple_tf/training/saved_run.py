"""A finished or interrupted run, read again: its game, its policies, its world model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gin
import tensorflow as tf

from simple_tf.data.store import EpisodeStore
from simple_tf.envs.catalog import find_game
from simple_tf.envs.game import GameSource
from simple_tf.evaluation.card import CardError, read_card
from simple_tf.evaluation.policy import Origin
from simple_tf.evaluation.protocol import FINAL
from simple_tf.training import model_free  # noqa: F401  # Known to gin once imported.
from simple_tf.training.checkpoints import latest_position, latest_state
from simple_tf.training.configuration import bound_value, configure
from simple_tf.training.experiment import Learners, build_learners
from simple_tf.training.gin_files import ConfigurationError
from simple_tf.training.networks import build_policy
from simple_tf.training.policy_files import load_policy
from simple_tf.training.position import Position
from simple_tf.training.run_directory import RunDirectory, RunError

# Where the number of frames is bound: in a run of SimPLe, in a model-free run.
_STACKS = ("build_world_model.num_input_frames", "RealEnvironment.stack", "RainbowInRealGame.stack")
_DEFAULT_STACK = 4
_WORLD_MODEL = "build_world_model.model"


class SavedRun:
    """Configures gin as the run did, and builds what it had.

    Args:
        path: the run's directory.
        bindings: gin bindings that win over the run's.

    Raises:
        RunError: there is no run there.
        ConfigurationError: its configuration is not that of this version.
    """

    def __init__(self, path: Path, bindings: Sequence[str] = ()) -> None:
        self.directory = RunDirectory(path)
        description, fields = self.directory.read()
        if not self.directory.configuration.is_file():
            raise RunError(f"{path} has not been started yet: it has no config.gin.")
        try:
            configure([str(self.directory.configuration)], bindings)
        except ConfigurationError as error:
            raise ConfigurationError(f"{error}{_made_at(fields)}") from error
        self.seed = description.seed
        self.source: GameSource = find_game(description.game)
        game = self.source.make()
        self._frame_shape, self._num_actions = game.frame_shape, len(game.action_meanings)
        game.close()

    @property
    def stack(self) -> int:
        """K, how many frames the policy sees."""
        bound = [int(bound_value(name)) for name in _STACKS if _is_bound(name)]
        return bound[0] if bound else _DEFAULT_STACK

    @property
    def has_world_model(self) -> bool:
        """Whether the run has learned a game that its policy can be seen to dream."""
        return _is_bound(_WORLD_MODEL)

    @property
    def has_checkpoints(self) -> bool:
        """Whether there is more than its records: only checkpoints hold the world model."""
        folder = self.directory.checkpoints
        return folder.is_dir() and any(folder.iterdir())

    def choose(self, which: str) -> list[int]:
        """Returns the iterations whose policies are meant by latest, best, all or a number.

        Raises:
            RunError: there is no such policy.
        """
        there = self.directory.policy_iterations()
        if not there:
            if self.directory.evaluation(FINAL).exists():
                raise RunError(
                    f"{self.directory.path} holds the records of a run without its policies/."
                )
            raise RunError(f"{self.directory.path} has no policy yet; it is saved every iteration.")
        if which == "all":
            return there
        if which in ("latest", "best"):
            return [there[-1] if which == "latest" else self._best(there)]
        if not which.isdigit() or int(which) not in there:
            raise RunError(
                f"--which={which} is none of latest, best, all and the iterations "
                f"{', '.join(map(str, there))}."
            )
        return [int(which)]

    def build_network(self) -> tf.keras.Model:
        """Returns a policy network with initial weights."""
        return build_policy((self.stack, *self._frame_shape), self._num_actions, self.seed)

    def policy(self, iteration: int) -> tuple[tf.keras.Model, Origin]:
        """Returns the policy that an iteration ended with."""
        network = self.build_network()
        path = self.directory.policy(iteration)
        fields = load_policy(path, network)
        checkpoint = str(path.relative_to(self.directory.path))
        return network, Origin(checkpoint, fields["iteration"], fields["interactions"])

    def learners(self) -> Learners:
        """Returns the latest world model and policy, with start states from the newest play."""
        if not self.has_world_model:
            raise RunError(f"{self.directory.path} has no world model: it learned without one.")
        learners = build_learners(self._frame_shape, self._num_actions, self.seed)
        state = learners.checkpoint().read(latest_state(self.directory.checkpoints))
        state.expect_partial().assert_existing_objects_matched()
        learners.starts.load(EpisodeStore.open(self.directory.episodes))
        return learners

    def position(self) -> Position:
        """Where the run was when its newest whole checkpoint was saved."""
        return Position.from_json(latest_position(self.directory.checkpoints))

    def _best(self, iterations: Sequence[int]) -> int:
        """The iteration with the highest score in training; the latest of equal ones."""
        scores = {}
        for iteration in iterations:
            try:
                card = read_card(self.directory.evaluation(f"iteration_{iteration:03d}"))
            except CardError:  # Not evaluated, or damaged.
                continue
            scores[iteration] = card.statistics.mean
        if not scores:
            raise RunError(f"{self.directory.path} has no evaluation to choose the best by.")
        return max(scores, key=lambda iteration: (scores[iteration], iteration))


def _made_at(fields: Mapping[str, Any]) -> str:
    """Which version of the package has all options of a run, as far as it is known."""
    commit = fields["starts"][-1].get("commit") if fields["starts"] else None
    return f" The run was made at commit {commit[:7]}, which has all its options." if commit else ""


def _is_bound(name: str) -> bool:
    try:
        gin.query_parameter(name)
    except ValueError:
        return False
    return True
