"""Training on a large store takes no more memory than on a small one."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from simple_tf.data.starts import StartSampler

BENCHMARKS = Path(__file__).resolve().parent.parent.parent / "benchmarks"
PROGRAM = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
import memory
shape, directory = (105, 80, 3), pathlib.Path(sys.argv[2])
sizes = (4_000, 40_000)
for size in sizes:
    memory.make_store(directory / str(size), size, shape, iteration_steps=2_000)
print(json.dumps([memory.measure(directory / str(size)) for size in sizes]))
"""


def test_what_is_resident_does_not_grow_with_what_was_played(tmp_path):
    command = [sys.executable, "-c", PROGRAM, BENCHMARKS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    small, large = json.loads(done.stdout.splitlines()[-1])
    assert small.keys() == large.keys()
    # Peaks of one process: the second store can only add to the first one's.
    growth = max(large.values()) - max(small.values())
    frames = 36_000 * 105 * 80 * 3 / 2**20
    assert frames > 800
    assert growth < 0.1 * frames, (small, large)


def test_starts_stay_within_their_memory_and_keep_the_beginning_of_the_game(make_store):
    store = make_store([[300, 2_000]])
    gigabytes = 600 * 12 * 10 * 3 * 1.125 / 2**30
    sampler = StartSampler((12, 10, 3), 4, max_gigabytes=gigabytes)
    sampler.load(store)
    frames = sampler._frames.numpy()
    assert 400 < frames.shape[0] <= 600 * 1.125
    seeds = [np.array([seed, 0], np.int32) for seed in range(3)]
    drawn = np.concatenate([sampler.sample(200, seed)[0].numpy() for seed in seeds])
    episode, number = drawn[:, 0, 0, 0, 1], drawn[:, 0, 0, 0, 2]
    assert (episode[0], number[0]) == (0, 0)
    assert set(episode) == {0, 1}
    # A start is four frames in a row, as played.
    assert (np.diff(drawn[:, :, 0, 0, 2].astype(int), axis=1) % 256 == 1).all()
