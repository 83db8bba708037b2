"""A sweep of games, configurations and seeds: what it consists of, and one run of it.

python -m simple_tf.sweep --file=launch/sweeps/smoke.ini --list

The scripts in launch/ use this to check a sweep before they ask for machines, to count its runs,
and, on the machine, to become one of them. Only --check and --list need more than Python itself, so
that a dry run can show its commands where nothing has been installed yet.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from simple_tf.training.sweep import Sweep, SweepError, read_sweep

_NOT_STARTED = "not started"


def main() -> int:
    arguments = _parser().parse_args()
    try:
        sweep = read_sweep(arguments.file, arguments.output_dir, arguments.train_flag)
        return _do(sweep, arguments)
    except SweepError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m simple_tf.sweep", description=__doc__, allow_abbrev=False
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--file", type=Path, required=True, help="The sweep, see simple_tf/training/sweep.py.")
    add("--output_dir", type=Path, help="Instead of the directory in the file.")
    further = "A further flag of every run, e.g. --train_flag=--resume=never."
    add("--train_flag", action="append", default=[], help=further)
    add("--check", action="store_true", help="Say whether all runs can begin.")
    add("--list", action="store_true", help="List the runs, and how far they are.")
    add("--count", action="store_true", help="Print how many runs there are.")
    add("--where", action="store_true", help="Print the directory of all runs.")
    commands = "Print the command of this run, counted from 0; may be given several times."
    add("--command", type=int, action="append", help=commands)
    add("--python", help="Instead of this Python, in the commands.")
    add("--run", type=int, help="Become this run, so that signals reach it.")
    return parser


def _do(sweep: Sweep, wanted: argparse.Namespace) -> int:
    """Does the one thing that was asked for."""
    if wanted.check:
        return _check(sweep)
    if wanted.list:
        return _list(sweep)
    if wanted.run is not None:
        command = sweep.task(wanted.run).command()
        os.execv(command[0], command)
    if wanted.count:
        print(len(sweep.tasks()))
    elif wanted.where:
        print(sweep.output_dir)
    elif wanted.command:
        commands = [sweep.task(index).command(wanted.python) for index in wanted.command]
        print("\n".join(map(shlex.join, commands)))
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
    sys.exit(main())
