"""Puts a model-free run together: the paper's baselines, on the same footing as SimPLe."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import gin
import tensorflow as tf

from simple_tf.envs.catalog import find_game
from simple_tf.envs.game import GameSource
from simple_tf.training import rainbow_learner, screen  # noqa: F401  # Known to gin once imported.
from simple_tf.training.checkpoints import RunCheckpoints
from simple_tf.training.configuration import parsed_bindings
from simple_tf.training.devices import STRATEGIES, Devices
from simple_tf.training.evaluation_phase import EvaluationPhase, FinalEvaluationPhase
from simple_tf.training.initial_policy import InitialPolicy
from simple_tf.training.learning_phase import LearningPhase
from simple_tf.training.loop_run import LoopRun
from simple_tf.training.model_free_learners import ModelFreeLearner
from simple_tf.training.model_free_schedule import ModelFreeSchedule
from simple_tf.training.phase import Phase
from simple_tf.training.policy_scorer import PolicyScorer
from simple_tf.training.position import Position
from simple_tf.training.run_directory import RunDescription, RunDirectory

MakeLearner = Callable[[GameSource, int, Path], ModelFreeLearner]


def possible_strategies() -> tuple[str, ...]:
    """Those that the learner of the parsed configuration can compute with."""
    learner = gin.get_bindings(ModelFreeExperiment).get("learner")
    return getattr(learner, "strategies", STRATEGIES)


def check_learner(game: str) -> None:
    """Makes the learner of the parsed configuration, and ends it again; writes nothing.

    Raises:
        ValueError: a value in the configuration is wrong.
    """
    with tempfile.TemporaryDirectory() as folder:
        make: MakeLearner = gin.get_bindings(ModelFreeExperiment)["learner"]
        learner = make(find_game(game), 0, Path(folder))
        try:
            ModelFreeSchedule().check(learner.update_size)
        finally:
            learner.close()


@gin.configurable(denylist=["game", "seed", "output_dir", "resume", "initial_policy", "devices"])
class ModelFreeExperiment(LoopRun):
    """One run of a model-free learner on one game.

    Args:
        game: name of the game, see `catalog.find_game`.
        seed: decides every random draw.
        output_dir: the run's directory, see `RunDirectory`.
        resume: see `RunDirectory.claim`.
        initial_policy: of another run, to start from; its interactions count.
        learner: makes the learner from game, seed and a folder, e.g. `@PPOInRealGame`.
        checkpoints_to_keep: how many states to keep, at least 2.
        devices: what to compute with; may be others when the run is resumed.
    """

    def __init__(
        self,
        game: str,
        seed: int,
        output_dir: Path,
        resume: str = "auto",
        initial_policy: InitialPolicy | None = None,
        learner: MakeLearner = gin.REQUIRED,
        checkpoints_to_keep: int = 3,
        devices: Devices | None = None,
    ) -> None:
        devices = devices or Devices()
        self.source = find_game(game)
        self.schedule = ModelFreeSchedule()
        self._seed = seed
        self._initial_policy = initial_policy
        directory = RunDirectory(output_dir)
        origin = None if initial_policy is None else str(initial_policy.run)
        description = RunDescription(game, seed, parsed_bindings(), origin)
        # Before anything is written: a configuration that cannot be built leaves no run behind.
        with devices.strategy.scope():
            self.learner = learner(self.source, seed, directory.replay)
        if initial_policy is not None:
            initial_policy.load(self.learner.network)
        self.schedule.check(self.learner.update_size)
        directory.claim(description, resume, devices.describe())
        checkpoints = RunCheckpoints(
            directory.checkpoints, self.learner.checkpoint(), checkpoints_to_keep
        )
        super().__init__(
            directory, description, self.schedule, checkpoints, screen.MODEL_FREE_COLUMNS
        )

    def run(self) -> str | None:
        """See `LoopRun`; ends the games."""
        try:
            return super().run()
        finally:
            self.learner.close()

    def _first_position(self) -> Position:
        before = 0 if self._initial_policy is None else self._initial_policy.interactions
        return Position(iteration=1, phase=LearningPhase.name, interactions=before)

    def _variables(self) -> Sequence[tf.Variable]:
        return self.learner.network.trainable_variables

    def phases(self, should_stop: Callable[[], bool]) -> list[Phase]:
        """See `LoopRun`."""
        scorer = PolicyScorer(
            self.directory,
            self.source,
            self.learner.network,
            lambda iteration: self._position.interactions,
            should_stop,
            self.learner.stack,
            self._seed,
        )
        return [
            LearningPhase(self.learner, self.schedule),
            EvaluationPhase(scorer, self.schedule, self.beside),
            FinalEvaluationPhase(scorer, self.schedule),
        ]
