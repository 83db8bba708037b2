"""Puts a SimPLe run together: from gin and flags to a loop that can run."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import gin
import tensorflow as tf

from simple_tf.agents.ppo import PPOTrainer
from simple_tf.data.errors import StoreError
from simple_tf.data.starts import StartSampler
from simple_tf.data.store import EpisodeStore
from simple_tf.envs.catalog import find_game
from simple_tf.envs.game import GameSource
from simple_tf.envs.simulated_environment import SimulatedEnvironment
from simple_tf.evaluation.world_model import WorldModelEvaluator
from simple_tf.models.interface import WorldModel
from simple_tf.models.trainer import WorldModelTrainer
from simple_tf.training import screen
from simple_tf.training.checkpoints import RunCheckpoints
from simple_tf.training.collection_phase import CollectionPhase
from simple_tf.training.configuration import parsed_bindings
from simple_tf.training.devices import Devices
from simple_tf.training.evaluation_phase import EvaluationPhase, FinalEvaluationPhase
from simple_tf.training.loop_run import LoopRun
from simple_tf.training.networks import build_policy, build_world_model
from simple_tf.training.phase import Phase
from simple_tf.training.policy_phase import PolicyPhase
from simple_tf.training.policy_scorer import PolicyScorer
from simple_tf.training.position import Position
from simple_tf.training.random_play import describe_game
from simple_tf.training.real_play_phase import RealPlayPhase
from simple_tf.training.run_directory import RunDescription, RunDirectory, RunError
from simple_tf.training.run_videos import write_dream
from simple_tf.training.schedule import Schedule
from simple_tf.training.selection_phase import KeptPolicy, SelectionPhase
from simple_tf.training.workers import Workers, led_by_chief, signs_of_life
from simple_tf.training.world_model_evaluation_phase import WorldModelEvaluationPhase
from simple_tf.training.world_model_phase import WorldModelPhase


@dataclasses.dataclass(frozen=True)
class Learners:
    """What learns in a run, and all of a run that is in its checkpoints.

    Attributes:
        model: the world model.
        model_trainer: trains it.
        network: the policy.
        policy_trainer: trains it in the model.
        starts: where simulated rollouts begin.
        kept: the best policy so far, if policies are selected.
    """

    model: WorldModel
    model_trainer: WorldModelTrainer
    network: tf.keras.Model
    policy_trainer: PPOTrainer
    starts: StartSampler
    kept: KeptPolicy | None

    @property
    def variables(self) -> list[tf.Variable]:
        """All weights."""
        return [*self.model.trainable_variables, *self.network.trainable_variables]

    def checkpoint(self) -> tf.train.Checkpoint:
        """What is saved and restored."""
        checkpoint = tf.train.Checkpoint(world_model=self.model_trainer, policy=self.policy_trainer)
        if self.kept is not None:
            checkpoint.kept_policy = self.kept
        return checkpoint


@gin.configurable(allowlist=["keep_best_policy"])
def build_learners(
    frame_shape: Sequence[int], num_actions: int, seed: int, keep_best_policy: bool = False
) -> Learners:
    """Makes everything that learns, from gin, for frames and actions of a game.

    Args:
        frame_shape: (height, width, channels).
        num_actions: number of actions.
        seed: decides every random draw.
        keep_best_policy: see `SelectionPhase`.
    """
    height, width, channels = frame_shape
    model = build_world_model((height, width, channels), num_actions, seed)
    starts = StartSampler((height, width, channels), model.num_input_frames)
    network = build_policy((model.num_input_frames, height, width, channels), num_actions, seed)
    environment = SimulatedEnvironment(model, starts, seed=seed)
    trainer = PPOTrainer(environment, network, seed=seed)
    return Learners(
        model=model,
        model_trainer=WorldModelTrainer(model, seed=seed),
        network=network,
        policy_trainer=trainer,
        starts=starts,
        kept=KeptPolicy(trainer.learned_variables) if keep_best_policy else None,
    )


@gin.configurable(denylist=["game", "seed", "output_dir", "resume", "schedule", "devices"])
class Experiment(LoopRun):
    """One run of SimPLe on one game.

    Args:
        game: name of the game, see `catalog.find_game`.
        seed: decides every random draw.
        output_dir: the run's directory, see `RunDirectory`.
        resume: see `RunDirectory.claim`.
        schedule: instead of the one that gin describes.
        checkpoints_to_keep: how many states to keep, at least 2.
        devices: what to compute with; may be others when the run is resumed.
    """

    def __init__(
        self,
        game: str,
        seed: int,
        output_dir: Path,
        resume: str = "auto",
        schedule: Schedule | None = None,
        checkpoints_to_keep: int = 3,
        devices: Devices | None = None,
    ) -> None:
        devices = devices or Devices()
        workers = Workers(devices.strategy)
        self.source: GameSource = find_game(game)
        self.schedule = schedule or Schedule()
        directory = RunDirectory(output_dir)
        description = RunDescription(game, seed, parsed_bindings())
        self._seed = seed
        looks = describe_game(self.source)
        # Before anything is written: a configuration that cannot be built leaves no run behind.
        with devices.strategy.scope():
            self.learners = build_learners(looks.frame_shape, looks.num_actions, seed)
        if workers.is_chief:
            directory.claim(description, resume, devices.describe())
            self.store = EpisodeStore.create_or_open(directory.episodes, looks)
        workers.chief_says(0)  # The others wait for what the chief has made.
        if not workers.is_chief:
            self.store = _chiefs_store(directory, workers)
        checkpoints = RunCheckpoints(
            directory.checkpoints,
            self.learners.checkpoint(),
            checkpoints_to_keep,
            writes=workers.is_chief,
        )
        columns = screen.SIMPLE_COLUMNS
        super().__init__(directory, description, self.schedule, checkpoints, columns, workers)

    def _first_position(self) -> Position:
        return Position()

    def _variables(self) -> Sequence[tf.Variable]:
        return self.learners.variables

    def _interactions_behind(self, iteration: int, real_play: RealPlayPhase) -> int:
        """Real steps behind an iteration's policy.

        Its own play is among them if it was selected by it, or has learned from it.
        """
        own = self.learners.kept is not None or real_play.size(iteration) > 0
        return self.schedule.interactions_before(iteration + int(own))

    def _leave_pictures(self) -> None:
        """Leaves a video of the policy in its dream."""
        learners = self.learners
        learners.starts.load(self.store)
        write_dream(
            self.directory.videos, learners.model, learners.starts, learners.network, self._seed
        )

    def phases(self, should_stop: Callable[[], bool]) -> list[Phase]:
        """See `LoopRun`."""
        learners, store, schedule, seed = self.learners, self.store, self.schedule, self._seed
        workers, frames = self.workers, learners.model.num_input_frames
        asked = signs_of_life(workers, should_stop)
        real_play = RealPlayPhase(learners.policy_trainer, store, schedule, frames, seed=seed)
        if learners.kept is not None and real_play.size(1):
            raise ValueError(
                "RealPlayPhase.enabled and build_learners.keep_best_policy cannot both be True: "
                "the policy that is brought back has not played what would be learned from."
            )
        scorer = PolicyScorer(
            self.directory,
            self.source,
            learners.network,
            functools.partial(self._interactions_behind, real_play=real_play),
            asked,
            frames,
            seed,
        )
        evaluator = WorldModelEvaluator(learners.model, seed=seed)
        together = (
            WorldModelPhase(learners.model_trainer, store, schedule, seed=seed, workers=workers),
            PolicyPhase(learners.policy_trainer, learners.starts, store, schedule, workers),
        )
        collection = CollectionPhase(
            self.source, store, learners.network, schedule, frames, seed=seed
        )
        evaluations: tuple[Phase, ...] = (
            WorldModelEvaluationPhase(evaluator, self.directory, store, schedule),
            EvaluationPhase(scorer, schedule, self.beside),
            FinalEvaluationPhase(scorer, schedule),
        )
        return [
            *together,
            led_by_chief(collection, workers, store),
            SelectionPhase(learners.kept, store, schedule),  # Of those who have just played.
            real_play,
            *(led_by_chief(phase, workers, store) for phase in evaluations),
        ]


def _chiefs_store(directory: RunDirectory, workers: Workers) -> EpisodeStore:
    try:
        return EpisodeStore.open(directory.episodes)
    except StoreError as error:
        raise RunError(
            f"Worker {workers.index} cannot read the chief's episodes ({error}): all workers need "
            "the same --output_dir, on a file system that they share."
        ) from error
