"""The quality benchmark counts right; it is run by hand."""

import importlib.util
from pathlib import Path

import numpy as np

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "model_quality.py"


def test_a_reward_counts_as_recalled_within_one_step():
    spec = importlib.util.spec_from_file_location("model_quality_benchmark", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    real = np.array([[0, 1, 0, 0, 1], [1, 0, 0, 0, 1]], bool)
    given = np.array([[1, 0, 0, 0, 0], [1, 0, 0, 1, 0]], bool)
    assert module._recall(real, given) == "0.75"
    assert module._recall(np.zeros_like(real), given) == "-"
