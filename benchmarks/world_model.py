r"""Speed of the world models, as shares of this machine's matrix-multiply rate.

    python benchmarks/world_model.py [--quick]

For the full-size stochastic-discrete model (both kinds of input) and for a small one: one simulated
step at batch 16, bit prediction included, and one training step at batch 4 with 6 target frames.
For the model of cpu.gin, not cut into parts: a simulated step at batch 32, and a training step at
batch 16 with 4 target frames. `phases.py` measures that file's own batches, parts and optimiser.
Other jobs disturb absolute times, so every timed call stands between two measurements of the
matrix-multiply rate, and the share printed is the median over the calls. Every line is measured in
a process of its own, whose peak memory is printed too.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import multiprocessing
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from absl import app, flags

from simple_tf.models.adafactor import Adafactor
from simple_tf.models.flops import count_flops
from simple_tf.models.heads import PaletteHead, SoftmaxHead
from simple_tf.models.interface import State, WorldModel
from simple_tf.models.palette import Palette
from simple_tf.models.patch import PatchModel
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel
from simple_tf.models.trainer import WorldModelTrainer
from simple_tf.resident_memory import peak_bytes
from simple_tf.training import experiment  # noqa: F401  # Makes all of cpu.gin known to gin.
from simple_tf.training.configuration import configure
from simple_tf.training.networks import build_world_model

_QUICK = flags.DEFINE_bool("quick", False, "Fewer repetitions, and less XLA.")


class Sizes(NamedTuple):
    """Of frames and batches."""

    frame_shape: tuple[int, int, int]
    step_batch: int
    train_batch: int
    num_targets: int


_FRAME_SHAPE = (105, 80, 3)
_NUM_ACTIONS = 6
_NUM_INPUTS = 4
_MATRIX_SIZE = 1024
_SIZES = Sizes(_FRAME_SHAPE, step_batch=16, train_batch=4, num_targets=6)
_CPU_SIZES = Sizes((52, 40, 1), step_batch=32, train_batch=16, num_targets=4)

# The original (Tensor2Tensor 1.15.7, TensorFlow 1.15.5): one simulated step of the full-size model
# at batch 16 on two threads of a quiet machine with two cores, whose matrix-multiply rate in
# TensorFlow 2.15 was 150 GFLOP/s.
_ORIGINAL_STEP_SECONDS = 5.33
_ORIGINAL_MATMUL_GFLOPS = 150


class Case(NamedTuple):
    """One line of the table."""

    size: str  # "full", "small" or "cpu".
    inputs: str  # "carried" or "stacked".
    what: str  # "step" or "train".
    xla: bool


class Result(NamedTuple):
    """What was measured in one process."""

    gflop: float
    seconds: float
    matmul_gflops: float
    share: float
    first_call_seconds: float
    peak_gb: float


def matmul_gflops(repetitions: int = 8) -> float:
    """Returns the machine's float32 rate now: the median of a few products on all cores."""
    matrix = tf.random.stateless_normal([_MATRIX_SIZE, _MATRIX_SIZE], [0, 0])
    times = [seconds_of(lambda: tf.linalg.matmul(matrix, matrix)[0, 0]) for _ in range(repetitions)]
    return 2 * _MATRIX_SIZE**3 / float(np.median(times)) / 1e9


def measure(case: Case, repetitions: int) -> Result:
    """Builds and times one case; to be called in a fresh process."""
    call, graph = _step(case) if case.what == "step" else _training_step(case)
    flops = count_flops(graph)
    first = seconds_of(call)
    matmul_gflops()  # Wakes the threads up.
    times, rates, shares = [], [matmul_gflops()], []
    for _ in range(repetitions):
        times.append(seconds_of(call))
        rates.append(matmul_gflops())
        shares.append(flops / 1e9 / times[-1] / np.mean(rates[-2:]))
    peak = peak_bytes() / 2**30
    return Result(
        gflop=flops / 1e9,
        seconds=float(np.median(times)),
        matmul_gflops=float(np.median(rates)),
        share=float(np.median(shares)),
        first_call_seconds=first,
        peak_gb=peak,
    )


def seconds_of(call: Callable[[], tf.Tensor]) -> float:
    """Returns how long a call takes until its result is there."""
    begin = time.perf_counter()
    call().numpy()
    return time.perf_counter() - begin


def _sizes(case: Case) -> Sizes:
    return _CPU_SIZES if case.size == "cpu" else _SIZES


def _model(case: Case) -> WorldModel:
    if case.size == "cpu":
        return _cpu_preset()
    if case.size == "full":
        return StochasticDiscreteModel(
            _FRAME_SHAPE, _NUM_ACTIONS, SoftmaxHead(_FRAME_SHAPE[2]), inputs=case.inputs
        )
    palette = Palette(16)
    palette.update(_frames(_FRAME_SHAPE, 1, 1))
    head = PaletteHead(palette)
    return StochasticDiscreteModel(
        _FRAME_SHAPE, _NUM_ACTIONS, head, inputs=case.inputs, hidden_size=16
    )


def _cpu_preset() -> WorldModel:
    """The model of cpu.gin, with a palette of the colours that `_frames` uses."""
    configure(["cpu.gin"], [])
    model = build_world_model(_CPU_SIZES.frame_shape, _NUM_ACTIONS, 0)
    assert isinstance(model, PatchModel)
    assert isinstance(model.head, PaletteHead)
    frames = _frames(_CPU_SIZES.frame_shape, 1, 1)
    model.head.palette.update(frames)
    model.adapt(frames[:, 0])
    return model


def _frames(shape: tuple[int, int, int], batch: int, length: int) -> np.ndarray:
    """Random frames of 16 greys."""
    height, width, channels = shape
    greys = np.random.default_rng(0).integers(0, 16, (batch, length, height, width, 1))
    return (greys * 17).repeat(channels, axis=-1).astype(np.uint8)


def _step(case: Case) -> tuple[Callable[[], tf.Tensor], tf.Graph]:
    return simulated_step(_model(case), _sizes(case), case.xla)


def simulated_step(
    model: WorldModel, sizes: Sizes, xla: bool
) -> tuple[Callable[[], tf.Tensor], tf.Graph]:
    """One simulated step as an environment takes it: state, frame and reward come out.

    Returns:
        What to time, and its graph.
    """
    frames = tf.constant(_frames(sizes.frame_shape, sizes.step_batch, _NUM_INPUTS))
    actions = tf.zeros([sizes.step_batch, _NUM_INPUTS], tf.int32)
    seed = tf.constant([0, 0])
    state = model.initial_state(frames, actions[:, 1:])

    @tf.function(jit_compile=xla, autograph=False)
    def simulate(
        state: State, frames: tf.Tensor, action: tf.Tensor, seed: tf.Tensor
    ) -> tuple[State, tf.Tensor, tf.Tensor]:
        prediction = model.step(state, frames, action, seed)
        reward = tf.argmax(prediction.reward_logits, -1)
        return prediction.state, model.decode(prediction.outputs), reward

    arguments = (state, frames, actions[:, 0], seed)
    graph = simulate.get_concrete_function(*arguments).graph
    return (lambda: simulate(*arguments)[1]), graph


def _training_step(case: Case) -> tuple[Callable[[], tf.Tensor], tf.Graph]:
    trainer = WorldModelTrainer(_model(case), Adafactor(1e-3), jit_compile=case.xla)
    return training_step(trainer, _sizes(case))


def training_step(
    trainer: WorldModelTrainer, sizes: Sizes
) -> tuple[Callable[[], tf.Tensor], tf.Graph]:
    """One training step; returns what `simulated_step` does."""
    length = _NUM_INPUTS + sizes.num_targets
    window = (
        tf.constant(_frames(sizes.frame_shape, sizes.train_batch, length)),
        tf.zeros([sizes.train_batch, length - 1], tf.int32),
        tf.ones([sizes.train_batch, length - 1], tf.int32),
    )
    graph = tf.function(trainer.apply, autograph=False).get_concrete_function(*window).graph
    return (lambda: trainer.train_step(*window)["loss"]), graph


def in_own_process(case: Case, repetitions: int) -> Result:
    """Runs `measure` where nothing else has used memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (case, repetitions))


def report(case: Case, result: Result) -> str:
    """Returns one line of the table."""
    name = f"{case.size:5} {case.inputs:7} {case.what:5} {'XLA' if case.xla else '':3}"
    line = (
        f"{name} {1e3 * result.seconds:8.1f} ms  {result.gflop:7.1f} GFLOP  "
        f"{result.gflop / result.seconds:5.0f} GFLOP/s  {100 * result.share:3.0f} % of "
        f"{result.matmul_gflops:3.0f}  first call {result.first_call_seconds:5.1f} s  "
        f"peak {result.peak_gb:4.1f} GB"
    )
    if (case.size, case.inputs, case.what) != ("full", "carried", "step"):
        return line
    plain = _ORIGINAL_STEP_SECONDS / result.seconds
    # As fast a machine as the one where the original was measured would need longer, or less.
    fair = plain * _ORIGINAL_MATMUL_GFLOPS / result.matmul_gflops
    return f"{line}  {plain:.1f} x the original, {fair:.1f} x at equal matrix-multiply rates"


def cases(quick: bool) -> list[Case]:
    """Returns what is measured; the quick choice leaves out what XLA takes minutes to compile."""
    kinds = [(inputs, what) for inputs in ("carried", "stacked") for what in ("step", "train")]
    full = [Case("full", inputs, what, False) for inputs, what in kinds]
    small = [Case("small", "stacked", what, False) for what in ("step", "train")]
    compiled = [Case("small", "stacked", "step", True)]
    if not quick:
        compiled += [Case("small", "stacked", "train", True), Case("full", "carried", "step", True)]
    preset = [
        Case("cpu", "stacked", what, xla) for what in ("step", "train") for xla in (False, True)
    ]
    return full + small + compiled + preset


def main(_: Sequence[str]) -> None:
    print(f"matrix multiply, float32, {_MATRIX_SIZE}^3: {matmul_gflops(20):.0f} GFLOP/s")
    print(
        "step: batch 16; train: batch 4, 6 target frames (cpu: 32; 16, 4); "
        f"the original took {_ORIGINAL_STEP_SECONDS} s for a full step on a quiet machine"
    )
    for case in cases(_QUICK.value):
        repetitions = 3 if _QUICK.value and case.size == "full" else 7
        print(report(case, in_own_process(case, repetitions)), flush=True)


if __name__ == "__main__":
    app.run(main)
