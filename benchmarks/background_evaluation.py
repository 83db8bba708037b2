"""What is gained by evaluating beside the loop? Whole runs of both kinds, in turns.

    python benchmarks/background_evaluation.py [--gin_file=smoke.gin] [--iterations=5] [--rounds=3]
    python benchmarks/background_evaluation.py --gin_file=cpu.gin --iterations=3 --rounds=1

Each run is a process of its own, with the same seed, so that both do the same work to the bit. What
is compared are the seconds from the end of the first iteration, which compiles, to the end of the
last but one: nothing goes on beside the last evaluation. The ratio is the median over the rounds.

Beside it is the share of that time which evaluations take in place: nothing more can be gained, and
only as far as learning leaves cores idle, or works on a GPU while the games are played on the CPU.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from absl import app, flags

from simple_tf.training.metrics import read_metrics
from simple_tf.training.run_directory import RunDirectory

_GIN_FILE = flags.DEFINE_string("gin_file", "smoke.gin", "What is run.")
_GAME = flags.DEFINE_string("game", "pong", "The game.")
_ITERATIONS = flags.DEFINE_integer("iterations", 5, "Of each run.", lower_bound=3)
_ROUNDS = flags.DEFINE_integer("rounds", 3, "Runs of each kind.", lower_bound=1)
_BINDINGS = flags.DEFINE_multi_string("gin_bindings", [], "Further bindings, for both kinds.")

# In smoke.gin evaluations are too short to matter.
_LONGER = (
    "in_training/EvaluationProtocol.episodes=16",
    "in_training/EvaluationProtocol.max_steps=300",
    "final/EvaluationProtocol.max_steps=20",
    "FinalEvaluationPhase.videos=False",
)


class Times(NamedTuple):
    """Seconds between the ends of the first and of the last but one iteration.

    Attributes:
        whole: all of them.
        evaluation: those of the phase that evaluates, or that waits for it.
    """

    whole: float
    evaluation: float


def times_of(records: Sequence[Mapping[str, Any]]) -> Times:
    """Reads a run's records."""
    ends = [record for record in records if record["phase"] == "iteration"]
    first, *between = [record for record in ends if record["iteration"] > 0][:-1]
    phase = sum(record["metrics"]["time/evaluation"] for record in between)
    return Times(between[-1]["seconds"] - first["seconds"], phase)


def run(directory: Path, background: bool) -> Times:
    """Trains in a process of its own."""
    bindings = (
        *_LONGER,
        f"Schedule.iterations={_ITERATIONS.value}",
        "Schedule.max_interactions=1000000000",  # All iterations are to play alike.
        *_BINDINGS.value,
        f"EvaluationPhase.background={background}",
    )
    command = [sys.executable, "-m", "simple_tf.train", f"--game={_GAME.value}"]
    command += [f"--gin_file={_GIN_FILE.value}", f"--output_dir={directory}"]
    command += [f"--gin_bindings={binding}" for binding in bindings]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return times_of(read_metrics(RunDirectory(directory)))


def main(_: Sequence[str]) -> None:
    ratios, shares = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(_ROUNDS.value):
            in_place = run(Path(folder, f"{number}-in_place"), background=False)
            beside = run(Path(folder, f"{number}-beside"), background=True)
            print(
                f"in place {in_place.whole:7.1f} s, {in_place.evaluation:6.1f} s of it evaluating; "
                f"beside {beside.whole:7.1f} s, {beside.evaluation:6.1f} s of it waiting",
                flush=True,
            )
            ratios.append(beside.whole / in_place.whole)
            shares.append(in_place.evaluation / in_place.whole)
    print(
        f"beside / in place: {np.median(ratios):.2f}, of {len(ratios)} rounds; evaluating in place "
        f"takes {np.median(shares):.0%}, so that {1 - np.median(shares):.2f} is the least there is"
    )


if __name__ == "__main__":
    app.run(main)
