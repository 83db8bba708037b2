"""A sweep of games, configurations and seeds: what it consists of, and one run of it.

python -m simple_tf.sweep --file=launch/sweeps/smoke.ini --list

The scripts in launch/ use this to check a sweep before they ask for machines, to count its runs,
and, on the machine, to become one of them.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from absl import app, flags

# TensorFlow takes seconds to import and is needed for --check and --list only: see there.
from simple_tf.training.sweep import Sweep, SweepError, read_sweep

_NOT_STARTED = "not started"

_FILE = flags.DEFINE_string(
    "file", None, "The sweep, see simple_tf/training/sweep.py.", required=True
)
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "Instead of the directory in the file.")
_TRAIN_FLAG = flags.DEFINE_multi_string(
    "train_flag", [], "A further flag of every run, e.g. --train_flag=--resume=never."
)
_CHECK = flags.DEFINE_bool("check", False, "Say whether all runs can begin.")
_LIST = flags.DEFINE_bool("list", False, "List the runs, and how far they are.")
_COUNT = flags.DEFINE_bool("count", False, "Print how many runs there are.")
_WHERE = flags.DEFINE_bool("where", False, "Print the directory of all runs.")
_COMMAND = flags.DEFINE_multi_integer(
    "command", [], "Print the commands of these runs, counted from 0."
)
_RUN = flags.DEFINE_integer("run", None, "Become this run, so that signals reach it.")


def main(_: list[str]) -> int:
    try:
        output_dir = Path(_OUTPUT_DIR.value) if _OUTPUT_DIR.value else None
        sweep = read_sweep(Path(_FILE.value), output_dir, _TRAIN_FLAG.value)
        return _do(sweep)
    except SweepError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


def _do(sweep: Sweep) -> int:
    """Does the one thing that was asked for."""
    if _CHECK.value:
        return _check(sweep)
    if _LIST.value:
        return _list(sweep)
    if _RUN.value is not None:
        command = sweep.task(_RUN.value).command()
        os.execv(command[0], command)
    if _COUNT.value:
        print(len(sweep.tasks()))
    elif _WHERE.value:
        print(sweep.output_dir)
    elif _COMMAND.value:
        print("\n".join(shlex.join(sweep.task(index).command()) for index in _COMMAND.value))
    else:
        raise SweepError("Say what to do: --check, --list, --count, --where, --command=N, --run=N.")
    return 0


def _check(sweep: Sweep) -> int:
    from simple_tf.training import command_line, sweep_check

    def check() -> int:
        print("\n".join(sweep_check.check_sweep(sweep)))
        return 0

    return command_line.explain_errors(check)


def _list(sweep: Sweep) -> int:
    from simple_tf.reporting.runs import find_runs

    tasks = sweep.tasks()
    there = [task.run_dir for task in tasks if task.run_dir.is_dir()]
    found = {run.path.resolve(): run for run in find_runs(there)}
    for index, task in enumerate(tasks):
        run = found.get(task.run_dir.resolve())
        print(f"{index:>4}  {run.status if run else _NOT_STARTED:<12}  {task.run_dir}")
    return 0


if __name__ == "__main__":
    app.run(main)
