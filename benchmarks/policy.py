r"""Where the time of one PPO update in the learned game goes.

    python benchmarks/policy.py [--model=deterministic] [--xla] [--full]

One update is 50 steps of 16 simulated games and 7 minibatches of 320 steps. Measured in one
process, round by round: the whole update; 50 steps of the world model alone; 50 actions of the
policy alone; the learning alone. What the parts do not explain is overhead: keeping the games'
state, storing what was played, starting rollouts, counting. Shares are medians over the rounds.
Where other jobs share the machine, believe the shares of processor time.

The default is the size of the CPU preset: 52x40 gray frames and the patch model with a palette;
--model=deterministic is a U-net of 8 channels instead. --full is the paper's stochastic-discrete
model at 105x80x3, minutes per round on two cores.

Observations are stored as stacks of K frames; the last lines compare gathering minibatches from
them with gathering single frames and stacking those.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from absl import app, flags

from simple_tf.agents.draws import fold_in, sample_actions
from simple_tf.agents.experience import collect
from simple_tf.agents.minibatches import draw_minibatches
from simple_tf.agents.optimizers import policy_adam
from simple_tf.agents.policy_network import NO_ITERATION, PolicyNetwork
from simple_tf.agents.ppo import PPOTrainer
from simple_tf.compilation import compiled
from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.starts import StartSampler
from simple_tf.data.store import EpisodeStore
from simple_tf.envs.simulated_environment import SimulatedEnvironment
from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.heads import PaletteHead, SoftmaxHead
from simple_tf.models.interface import WorldModel
from simple_tf.models.palette import Palette
from simple_tf.models.patch import PatchModel
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel

_MODEL = flags.DEFINE_enum("model", "patch", ["patch", "deterministic"], "The small model.")
_FULL = flags.DEFINE_bool("full", False, "The paper's sizes instead of small ones.")
_XLA = flags.DEFINE_bool("xla", False, "Compile the world model's step with XLA.")
_BATCH = flags.DEFINE_integer("batch", 16, "Games side by side.")
_ROUNDS = flags.DEFINE_integer("rounds", 0, "Measurements of each part; 0: 9, or 2 with --full.")

_STEPS = 50
_STACK = 4
_NUM_ACTIONS = 6
_COLOURS = 32

Call = Callable[[], tf.Tensor]


def _frame_shape() -> tuple[int, int, int]:
    return (105, 80, 3) if _FULL.value else (52, 40, 1)


def _model() -> WorldModel:
    shape = _frame_shape()
    if _FULL.value:
        return StochasticDiscreteModel(shape, _NUM_ACTIONS, SoftmaxHead(3), inputs="carried")
    palette = Palette(_COLOURS, channels=1)
    palette.update(_frames(_COLOURS))
    head = PaletteHead(palette)
    if _MODEL.value == "patch":
        return PatchModel(shape, _NUM_ACTIONS, head)
    return DeterministicModel(shape, _NUM_ACTIONS, head, hidden_size=8)


def _frames(number: int) -> np.ndarray:
    colours = np.random.default_rng(0).integers(0, _COLOURS, (number, *_frame_shape()))
    return (colours * (255 // _COLOURS)).astype(np.uint8)


def _starts(directory: str) -> StartSampler:
    frames = _frames(200)
    actions = tuple(str(number) for number in range(_NUM_ACTIONS))
    store = EpisodeStore.create_or_open(
        Path(directory) / "store", StoreDescription("noise", _frame_shape(), actions)
    )
    recorder = EpisodeRecorder(0, 0, seed=0, first_frame=frames[0])
    for frame in frames[1:]:
        recorder.add(0, 0.0, 0, frame)
    store.append(recorder.finish(terminated=True, truncated=False))
    starts = StartSampler(_frame_shape(), _STACK)
    starts.load(store)
    return starts


def _trainer(model: WorldModel) -> PPOTrainer:
    with tempfile.TemporaryDirectory() as directory:
        starts = _starts(directory)
    environment = SimulatedEnvironment(model, starts, _BATCH.value, _STEPS, jit_compile=_XLA.value)
    network = PolicyNetwork((_STACK, *_frame_shape()), _NUM_ACTIONS)
    return PPOTrainer(environment, network, policy_adam(), collect_steps=_STEPS)


def _model_alone(model: WorldModel, history: tf.Tensor) -> Call:
    """50 steps of the model as the environment takes them, with neither variables nor policy."""
    seed = tf.constant([0, 0])
    state = model.initial_state(history, tf.zeros([_BATCH.value, _STACK - 1], tf.int32))
    action = tf.zeros([_BATCH.value], tf.int32)

    def predict(state: Any, history: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, Any]:
        prediction = model.step(state, history, action, seed)
        frame = tf.ensure_shape(model.decode(prediction.outputs), history[:, 0].shape)
        return frame, prediction.state

    predict = compiled(predict, _XLA.value)

    @tf.function(autograph=False)
    def run() -> tf.Tensor:
        def step(t: tf.Tensor, state: Any, history: tf.Tensor) -> tuple[Any, ...]:
            frame, state = predict(state, history, fold_in(seed, t))
            return t + 1, state, tf.concat([history[:, 1:], frame[:, tf.newaxis]], axis=1)

        return tf.while_loop(lambda t, *_: t < _STEPS, step, (tf.constant(0), state, history))[-1]

    return run


def _acting_alone(network: tf.keras.Model, observations: tf.Tensor) -> Call:
    """51 evaluations of the policy, one of them for the value after the last step."""
    seed = tf.constant([0, 0])

    @tf.function(autograph=False)
    def run() -> tf.Tensor:
        def act(t: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            logits, values = network(observations[tf.minimum(t, _STEPS - 1)], NO_ITERATION)
            actions = sample_actions(logits, 1.0, fold_in(seed, t))
            return t + 1, total + values + tf.cast(actions, tf.float32)

        zeros = tf.zeros([_BATCH.value])
        return tf.while_loop(lambda t, *_: t <= _STEPS, act, (tf.constant(0), zeros))[-1]

    return run


def _gathering(observations: tf.Tensor, stacked: bool) -> Call:
    """All minibatches' observations, from stacks or from single frames."""
    times = draw_minibatches(_STEPS, 3, 20, tf.constant([0, 0]))
    frames = tf.concat([tf.transpose(observations[0], [1, 0, 2, 3, 4]), observations[1:, :, -1]], 0)

    def take(chosen: tf.Tensor) -> tf.Tensor:
        if stacked:
            return tf.gather(observations, chosen)
        parts = tf.gather(frames, chosen[:, tf.newaxis] + tf.range(_STACK))  # [20, K, B, ...]
        return tf.transpose(parts, [0, 2, 1, 3, 4, 5])

    @tf.function(autograph=False)
    def run() -> tf.Tensor:
        # Loops do not let TensorFlow skip what is gathered but not used.
        def step(n: tf.Tensor, _: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return n + 1, take(times[n])

        return tf.while_loop(
            lambda n, _: n < times.shape[0], step, (tf.constant(0), take(times[0]))
        )[1][0, 0]

    return run


def _seconds(call: Call) -> tuple[float, float]:
    """Time that passed, and processor time of all threads."""
    wall, processor = time.perf_counter(), time.process_time()
    tf.nest.map_structure(lambda x: x.numpy(), call())
    return time.perf_counter() - wall, time.process_time() - processor


def _measure(calls: dict[str, Call], rounds: int) -> dict[str, np.ndarray]:
    """Both times of each call in each round, [rounds, 2]; the first, tracing call is left out."""
    for call in calls.values():
        _seconds(call)
    times = [{name: _seconds(call) for name, call in calls.items()} for _ in range(rounds)]
    return {name: np.array([row[name] for row in times]) for name in calls}


def _print_shares(times: dict[str, np.ndarray]) -> None:
    whole = times["whole update"]
    parts = {name: times[name] for name in ("world model", "acting", "learning")}
    parts["overhead"] = whole - np.sum(list(parts.values()), axis=0)
    print(f"{'':14}{'seconds':>9}{'share':>9}{'processor seconds':>20}{'share':>9}")
    for name, seconds in {"whole update": whole, **parts}.items():
        (wall, processor), shares = np.median(seconds, axis=0), np.median(seconds / whole, axis=0)
        print(f"{name:14}{wall:9.3f}{shares[0]:9.1%}{processor:20.3f}{shares[1]:9.1%}")


def main(_: list[str]) -> None:
    """Measures and prints."""
    model = _model()
    trainer = _trainer(model)
    history = trainer.environment.reset().observation
    seed = tf.constant([0, 0])
    played = tf.function(
        lambda: collect(trainer.environment, trainer.network, _STEPS, NO_ITERATION, seed)
    )()
    learn = tf.function(lambda: trainer.learner.learn(played, 0, seed), autograph=False)
    calls = {
        "whole update": lambda: trainer.train(1, 0),
        "world model": _model_alone(model, history),
        "acting": _acting_alone(trainer.network, played.observations),
        "learning": learn,
    }
    rounds = _ROUNDS.value or (2 if _FULL.value else 9)
    _print_shares(_measure(calls, rounds))
    gathering = {
        "from stacks": _gathering(played.observations, stacked=True),
        "from frames": _gathering(played.observations, stacked=False),
    }
    for name, seconds in _measure(gathering, 21).items():
        print(f"7 minibatches {name}: {1000 * np.median(seconds[:, 1]):.1f} processor ms")


if __name__ == "__main__":
    app.run(main)
