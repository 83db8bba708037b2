"""A little of every kind of work of a run, timed on this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import tensorflow as tf

from simple_tf.evaluation.policy import PolicyEvaluation, PolicyEvaluator
from simple_tf.evaluation.protocol import FINAL, IN_TRAINING, EvaluationProtocol, protocol_for
from simple_tf.resident_memory import peak_bytes
from simple_tf.training.arithmetic import Arithmetic, count_arithmetic, simulated_step
from simple_tf.training.checkpoints import RunCheckpoints
from simple_tf.training.evaluation_phase import EvaluationPhase, FinalEvaluationPhase
from simple_tf.training.experiment import Experiment
from simple_tf.training.phase import Advance
from simple_tf.training.policy_files import save_policy
from simple_tf.training.run_videos import write_play
from simple_tf.training.schedule import Schedule
from simple_tf.training.world_model_evaluation_phase import WorldModelEvaluationPhase
from simple_tf.training.world_model_phase import WorldModelPhase

# Enough for windows, for their held-out part, and for a rate.
TRIED_INTERACTIONS = 1_000
# How long a rate is measured, after the first piece of work, which compiles.
_SECONDS = 5.0
# What would take longer than this is computed from its arithmetic instead.
_MOST_SECONDS = 20.0
# Steps of evaluations, of which the difference counts.
_FEW_STEPS, _MORE_STEPS = 5, 105
# Episodes whose length is measured, and where to give up waiting for their end.
_EPISODES, _LONGEST = 4, 4_000


@dataclasses.dataclass(frozen=True)
class Cost:
    """Of one kind of work: `start` seconds once for each batch of it, and `each` for each piece.

    Attributes:
        each: seconds of a piece.
        start: seconds before the first one.
        compiling: seconds that only the very first batch takes, over and above.
    """

    each: float
    start: float = 0.0
    compiling: float = 0.0

    def seconds(self, pieces: float, batches: float = 1) -> float:
        """Of so many pieces in so many batches."""
        return self.each * pieces + self.start * batches + self.compiling


@dataclasses.dataclass(frozen=True)
class Measurements:
    """What `measure` found.

    Attributes:
        arithmetic: counted, not timed.
        environments: simulated ones, side by side.
        looks_at_everything: whether the world model's training begins with a look at all play, not
            at the newest alone.
        starts_from_everything: whether dreams start from all play, not from the newest alone.
        random_play: of a real step at random.
        policy_play: of a real step of the policy.
        world_model: of a training step; `start` is per `TRIED_INTERACTIONS` to look at.
        policy: of an update; `start` is per `TRIED_INTERACTIONS` to start dreams from.
        comparison: of one evaluation of the world model.
        evaluation: of a step of all episodes of an evaluation in training.
        final: of a step of all episodes of the final evaluation.
        final_random: the same, played at random.
        video: of a frame.
        save: of a checkpoint.
        comparisons: how many evaluations of the world model the run has.
        evaluations: how many evaluations of the policy in training.
        finals: how many final evaluations of the policy.
        final_randoms: how many of the random player.
        videos: how many videos of final episodes.
        saves: how many phases end with a checkpoint.
        episode_steps: mean length of an episode of random play.
        bytes_per_step: of stored play.
        checkpoint_bytes: of a checkpoint.
        policy_bytes: of a policy.
        peak_bytes: of this process, so far.
    """

    arithmetic: Arithmetic
    environments: int
    looks_at_everything: bool
    starts_from_everything: bool
    random_play: Cost
    policy_play: Cost
    world_model: Cost
    policy: Cost
    comparison: Cost
    evaluation: Cost
    final: Cost
    final_random: Cost
    video: Cost
    save: Cost
    comparisons: int
    evaluations: int
    finals: int
    final_randoms: int
    videos: int
    saves: int
    episode_steps: float
    bytes_per_step: float
    checkpoint_bytes: int
    policy_bytes: int
    peak_bytes: int


def measure(game: str, seed: int, folder: Path) -> Measurements:
    """Does a little of everything that the configured run would do, in a folder of its own."""
    return _Trial(game, seed, folder).measure()


class _Trial:
    """A run whose collections are short, and whose other phases are not run to their end."""

    def __init__(self, game: str, seed: int, folder: Path) -> None:
        short = dataclasses.replace(
            Schedule(),
            initial_interactions=TRIED_INTERACTIONS,
            interactions_per_iteration=TRIED_INTERACTIONS,
            max_interactions=2 * TRIED_INTERACTIONS,
        )
        self._folder = folder
        self._seed = seed
        self._experiment = Experiment(game, seed, folder / "run", schedule=short)
        self._learners = self._experiment.learners
        self._phases = {phase.name: phase for phase in self._experiment.phases(lambda: False)}

    def measure(self) -> Measurements:
        """In the order of a run, because each part needs what the ones before it leave."""
        random_play = self._play(0)
        arithmetic = self._count()
        world_model = self._train_world_model()
        policy = self._train_policy()
        policy_play = self._play(1)
        flops_per_second = arithmetic.training_step / world_model.each
        comparison = self._compare(flops_per_second)
        save, checkpoint_bytes = self._save()
        store, network = self._experiment.store, self._learners.network
        save_policy(self._folder / "policy", network, 0, 0)
        return Measurements(
            arithmetic=arithmetic,
            environments=self._learners.policy_trainer.environment.batch_size,
            looks_at_everything=self._world_model_phase.surprising_share > 0,
            starts_from_everything=self._learners.starts.iterations == "all",
            random_play=random_play,
            policy_play=policy_play,
            world_model=world_model,
            policy=policy,
            comparison=comparison,
            evaluation=self._evaluate(IN_TRAINING, network),
            final=self._evaluate(FINAL, network),
            final_random=self._evaluate(FINAL, None),
            video=self._film(),
            save=save,
            **self._occasions(),
            episode_steps=self._episode_steps(),
            bytes_per_step=_size_of(store.directory) / store.num_steps(),
            checkpoint_bytes=checkpoint_bytes,
            policy_bytes=_size_of(self._folder / "policy"),
            peak_bytes=peak_bytes(),
        )

    @property
    def _world_model_phase(self) -> WorldModelPhase:
        phase = self._phases["world_model"]
        assert isinstance(phase, WorldModelPhase)
        return phase

    def _count(self) -> Arithmetic:
        phase, learners = self._world_model_phase, self._learners
        return count_arithmetic(
            learners.model_trainer,
            phase.batch_size,
            phase.num_target_frames,
            learners.policy_trainer,
        )

    def _play(self, iteration: int) -> Cost:
        return _rate(_timed(self._phases["collection"].run(iteration, 0)))

    def _train_world_model(self) -> Cost:
        phase = self._world_model_phase
        first = _rate(_timed(_for_a_while(phase.run(1, 0))))
        again = next(_timed(phase.run(1, 0)))  # The same without compiling.
        start = max(again.seconds - again.steps * first.each, 0.0)
        return Cost(first.each, start, max(first.start - start, 0.0))

    def _train_policy(self) -> Cost:
        learners = self._learners
        start = _seconds(lambda: learners.starts.load(self._experiment.store, 0))
        learners.policy_trainer.environment.reset()
        train = learners.policy_trainer.train
        first, once = (_seconds(lambda: train(1, 0)) for _ in range(2))
        more = int(_SECONDS // once)
        each = (once + (_seconds(lambda: train(more, 0)) if more else 0.0)) / (1 + more)
        return Cost(each, start, max(first - each, 0.0))

    def _compare(self, flops_per_second: float) -> Cost:
        phase = self._phases["world_model_evaluation"]
        assert isinstance(phase, WorldModelEvaluationPhase)
        evaluator = phase.evaluator
        steps = evaluator.horizon * evaluator.num_batches
        flops = simulated_step(self._learners.model, evaluator.batch_size) * steps
        each = flops / flops_per_second
        if each > _MOST_SECONDS:
            return Cost(each)
        return Cost(each, compiling=max(_seconds(lambda: list(phase.run(1, 0))) - each, 0.0))

    def _evaluate(self, purpose: str, network: tf.keras.Model | None) -> Cost:
        """Of a step of all episodes side by side."""
        _, few, more = (  # The very first one prepares what others find ready.
            self._play_episodes(protocol_for(purpose), steps, network).seconds
            for steps in (_FEW_STEPS, _FEW_STEPS, _MORE_STEPS)
        )
        each = max(more - few, 0.0) / (_MORE_STEPS - _FEW_STEPS)
        return Cost(each, max(few - _FEW_STEPS * each, 0.0))

    def _film(self) -> Cost:
        """Of a step in one of the two videos of an evaluation."""
        _, few, more = (self._film_steps(n) for n in (_FEW_STEPS, _FEW_STEPS, _MORE_STEPS))
        each = max(more - few, 0.0) / (2 * (_MORE_STEPS - _FEW_STEPS))
        return Cost(each, max(few - 2 * _FEW_STEPS * each, 0.0))

    def _film_steps(self, steps: int) -> float:
        evaluation = self._play_episodes(EvaluationProtocol(episodes=2), steps, None)
        return _seconds(lambda: list(write_play(self._folder / "videos", "try", evaluation)))

    def _play_episodes(
        self, protocol: EvaluationProtocol, steps: int, network: tf.keras.Model | None
    ) -> PolicyEvaluation:
        short = dataclasses.replace(protocol, max_steps=steps)
        stack = self._learners.model.num_input_frames
        return PolicyEvaluator(self._experiment.source, short, stack, self._seed).evaluate(network)

    def _occasions(self) -> dict[str, int]:
        """How often the run does what it does not do in every iteration."""
        iterations = range(1, self._experiment.schedule.iterations + 1)
        evaluation, final = self._phases["evaluation"], self._phases["final_evaluation"]
        assert isinstance(evaluation, EvaluationPhase)
        assert isinstance(final, FinalEvaluationPhase)
        final_parts = final.size(iterations[-1])
        return {
            "comparisons": sum(map(self._phases["world_model_evaluation"].size, iterations)),
            "evaluations": sum(map(evaluation.num_evaluations, iterations)),
            "finals": final_parts - int(final.random_player),
            "final_randoms": int(final.random_player),
            "videos": 2 * int(final.videos),
            "saves": 1 + len(self._phases) * len(iterations),
        }

    def _episode_steps(self) -> float:
        final = protocol_for(FINAL)
        protocol = dataclasses.replace(
            final, episodes=_EPISODES, max_steps=min(final.max_steps or _LONGEST, _LONGEST)
        )
        evaluation = PolicyEvaluator(self._experiment.source, protocol, 1, self._seed).evaluate(
            None
        )
        return evaluation.num_steps / len(evaluation.episodes)

    def _save(self) -> tuple[Cost, int]:
        checkpoints = RunCheckpoints(self._folder / "saved", self._learners.checkpoint(), keep=1)
        checkpoints.save({})
        seconds = _seconds(lambda: checkpoints.save({}))
        return Cost(seconds), _size_of(self._folder / "saved")


@dataclasses.dataclass(frozen=True)
class _Point:
    """So many steps were done after so many seconds."""

    seconds: float
    steps: int


def _timed(advances: Iterable[Advance]) -> Iterator[_Point]:
    begin = time.perf_counter()
    for advance in advances:
        yield _Point(time.perf_counter() - begin, advance.step)


def _for_a_while(advances: Iterator[Advance]) -> Iterator[Advance]:
    """Lets a phase run until enough has been seen after its first piece."""
    with contextlib.closing(advances):  # type: ignore[type-var]
        yield next(advances)
        begin = time.perf_counter()
        for advance in advances:
            yield advance
            if time.perf_counter() - begin > _SECONDS:
                return


def _rate(points: Iterable[_Point]) -> Cost:
    """A line through the first and the last point."""
    first, *rest = points
    last = rest[-1] if rest else first
    if last.steps == first.steps:
        return Cost(last.seconds / last.steps)
    each = (last.seconds - first.seconds) / (last.steps - first.steps)
    return Cost(each, max(first.seconds - first.steps * each, 0.0))


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
