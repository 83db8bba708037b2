r"""What whole runs of the paper's size take, projected onto named accelerators.

    python benchmarks/scaling.py [--gin_file=sd.gin --gin_file=sd_long.gin] [--runs=180]

Counts the arithmetic of every step in its graph and multiplies it by the schedule. Nothing is
trained, and no time is measured: `python -m simple_tf.train --estimate` does that.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
from collections.abc import Sequence

import gin
import tensorflow as tf
from absl import app, flags

from simple_tf.envs.catalog import find_game
from simple_tf.training.arithmetic import Arithmetic, count_arithmetic
from simple_tf.training.configuration import configure
from simple_tf.training.experiment import Learners, build_learners
from simple_tf.training.hardware import ACCELERATORS
from simple_tf.training.random_play import describe_game
from simple_tf.training.schedule import Schedule

_GIN_FILE = flags.DEFINE_multi_string("gin_file", ["sd.gin", "sd_long.gin"], "Configurations.")
_GAME = flags.DEFINE_string("game", "pong", "Whose frames and actions.")
_RUNS = flags.DEFINE_integer("runs", 180, "Runs of a sweep: 36 games, 5 seeds.")


def main(_: Sequence[str]) -> None:
    totals = {name: _describe(name) for name in _GIN_FILE.value}
    print("\n| projected, never run | " + " | ".join(_titles(totals)) + " |")
    print("| --- |" + " --- |" * 2 * len(totals))
    for device in ACCELERATORS:
        hours = [device.seconds(flops) / 3600 for flops in totals.values()]
        cells = [f"{h:,.1f} h | {h * _RUNS.value / 24:,.0f} days" for h in hours]
        how = f"{device.arithmetic} at {device.share:.0%} of {device.peak / 1e12:,.0f} TFLOP/s"
        print(f"| {device.name}, {how} | " + " | ".join(cells) + " |")


def _titles(names: Sequence[str] | dict[str, int]) -> list[str]:
    return [f"{name}, one run | {_RUNS.value} runs on one device" for name in names]


def _describe(gin_file: str) -> int:
    """Prints what one configuration consists of; returns the arithmetic of a run."""
    gin.clear_config()
    configure([gin_file], [])
    looks = describe_game(find_game(_GAME.value))
    learners = build_learners(looks.frame_shape, looks.num_actions, seed=0)
    arithmetic = count_arithmetic(
        learners.model_trainer,
        gin.query_parameter("WorldModelPhase.batch_size"),
        gin.query_parameter("WorldModelPhase.num_target_frames"),
        learners.policy_trainer,
    )
    schedule = Schedule()
    print(_summary(gin_file, arithmetic, schedule, learners))
    return arithmetic.of_run(schedule)


def _summary(name: str, arithmetic: Arithmetic, schedule: Schedule, learners: Learners) -> str:
    iterations = range(1, schedule.iterations + 1)
    steps = sum(map(schedule.world_model_steps_of, iterations))
    updates = sum(map(schedule.policy_updates_of, iterations))
    parts = {
        "training steps": (steps, arithmetic.training_step),
        "simulated steps": (updates * arithmetic.steps_per_update, arithmetic.simulated_step),
        "acting steps": (updates * arithmetic.steps_per_update, arithmetic.acting_step),
        "PPO updates": (updates, arithmetic.learning),
    }
    lines = [
        f"  {number:>9,} {part:<16} of {flops / 1e9:8.1f} GFLOP: {number * flops / 1e15:8.1f} PFLOP"
        for part, (number, flops) in parts.items()
    ]
    saved = sum(int(tf.size(value)) * 4 for value in _saved_values(learners))
    total = f"  in all {arithmetic.of_run(schedule) / 1e15:,.1f} PFLOP"
    return "\n".join([name, *lines, f"{total}; a checkpoint of {saved / 1e9:.2f} GB"])


def _saved_values(learners: Learners) -> list[tf.Variable]:
    optimizers = (learners.model_trainer.optimizer, learners.policy_trainer.learner.optimizer)
    values = [*learners.model.variables, *learners.network.variables]
    return values + [value for optimizer in optimizers for value in optimizer.variables]


if __name__ == "__main__":
    app.run(main)
