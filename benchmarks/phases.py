r"""Each phase of a run: its rate, its share of this machine's matrix-multiply rate, its time.

    python benchmarks/phases.py [--configurations=cpu.gin,sd.gin] [--game=pong] [--quick]

For each configuration, in a process of its own and with the parts that training itself uses:
collection at random and with the policy, windows alone, world-model training (with its windows),
dreamed steps with the policy's actions, the PPO update, evaluation. Every timed call stands
between two measurements of the matrix-multiply rate; rates and shares are medians. Where a phase
computes little (the emulator, decoding frames) there is no share.

The last columns are what a whole run of the configuration's schedule takes at these rates, its
evaluations in training at their cap included, and the final one left out. Windows are read while
the model trains, and not counted again. `sd.gin` takes minutes for every phase: --quick measures
each call once.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import gin
import numpy as np
import tensorflow as tf
from absl import app, flags, logging
from world_model import matmul_gflops  # Beside this file.

from simple_tf.agents.acting import PolicyPlayer
from simple_tf.agents.experience import Experience, collect
from simple_tf.agents.policy_network import NO_ITERATION
from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.data.store import EpisodeStore
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.envs.game import GameSource
from simple_tf.evaluation.policy import PolicyEvaluator
from simple_tf.evaluation.protocol import IN_TRAINING, EvaluationProtocol, protocol_for
from simple_tf.models.calibration import calibrate
from simple_tf.models.flops import count_flops
from simple_tf.training import collection
from simple_tf.training.collection import Policy
from simple_tf.training.configuration import configure
from simple_tf.training.experiment import Learners, build_learners
from simple_tf.training.random_play import open_store
from simple_tf.training.schedule import Schedule
from simple_tf.training.world_model_phase import WorldModelPhase

_CONFIGURATIONS = flags.DEFINE_list("configurations", ["cpu.gin", "sd.gin"], "gin files.")
_GAME = flags.DEFINE_string("game", "pong", "The game.")
_BINDINGS = flags.DEFINE_multi_string("gin_bindings", [], "Further bindings, for all of them.")

_SECONDS_PER_CALL = 1.0


class Rate(NamedTuple):
    """How fast one phase is.

    Attributes:
        phase: its name.
        per_second: units per second.
        unit: what is counted.
        gflops: arithmetic per second; None: hardly any.
        share: of the matrix-multiply rate at that moment.
        seconds: that a whole run spends here; None: done beside another phase.
    """

    phase: str
    per_second: float
    unit: str
    gflops: float | None
    share: float | None
    seconds: float | None

    def line(self, total: float) -> str:
        """Returns a line of the table; `total` is the whole run's seconds."""
        arithmetic = "" if self.gflops is None else f"{self.gflops:8.1f} GFLOP/s {self.share:7.1%}"
        whole = "" if self.seconds is None else f"{self.seconds:9.0f} s {self.seconds / total:7.1%}"
        rate = f"{self.per_second:10.1f} {self.unit}/s"
        return f"  {self.phase:26}{rate:28}{arithmetic:25}{whole}"


class Task(NamedTuple):
    """What is timed.

    Attributes:
        phase: its name.
        unit: what is counted.
        work: does some, and returns how many units that were.
        gflop: arithmetic of a unit; 0: hardly any.
        units: in a whole run; None: done beside another phase.
    """

    phase: str
    unit: str
    work: Callable[[], int]
    gflop: float
    units: float | None


def measure(task: Task, rounds: int) -> Rate:
    """Times a task between measurements of the matrix-multiply rate; the first call is left out."""
    task.work()
    rates, shares, before = [], [], matmul_gflops()
    for _ in range(rounds):
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < _SECONDS_PER_CALL:
            count += task.work()
        rates.append(count / (time.perf_counter() - begin))
        after = matmul_gflops()
        shares.append(rates[-1] * task.gflop / ((before + after) / 2))
        before = after
    rate = float(np.median(rates))
    return Rate(
        task.phase,
        rate,
        task.unit,
        rate * task.gflop or None,
        float(np.median(shares)) or None,
        None if task.units is None else task.units / rate,
    )


class Parts:
    """A configuration's own parts, with a little random play in a temporary store.

    Args:
        configuration: a gin file.
        game: name of the game.
        bindings: further bindings.
        directory: for the store.
        interactions: to play at once.
    """

    def __init__(
        self,
        configuration: str,
        game: str,
        bindings: Sequence[str],
        directory: Path,
        interactions: int,
    ) -> None:
        configure([configuration], bindings)
        self.source: GameSource = find_game(game)
        self.schedule = Schedule()
        self.store: EpisodeStore = open_store(directory / "episodes", self.source)
        about = self.store.description
        self.learners: Learners = build_learners(about.frame_shape, about.num_actions, 0)
        self._interactions = interactions
        self._played = 0
        self.play_at_random()
        calibrate(self.learners.model, self.store, 0)
        self.learners.starts.load(self.store)

    def play_at_random(self) -> int:
        """Plays a collection at random into the next iteration of the store."""
        return self._play(1, lambda actions: RandomPolicy(actions, self._played))

    def play_with_policy(self) -> int:
        """The same with the policy."""
        network = self.learners.network
        return self._play(
            self.learners.model.num_input_frames, lambda _: PolicyPlayer(network, 1.0, self._played)
        )

    def _play(self, stack: int, player: Callable[[int], Policy]) -> int:
        slots = int(gin.query_parameter("CollectionPhase.num_slots"))
        with GameBatch(self.source, slots, self._played, stack) as batch:
            policy = player(batch.num_actions)
            done = collection.collect(batch, self.store, policy, self._played, self._interactions)
        self._played += 1
        return done.interactions

    def windows(self) -> Iterator[dict[str, tf.Tensor]]:
        """The training windows of the first iteration."""
        phase = WorldModelPhase(self.learners.model_trainer, self.store, self.schedule)
        return iter(phase._windows(1).batches())

    def policy_gflop(self) -> float:
        """Arithmetic of one choice of the policy."""
        shape = self.learners.policy_trainer.environment.observation_spec().shape
        choose = tf.function(self.learners.network, autograph=False).get_concrete_function(
            tf.TensorSpec((1, *shape), tf.uint8), tf.TensorSpec([], tf.int32)
        )
        return count_flops(choose.graph) / 1e9

    def model_gflop(self) -> float:
        """Arithmetic of one simulated step of one rollout."""
        model, batch = self.learners.model, self.learners.policy_trainer.environment.batch_size
        frames = tf.zeros([batch, model.num_input_frames, *model.frame_shape], tf.uint8)
        actions = tf.zeros([batch, model.num_input_frames], tf.int32)
        state = model.initial_state(frames, actions[:, 1:])
        step = tf.function(model.step, autograph=False).get_concrete_function(
            state, frames, actions[:, 0], tf.constant([0, 0])
        )
        return count_flops(step.graph) / batch / 1e9


def tasks(parts: Parts, quick: bool) -> list[Task]:
    """Returns what is timed, in the order of a run."""
    interactions = parts.schedule.total_interactions
    policy = parts.policy_gflop()
    random = Task("collection, random", "steps", parts.play_at_random, 0.0, None)
    played = Task("collection", "steps", parts.play_with_policy, policy, interactions)
    windows, training = _world_model_tasks(parts)
    dreams, learning = _policy_tasks(parts, 2 if quick else 10)
    return [random, played, windows, training, dreams, learning, _evaluation_task(parts, quick)]


def _world_model_tasks(parts: Parts) -> tuple[Task, Task]:
    batches, trainer = parts.windows(), parts.learners.model_trainer
    first = next(batches)
    size = int(first["frames"].shape[0])
    graph = tf.function(trainer.apply, autograph=False).get_concrete_function(**first).graph
    gflop = count_flops(graph) / size / 1e9

    def read() -> int:
        next(batches)
        return size

    def train() -> int:
        trainer.train(batches, 1)
        return size

    rounds = range(1, parts.schedule.iterations + 1)
    total = size * sum(parts.schedule.world_model_steps_of(number) for number in rounds)
    return (
        Task("windows alone", "windows", read, 0.0, None),
        Task("world-model training", "windows", train, gflop, total),
    )


def _policy_tasks(parts: Parts, steps: int) -> tuple[Task, Task]:
    trainer = parts.learners.policy_trainer
    environment, learner = trainer.environment, trainer.learner
    seed, batch = tf.constant([0, 0]), environment.batch_size

    @tf.function(autograph=False)
    def dream() -> Experience:
        return collect(environment, trainer.network, steps, NO_ITERATION, seed)

    environment.reset()
    # As many steps as an update has, made of a few: what is learned does not matter here.
    rows = tf.range(trainer.collect_steps) % steps
    played = Experience(*(tf.gather(column, rows) for column in dream()))
    played = played._replace(values=tf.concat([played.values, played.values[:1]], 0))
    learn = tf.function(lambda: learner.learn(played, 0, seed)["loss"], autograph=False)
    gflop = count_flops(learn.get_concrete_function().graph) / 1e9

    def dreamed() -> int:
        float(dream().rewards[0, 0])
        return steps * batch

    def learned() -> int:
        float(learn())
        return 1

    rounds = range(1, parts.schedule.iterations + 1)
    updates = sum(parts.schedule.policy_updates_of(number) for number in rounds)
    step_gflop = parts.model_gflop() + parts.policy_gflop()
    return (
        Task(
            "dreaming, policy included",
            "steps",
            dreamed,
            step_gflop,
            updates * batch * trainer.collect_steps,
        ),
        Task("PPO update", "updates", learned, gflop, updates),
    )


def _evaluation_task(parts: Parts, quick: bool) -> Task:
    planned = protocol_for(IN_TRAINING)
    cap = 100 if quick else planned.max_steps
    protocol = EvaluationProtocol(episodes=planned.episodes, max_steps=cap)
    evaluator = PolicyEvaluator(parts.source, protocol, parts.learners.model.num_input_frames)

    def evaluate() -> int:
        return evaluator.evaluate(parts.learners.network).num_steps

    ways = len(_bound("EvaluationPhase.temperatures")) * len(_bound("EvaluationPhase.noops"))
    steps = parts.schedule.iterations * ways * planned.episodes * (planned.max_steps or 50_000)
    return Task("evaluation", "steps", evaluate, parts.policy_gflop(), steps)


def _bound(name: str) -> Sequence[object]:
    return gin.query_parameter(name)


def rates_of(configuration: str, game: str, bindings: Sequence[str], quick: bool) -> list[Rate]:
    """Measures one configuration; to be called in a fresh process."""
    logging.use_absl_handler()  # As `app.run` would: keeps gin quiet about where it looks.
    with tempfile.TemporaryDirectory() as directory:
        parts = Parts(configuration, game, bindings, Path(directory), 400 if quick else 6400)
        return [measure(task, 1 if quick else 5) for task in tasks(parts, quick)]


def report(configuration: str, rates: Sequence[Rate]) -> str:
    """Returns the table of one configuration."""
    total = sum(rate.seconds or 0.0 for rate in rates)
    learning = ("world-model training", "dreaming, policy included", "PPO update")
    inside = sum(rate.seconds or 0.0 for rate in rates if rate.phase in learning)
    heading = f"  {'phase':26}{'rate':28}{'arithmetic, of matmul':25}in a whole run"
    closing = (
        f"  a whole run: {total / 3600:.2f} h, {1 - inside / total:.1%} of it outside world-model "
        "training, dreaming and PPO"
    )
    return "\n".join([configuration, heading, *(rate.line(total) for rate in rates), closing])


def main(_: Sequence[str]) -> None:
    print(f"matrix multiply, float32, now: {matmul_gflops(20):.0f} GFLOP/s; {_GAME.value}")
    for configuration in _CONFIGURATIONS.value:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            arguments = configuration, _GAME.value, _BINDINGS.value, flags.FLAGS.quick
            print(report(configuration, pool.apply(rates_of, arguments)), flush=True)


if __name__ == "__main__":
    app.run(main)
