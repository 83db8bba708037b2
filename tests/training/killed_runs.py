"""Kills a run again and again, and compares it with one that was left in peace.

    python tests/training/killed_runs.py --kills=20 --work_dir=DIR

Starts `simple_tf.train` with smoke.gin, kills it (SIGKILL) at random moments, starts it again,
and so on; then lets it end, and checks that nothing was lost or done twice: the same interactions,
the same episodes, and the same weights of policy and world model, bit for bit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

# A run that is over as soon as possible.
TINY = (
    "Schedule.iterations=1",
    "Schedule.initial_interactions=200",
    "Schedule.interactions_per_iteration=60",
    "Schedule.world_model_steps=2",
    "Schedule.policy_updates=1",
    "ROLLOUT_LENGTH=10",
    "WorldModelEvaluationPhase.every=0",
    "in_training/EvaluationProtocol.max_steps=4",
    "final/EvaluationProtocol.max_steps=4",
)

SMOKE = ("simple_tf.train", "--gin_file=smoke.gin", "--game=pong")


def command(run: Path, *bindings: str, program: Sequence[str] = SMOKE) -> list[str]:
    """How the run is started."""
    return [
        *(sys.executable, "-m", program[0], "--seed=3", *program[1:], f"--output_dir={run}"),
        *(f"--gin_bindings={binding}" for binding in bindings),
    ]


def finish(run: Path, *bindings: str, program: Sequence[str] = SMOKE) -> str:
    """Lets the run come to its end; returns what it printed."""
    line = command(run, *bindings, program=program)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def kill_once(
    run: Path,
    delay: float,
    *bindings: str,
    after_progress: bool = False,
    program: Sequence[str] = SMOKE,
) -> str:
    """Starts the run and kills it; returns where it was.

    Args:
        run: the run's directory.
        delay: seconds to wait before the kill.
        *bindings: of gin.
        after_progress: whether to wait first until the run has saved something new.
        program: module and flags.
    """
    before = place(run)
    process = subprocess.Popen(
        command(run, *bindings, program=program),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()  # The opening line: from here on it works.
    while after_progress and process.poll() is None and place(run) == before:
        time.sleep(0.05)
    time.sleep(delay)
    if process.poll() is not None:
        return "finished"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    return place(run)


def place(run: Path) -> str:
    """The position of the newest checkpoint."""
    newest = sorted(run.glob("checkpoints/[0-9]*/contents.json"))[-1:]
    if not newest:
        return "before the first checkpoint"
    try:
        position = json.loads(newest[0].read_text())["position"]
    except FileNotFoundError:  # Removed by the run just now, for a newer one.
        return place(run)
    return f"{position['iteration']} {position['phase']} {position['step']}"


def weights(run: Path) -> dict[str, bytes]:
    """Every tensor of the run's last checkpoint."""
    import tensorflow as tf

    newest = sorted(run.glob("checkpoints/[0-9]*"))[-1]
    reader = tf.train.load_checkpoint(str(newest / "state"))
    names = [name for name in reader.get_variable_to_shape_map() if "OBJECT_GRAPH" not in name]
    tensors = {name: reader.get_tensor(name) for name in names}
    # A text comes as bytes, anything else as an array.
    return {name: t if isinstance(t, bytes) else t.tobytes() for name, t in tensors.items()}


def episodes(run: Path) -> dict[str, bytes]:
    """Every episode file of the run."""
    return {
        str(path.relative_to(run)): path.read_bytes() for path in run.glob("episodes/*/*.tfrecord")
    }


def check_equal(disturbed: Path, undisturbed: Path) -> None:
    """Raises AssertionError unless both runs ended with the same result."""
    assert episodes(disturbed) == episodes(undisturbed)
    expected = weights(undisturbed)
    found = weights(disturbed)
    assert found.keys() == expected.keys()
    different = [name for name in expected if found[name] != expected[name]]
    assert not different, f"{len(different)} of {len(expected)} tensors differ: {different[:5]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    undisturbed, disturbed = options.work_dir / "undisturbed", options.work_dir / "disturbed"
    # Saves often, or a run that is killed every few seconds would never get far.
    bindings = ("SimpleLoop.seconds_between_saves=1.0",)
    begin = time.perf_counter()
    finish(undisturbed, *bindings)
    seconds = time.perf_counter() - begin
    print(f"undisturbed: {seconds:.0f} s")
    draw = random.Random(options.seed)
    for number in range(options.kills):
        # Every other time it may first get somewhere, so that all phases have their turn.
        delay, progress = draw.uniform(0.0, seconds / 20), bool(number % 2)
        where = kill_once(disturbed, delay, *bindings, after_progress=progress)
        print(f"kill {number + 1}: {where}", flush=True)
        assert where != "finished", "The run ended before it was killed often enough."
    print(finish(disturbed, *bindings))
    check_equal(disturbed, undisturbed)
    print("equal: episodes, policy, world model and optimisers, bit for bit")


if __name__ == "__main__":
    main()
