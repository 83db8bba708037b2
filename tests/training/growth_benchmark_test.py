"""What the growth benchmark reads out of runs; it is run by hand, its times are not tested."""

import subprocess
import sys
from pathlib import Path

import pytest
from benchmark_modules import load_benchmark

from simple_tf.reporting.runs import Run


@pytest.fixture(scope="module")
def benchmark():
    return load_benchmark("growth")


def record(iteration, phase, step, **metrics):
    return {"iteration": iteration, "phase": phase, "step": step, "metrics": metrics}


def test_costs_are_seconds_per_unit_of_work(benchmark):
    records = []
    for iteration, seconds in ((1, 30.0), (2, 12.0), (3, 14.0)):
        steps = 300 if iteration == 1 else 100  # The first iteration trains three times as long.
        records += [
            record(iteration, "world_model", steps // 2),
            record(iteration, "world_model", steps),
            record(iteration, "iteration", 0, **{"time/world_model": seconds, "time/idle": 3.0}),
        ]
    run = Run(Path("run"), "run", "pong", 0, "", {}, {}, records, ())
    costs = benchmark.costs_by_phase(run)
    assert costs == {"world_model": pytest.approx([0.1, 0.12, 0.14])}
    assert benchmark.slope(costs["world_model"]) == pytest.approx(0.02 / 0.12)
    assert benchmark.slope([0.5, 0.5, 0.5]) == pytest.approx(0.0, abs=1e-12)


def test_the_benchmark_runs_as_it_is_called():
    script = Path(__file__).parents[2] / "benchmarks" / "growth.py"
    arguments = ["--sizes=1600,3200", "--seconds=0.1"]
    printed = subprocess.run(
        [sys.executable, script, *arguments], check=True, capture_output=True, text=True
    ).stdout
    assert "1,600" in printed
    assert "3,200" in printed
