"""The quality benchmark counts right; it is run by hand."""

import numpy as np
from benchmark_modules import load_benchmark


def test_a_reward_counts_as_recalled_within_one_step():
    module = load_benchmark("model_quality")
    real = np.array([[0, 1, 0, 0, 1], [1, 0, 0, 0, 1]], bool)
    given = np.array([[1, 0, 0, 0, 0], [1, 0, 0, 1, 0]], bool)
    assert module._recall(real, given) == "0.75"
    assert module._recall(np.zeros_like(real), given) == "-"
