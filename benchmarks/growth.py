r"""Does the cost of a run grow with its interactions and iterations, or faster?

    python benchmarks/growth.py [--game=pong] [--sizes=12800,102400]
    python benchmarks/growth.py --runs=runs/pong --runs=runs/freeway

Without --runs: plays a game at random, fills stores of two sizes with it, and measures in each what
depends on how much there is: opening the store (once per run), preparing the windows of an
iteration and loading its start states (once per iteration), and the rates of windows and starts
(at every step). Linear growth means: the first per step of the store, the last two constant.

With --runs: reads the metrics of runs and prints, for each phase, the seconds of every iteration
per unit of its work (interactions, world-model steps, updates, evaluations): constant over the
iterations if the whole run's cost is linear in them. Behind it, the slope of these costs over the
iterations after the first, which compiles: in percent of their mean, for each iteration.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import dataclasses
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from absl import app, flags

from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.data.episode import Episode, EpisodeRecorder
from simple_tf.data.starts import StartSampler
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowDataset
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.envs.game import GameSource
from simple_tf.envs.slot import LAST
from simple_tf.reporting.runs import Run, find_runs
from simple_tf.training import experiment  # noqa: F401  # Known to gin once imported.
from simple_tf.training.configuration import configure
from simple_tf.training.random_play import open_store

_RUNS = flags.DEFINE_multi_string("runs", [], "Run directories to read instead of measuring.")
_GAME = flags.DEFINE_string("game", "pong", "The game.")
_GIN_FILE = flags.DEFINE_string("gin_file", "cpu.gin", "How the game is presented.")
_SIZES = flags.DEFINE_list("sizes", ["12800", "102400"], "Interactions in the stores.")
_SECONDS = flags.DEFINE_float("seconds", 3.0, "How long to measure each rate.")

_EPISODE_STEPS = 800
_STEPS_PER_ITERATION = 6400
_STACK, _TARGETS, _BATCH = 4, 4, 16


def play_one(source: GameSource) -> Episode:
    """Plays 800 steps at random."""
    with GameBatch(source, 1, seed=0, stack=1) as batch:
        policy, step = RandomPolicy(batch.num_actions, 0), batch.reset()
        recorder = EpisodeRecorder(0, 0, seed=0, first_frame=step.observations[0, -1])
        while recorder.num_steps < _EPISODE_STEPS:
            actions = policy(step.observations)
            ended = step.step_type[0] == LAST
            step = batch.step(actions)
            if not ended:
                reward = float(step.raw_reward[0])
                frame = step.observations[0, -1]
                recorder.add(int(actions[0]), reward, int(step.reward[0]), frame)
    return recorder.finish(terminated=False, truncated=True)


def filled(directory: Path, source: GameSource, episode: Episode, interactions: int) -> None:
    """Makes a store of so many interactions, the same episode again and again."""
    store = open_store(directory, source)
    per_iteration = _STEPS_PER_ITERATION // _EPISODE_STEPS
    for number in range(interactions // _EPISODE_STEPS):
        iteration, index = divmod(number, per_iteration)
        store.append(dataclasses.replace(episode, iteration=iteration, index=index))


def measure(directory: Path) -> dict[str, float]:
    """Measures what depends on the size of a store; seconds, and calls per second."""
    begin = time.perf_counter()
    store = EpisodeStore.open(directory)
    opened = time.perf_counter()
    windows = _windows(store)
    prepared = time.perf_counter()
    starts = StartSampler(store.description.frame_shape, _STACK, iterations="all")
    starts.load(store)
    loaded = time.perf_counter()
    batches = iter(windows.batches())
    sample = tf.function(lambda seed: starts.sample(32, seed)[0][0, 0, 0, 0, 0], autograph=False)
    seed = tf.constant([0, 1])
    return {
        "opening the store, s": opened - begin,
        "preparing windows, s": prepared - opened,
        "loading all starts, s": loaded - prepared,
        "windows, batches/s": _rate(lambda: next(batches)),
        "starts, batches/s": _rate(lambda: sample(seed).numpy()),
    }


def _windows(store: EpisodeStore) -> WindowDataset:
    return WindowDataset(
        store,
        split="train",
        num_input_frames=_STACK,
        num_target_frames=_TARGETS,
        batch_size=_BATCH,
        seed=0,
        rewarded_share=0.25,
    )


def _rate(call: Callable[[], object]) -> float:
    for _ in range(5):
        call()
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < _SECONDS.value:
        call()
        count += 1
    return count / (time.perf_counter() - begin)


def compare_sizes() -> None:
    """Prints what is measured in stores of several sizes, side by side."""
    configure([_GIN_FILE.value], [])
    source, sizes = find_game(_GAME.value), [int(size) for size in _SIZES.value]
    episode = play_one(source)
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            filled(Path(folder) / str(size), source, episode, size)
        measure(Path(folder) / str(sizes[0]))  # What is done for the first time takes longer.
        columns = [measure(Path(folder) / str(size)) for size in sizes]
    print(f"{'interactions':24}" + "".join(f"{size:>12,}" for size in sizes) + "  last / first")
    for name in columns[0]:
        values = [column[name] for column in columns]
        cells = "".join(f"{value:12.3f}" for value in values)
        print(f"{name:24}{cells}{values[-1] / values[0]:14.2f}")
    print(f"{'(interactions)':24}{'':{12 * len(sizes)}}{sizes[-1] / sizes[0]:14.2f}")


def costs_by_phase(run: Run) -> dict[str, list[float]]:
    """Returns each phase's seconds per unit of work, for every iteration that has some."""
    work: dict[tuple[str, int], int] = {}
    for record in run.records:
        key = str(record["phase"]), int(record["iteration"])
        work[key] = max(work.get(key, 0), int(record["step"]))  # Counts within its iteration.
    costs: dict[str, list[float]] = {}
    ends = [one for one in run.records if one["phase"] == "iteration" and one["iteration"] > 0]
    for record in ends:  # Iteration 0 is random play.
        for name, seconds in record["metrics"].items():
            phase = name.removeprefix("time/")
            if units := work.get((phase, int(record["iteration"])), 0):
                costs.setdefault(phase, []).append(float(seconds) / units)
    return costs


def slope(costs: Sequence[float]) -> float:
    """Growth of costs for each iteration, as a share of their mean."""
    mean = float(np.mean(costs))
    return float(np.polyfit(range(len(costs)), costs, 1)[0]) / mean if mean else 0.0


def report_run(run: Run) -> None:
    """Prints the costs of one run."""
    print(f"{run.name}, {run.game}, seed {run.seed}, {run.configuration}")
    for phase, costs in costs_by_phase(run).items():
        cells = " ".join(f"{1000 * cost:9.4g}" for cost in costs)
        later = costs[1:]  # The first compiles.
        growth = f"   {slope(later):+.1%} per iteration" if len(later) > 1 else ""
        print(f"  {phase:24}{cells} ms{growth}")


def main(_: Sequence[str]) -> None:
    if not _RUNS.value:
        compare_sizes()
        return
    for run in find_runs([Path(folder) for folder in _RUNS.value]):
        report_run(run)


if __name__ == "__main__":
    app.run(main)
