"""Benchmarks that no other test runs still run, at their smallest."""

import subprocess
import sys

import pytest
from benchmark_modules import FOLDER


@pytest.mark.parametrize(
    ("name", "flags", "expected"),
    [
        ("environment", ["--games=pong", "--rounds=1", "--steps=16", "--num_slots=2"], "pong"),
        ("windows", ["--steps=300", "--seconds=0.1"], "windows"),
        ("policy", ["--rounds=1", "--batch=2"], "whole update"),
        ("evaluation", ["--episodes=2", "--rounds=1", "--max_steps=20"], "steps/s"),
        ("memory", ["--steps=2000"], "2,000 steps"),
        (
            "perfect_dreams",
            [
                "--gin_bindings=Schedule.iterations=1",
                "--gin_bindings=Schedule.initial_interactions=200",
                "--gin_bindings=Schedule.interactions_per_iteration=40",
                "--gin_bindings=Schedule.policy_updates=1",
                "--gin_bindings=SimulatedEnvironment.batch_size=4",
                "--gin_bindings=final/EvaluationProtocol.max_steps=20",
            ],
            "score: ",
        ),
        pytest.param("model_free", ["--updates=1", "--only=ppo"], "PPO", marks=pytest.mark.slow),
    ],
)
def test_it_runs_and_prints_what_it_measured(name, flags, expected):
    command = [sys.executable, str(FOLDER / f"{name}.py"), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
