"""Random seeds derived from what they are for, so that counters are all a run has to remember."""

from __future__ import annotations

import zlib

import numpy as np


def derive_seed(seed: int, purpose: str, *counters: int) -> int:
    """Returns a 63-bit seed that depends on all arguments and on nothing else.

    Args:
      seed: the run's seed.
      purpose: what the seed is for, e.g. `"episode"`; keeps streams apart that share counters.
      *counters: non-negative numbers, e.g. slot and episode.
    """
    # numpy pads short entropy with zeros: without the length, () and (0,) would be the same.
    entropy = (seed, zlib.crc32(purpose.encode()), len(counters), *counters)
    word = np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]
    return int(word >> np.uint64(1))


def derive_seed_pair(seed: int, purpose: str, *counters: int) -> tuple[int, int]:
    """Returns the same as two 31-bit numbers: a seed for TensorFlow's stateless functions."""
    word = derive_seed(seed, purpose, *counters)
    return word & 0x7FFFFFFF, (word >> 31) & 0x7FFFFFFF
