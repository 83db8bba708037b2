"""SimPLe: learns a game's dynamics, trains a policy inside them, plays, and again.

python -m simple_tf.train --gin_file=cpu.gin --game=pong --output_dir=runs/pong
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from absl import flags

from simple_tf.reporting.writing import write_report
from simple_tf.training import command_line
from simple_tf.training.configuration import configure
from simple_tf.training.devices import STRATEGIES, choose_devices
from simple_tf.training.estimate import estimate_run
from simple_tf.training.experiment import Experiment
from simple_tf.training.program import LOOP, check_program
from simple_tf.training.run_directory import RESUME
from simple_tf.training.workers import losses_explained

_GAME = flags.DEFINE_string(
    "game", "pong", "Atari game in snake_case, or a Gymnasium id (Id-v0 or module:Id-v0)."
)
_SEED = flags.DEFINE_integer("seed", 0, "Decides every random draw.", lower_bound=0)
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "The run's directory.")
_ESTIMATE = flags.DEFINE_bool(
    "estimate", False, "Say what the run would take on this machine and on others; do not run it."
)
_RESUME = flags.DEFINE_enum(
    "resume",
    "auto",
    RESUME,
    "auto: go on with the run in --output_dir, if there is one; never: refuse to touch one.",
)
_STRATEGY = flags.DEFINE_enum(
    "strategy",
    "auto",
    STRATEGIES,
    "What to compute with; a run may be resumed with another. auto: the most there is.",
)
_REPLICAS = flags.DEFINE_integer(
    "replicas",
    0,
    "How many GPUs (multi_gpu), or logical devices (cpu), share the work; 0: all, or 1.",
    lower_bound=0,
)
_GIN_FILE = flags.DEFINE_multi_string(
    "gin_file", ["sd.gin"], "Paths, or names of files that ship with the package."
)
_GIN_BINDINGS = flags.DEFINE_multi_string(
    "gin_bindings", [], "Further bindings, e.g. Schedule.iterations=3."
)
# To who has not chosen a size and has no accelerator.
_LARGE = (
    "Without --gin_file this is sd.gin, the paper's size: weeks on a CPU (--estimate says how "
    "long). --gin_file=cpu.gin is made for CPUs."
)


@flags.multi_flags_validator(
    ["output_dir", "estimate"], "Flag --output_dir must have a value other than None."
)
def _knows_where(values: dict[str, Any]) -> bool:
    return bool(values["output_dir"]) or values["estimate"]


def main(_: list[str]) -> int:
    devices = choose_devices(_STRATEGY.value, _REPLICAS.value)
    check_program(LOOP, _GIN_FILE.value, _GIN_BINDINGS.value)
    configure(_GIN_FILE.value, _GIN_BINDINGS.value)
    if _ESTIMATE.value:
        print(estimate_run(_GAME.value, _SEED.value))
        return 0
    if devices.name == "cpu" and not _GIN_FILE.present:
        print(_LARGE, file=sys.stderr)
    assert _OUTPUT_DIR.value  # `_knows_where` has seen to it.
    output_dir = Path(_OUTPUT_DIR.value)
    with losses_explained(devices.strategy):
        experiment = Experiment(
            _GAME.value, _SEED.value, output_dir, _RESUME.value, devices=devices
        )
        stopped_by = experiment.run()
    if stopped_by is None and experiment.workers.is_chief:
        directory = experiment.directory
        print(f"  report        {write_report([directory.path], directory.report)}")
    return command_line.exit_code(stopped_by)


if __name__ == "__main__":
    command_line.run(main)
