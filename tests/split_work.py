"""A small world model and a policy in it, trained by one replica, by two, or by two workers.

MODEL may also be `real`: then it is PPO in a real game, without a model.

    python tests/split_work.py replicas MODEL DIR   one replica, and two on logical devices
    python tests/split_work.py worker MODEL DIR     a worker, as TF_CONFIG says; after the former

Each leaves `DIR/NAME.json`: the metrics of some steps from scratch (`fresh`), and of some more from
the checkpoint that the two replicas saved in the middle of their rollouts (`resumed`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gin
import numpy as np
import tensorflow as tf

from simple_tf.agents.policy_network import PolicyNetwork
from simple_tf.agents.ppo import PPOTrainer
from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.starts import StartSampler
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowDataset
from simple_tf.envs.atari import AtariSource
from simple_tf.envs.settings import AtariSettings
from simple_tf.envs.simulated_environment import SimulatedEnvironment
from simple_tf.models.bits import BitOptions
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.interface import WorldModel
from simple_tf.models.patch import PatchModel
from simple_tf.models.schedules import ScheduledSampling
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel
from simple_tf.models.trainer import WorldModelTrainer
from simple_tf.replicas import position_of_process
from simple_tf.training.checkpoints import RunCheckpoints
from simple_tf.training.devices import Devices, choose_devices
from simple_tf.training.model_free_learners import PPOInRealGame
from simple_tf.training.workers import Workers

SHAPE = (10, 9, 1)
ACTIONS = 3
BATCH = 4
REAL = AtariSettings(frame_shape=(10, 9, 1))

Metrics = list[dict[str, float]]


def stochastic() -> WorldModel:
    """The paper's stochastic model at toy size, with all its draws."""
    return StochasticDiscreteModel(
        SHAPE,
        ACTIONS,
        SoftmaxHead(1),
        hidden_size=4,
        compress_steps=1,
        doubling_steps=1,
        middle_layers=1,
        bits=BitOptions(num_bits=8, predictor_units=4, posterior_filters=(4, 4), discrete_steps=4),
    )


def patch() -> WorldModel:
    """The model for CPUs, which compiles sooner."""
    return PatchModel(
        SHAPE,
        ACTIONS,
        SoftmaxHead(1),
        hidden_size=4,
        num_blocks=1,
        summary_units=4,
        reward_units=4,
        sampling=ScheduledSampling("exponential", 4),
    )


REAL_GAME = """
PPOTrainer.optimizer = @policy_adam()
PPOTrainer.collect_steps = 6
RealEnvironment.num_slots = 4
RealEnvironment.num_workers = 0
build_policy.network = @PolicyNetwork
PolicyNetwork.filters = 2
PolicyNetwork.hidden_size = 8
"""

MODELS = {"stochastic": stochastic, "patch": patch}


class Work:
    """A world model and PPO inside it."""

    def __init__(
        self, kind: str, store: EpisodeStore, jit_compile: bool = False, parts: int = 1
    ) -> None:
        model = MODELS[kind]()
        starts = StartSampler(SHAPE, model.num_input_frames)
        # Rollouts are longer than an update: what is saved is in the middle of them.
        environment = SimulatedEnvironment(
            model, starts, BATCH, 6, reward="expected", jit_compile=jit_compile, parts=parts
        )
        network = PolicyNetwork((4, *SHAPE), ACTIONS, filters=2, hidden_size=8)
        adam = tf.keras.optimizers.Adam
        self.model = WorldModelTrainer(model, adam(0.003), jit_compile=jit_compile, parts=parts)
        self.policy = PPOTrainer(
            environment, network, adam(0.001), collect_steps=4, jit_compile=jit_compile
        )
        self.objects = tf.train.Checkpoint(model=self.model, policy=self.policy)
        self._part = position_of_process(tf.distribute.get_strategy())
        self._store = store
        starts.load(store)

    def do(self, world_model_steps: int, policy_updates: int) -> Metrics:
        """Trains both; returns the metrics of every step and update."""
        windows = WindowDataset(
            self._store,
            split="train",
            num_input_frames=4,
            num_target_frames=3,
            batch_size=BATCH,
            seed=5,
        )
        begin = int(self.model.global_step.numpy())
        batches = windows.batches(begin, self._part).take(world_model_steps)
        history = [self.model.train_step(**batch) for batch in batches]
        history += [self.policy.train(1, iteration=0) for _ in range(policy_updates)]
        return [{name: float(value) for name, value in metrics.items()} for metrics in history]


class RealWork:
    """PPO in a real game."""

    def __init__(self) -> None:
        self.learner = PPOInRealGame(AtariSource("pong", REAL), 3, Path())
        self.objects = self.learner.checkpoint()

    def do(self, world_model_steps: int, policy_updates: int) -> Metrics:
        """Trains the policy; as `Work`."""
        del world_model_steps
        return [dict(self.learner.train(1)) for _ in range(policy_updates)]


def make_store(directory: Path) -> EpisodeStore:
    """A store with an episode of noise, made if it is not there."""
    if directory.exists():
        return EpisodeStore.open(directory)
    store = EpisodeStore.create_or_open(
        directory, StoreDescription("noise", SHAPE, ("NOOP", "UP", "DOWN"))
    )
    generator = np.random.default_rng(0)
    frames = generator.integers(0, 256, (41, *SHAPE), dtype=np.uint8)
    recorder = EpisodeRecorder(0, 0, seed=0, first_frame=frames[0])
    for number, frame in enumerate(frames[1:]):
        recorder.add(int(generator.integers(ACTIONS)), 0.0, number % 3 - 1, frame)
    store.append(recorder.finish(terminated=True, truncated=False))
    return store


def build(devices: Devices, kind: str, directory: Path, parts: int = 1) -> Work | RealWork:
    """Makes everything on some devices."""
    with devices.strategy.scope():
        if kind == "real":
            return RealWork()
        return Work(kind, make_store(directory / "store"), parts=parts)


def replicas(kind: str, directory: Path) -> None:
    """Compares one replica with two, and with two that cut their rows, in one process."""
    two_devices = choose_devices("cpu", replicas=2)
    one, two = build(Devices(), kind, directory), build(two_devices, kind, directory)
    cut = build(two_devices, kind, directory, parts=2)
    fresh = {"one": one.do(2, 2), "two": two.do(2, 2), "cut": cut.do(2, 2)}
    RunCheckpoints(directory / "saved", two.objects).save({"by": "two replicas"})
    for work in (one, cut):
        RunCheckpoints(directory / "saved", work.objects).restore()
    for name, work in (("one", one), ("two", two), ("cut", cut)):
        write(directory / f"{name}.json", fresh[name], work.do(1, 1))


def worker(kind: str, directory: Path) -> None:
    """The same as one of several workers."""
    devices = choose_devices("multi_worker")
    workers = Workers(devices.strategy)
    work = build(devices, kind, directory)
    fresh = work.do(2, 2)
    saved = RunCheckpoints(directory / "saved", work.objects, writes=workers.is_chief)
    assert saved.restore() == {"by": "two replicas"}
    write(directory / f"worker_{workers.index}.json", fresh, work.do(1, 1))
    mine = RunCheckpoints(directory / "by_workers", work.objects, writes=workers.is_chief)
    mine.save({"by": "two workers"})
    assert workers.chief_says(workers.index + 7) == 7
    assert workers.any(workers.index == 1)


def write(path: Path, fresh: Metrics, resumed: Metrics) -> None:
    path.write_text(json.dumps({"fresh": fresh, "resumed": resumed}))


if __name__ == "__main__":
    gin.bind_parameter("PPOLearner.minibatch_steps", 3)
    gin.parse_config(REAL_GAME)
    {"replicas": replicas, "worker": worker}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
