"""A program's peak is its own: neither below what it held, nor what its parent held."""

import subprocess
import sys

import numpy as np

from simple_tf.resident_memory import peak_bytes

PROGRAM = """
import numpy as np
from simple_tf.resident_memory import peak_bytes
before = peak_bytes()
block = np.ones(64 * 2**20, np.uint8)
del block
print(before, peak_bytes())
"""


def test_what_was_held_and_given_back_counts_and_the_parents_memory_does_not():
    held = np.ones(1024 * 2**20, np.uint8)
    own = peak_bytes()
    del held
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    before, after = map(int, done.stdout.split())
    assert own > 1024 * 2**20
    assert after < own - 200 * 2**20
    assert after - before > 56 * 2**20
