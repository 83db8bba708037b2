"""Everything that can be wrong with a sweep and be found before anybody pays for machines."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import gin

from simple_tf.envs.catalog import find_game
from simple_tf.training.configuration import configure, parsed_bindings
from simple_tf.training.experiment import build_learners
from simple_tf.training.model_free import check_learner
from simple_tf.training.program import MODEL_FREE
from simple_tf.training.random_play import describe_game
from simple_tf.training.run_directory import RunDescription, RunDirectory
from simple_tf.training.schedule import Schedule
from simple_tf.training.sweep import Configuration, Sweep, SweepError


def check_sweep(sweep: Sweep) -> list[str]:
    """Tries whatever a run does before its first step.

    Returns:
        Sentences for people about what is going to happen.

    Raises:
        SweepError: something that no run can begin with.
        ConfigurationError: a gin file or a binding is wrong.
        UnknownGameError: there is no such game.
        ValueError: a value in a configuration is wrong.
        RunError: a run of another configuration is in the way.
    """
    _check_names(sweep)
    _check_flags(sweep)
    free = _check_writable(sweep.output_dir)
    started = sum(_check_configuration(sweep, each) for each in sweep.configurations)
    count = len(sweep.tasks())
    return [
        f"{count} runs (games x configurations x seeds = {len(sweep.games)} x "
        f"{len(sweep.configurations)} x {len(sweep.seeds)}); {started} of them have been started "
        "before and go on.",
        f"They go to {sweep.output_dir}, where {free / 1e9:.0f} GB are free.",
    ]


def _check_flags(sweep: Sweep) -> None:
    """Asks the programs themselves whether they understand the flags that they are given."""
    if not sweep.flags:
        return
    one_of_each = {task.configuration.program: task for task in sweep.tasks()}
    for program, task in one_of_each.items():
        command = [*task.command(), "--only_check_args"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            # absl indents what is wrong, between two lines that are always the same.
            reasons = [line.strip() for line in done.stderr.splitlines() if line.startswith("  ")]
            raise SweepError(f"{program} refuses the flags: {' '.join(reasons) or done.stderr}")


def _check_names(sweep: Sweep) -> None:
    seen: dict[str, str] = {}
    for task in sweep.tasks():
        other = seen.setdefault(task.name, task.game)
        if other != task.game:
            raise SweepError(f"The runs of {other} and {task.game} have one name: {task.name}.")


def _check_writable(directory: Path) -> int:
    """Returns the bytes that are free there; leaves nothing behind."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # Not os.access: the superuser may write everywhere, but not on a read-only volume.
        with tempfile.TemporaryFile(dir=directory):
            pass
        return shutil.disk_usage(directory).free
    except OSError as error:
        raise SweepError(f"Runs cannot be written to {directory}: {error.strerror}.") from error
    finally:
        for path in missing:
            with contextlib.suppress(OSError):  # Somebody has begun to use it.
                path.rmdir()


def _check_configuration(sweep: Sweep, configuration: Configuration) -> int:
    """Builds what a configuration describes; returns how many of its runs exist already."""
    gin.clear_config()
    configure(configuration.gin_files, configuration.gin_bindings)
    # Every game is opened: a name may be known, and its emulator still not start.
    looks = [describe_game(find_game(game)) for game in sweep.games]
    if configuration.program == MODEL_FREE:
        check_learner(sweep.games[0])
    else:
        Schedule()
        build_learners(looks[0].frame_shape, looks[0].num_actions, seed=0)
    bindings = parsed_bindings()
    return sum(
        RunDirectory(task.run_dir).check(RunDescription(task.game, task.seed, bindings))
        for task in sweep.tasks()
        if task.configuration is configuration
    )
