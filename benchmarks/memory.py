"""How much memory it takes to train on a large store: does it grow with what was played?

    python benchmarks/memory.py [--steps=1000000] [--work_dir=DIR]

Makes a store of so many steps at the paper's frame size (105x80x3), in iterations of 64,000 as
`sd_1m.gin` has them, from a few pictures that are written again and again. Then, in a process of
its own, does what training does with a store, and prints the resident memory after each part.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from simple_tf.data import png
from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import Episode
from simple_tf.data.starts import StartSampler
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowDataset
from simple_tf.resident_memory import peak_bytes

_FRAME_SHAPE = (105, 80, 3)
_EPISODE_STEPS = 1_000
_ITERATION_STEPS = 64_000
_BATCHES = 100


def make_store(
    directory: Path,
    num_steps: int,
    frame_shape: tuple[int, int, int] = _FRAME_SHAPE,
    iteration_steps: int = _ITERATION_STEPS,
) -> EpisodeStore:
    """Writes a store of so many steps; every frame is one of sixteen pictures."""
    generator = np.random.default_rng(0)
    # Blocks of colour: like a game, and unlike noise, they compress.
    small = generator.integers(0, 256, (16, frame_shape[0] // 5, frame_shape[1] // 5, 3))
    pictures = np.repeat(np.repeat(small, 5, axis=1), 5, axis=2).astype(np.uint8)
    encoded = [png.encode_frame(picture[..., : frame_shape[2]]) for picture in pictures]
    store = EpisodeStore.create_or_open(
        directory, StoreDescription("blocks", frame_shape, ("NOOP", "UP", "DOWN"))
    )
    for begin in range(0, num_steps, _EPISODE_STEPS):
        length = min(_EPISODE_STEPS, num_steps - begin)
        numbers = generator.integers(0, 16, length + 1)
        iteration = begin // iteration_steps
        episode = Episode(
            iteration=iteration,
            index=(begin - iteration * iteration_steps) // _EPISODE_STEPS,
            seed=begin,
            terminated=True,
            truncated=False,
            actions=generator.integers(0, 3, length),
            raw_rewards=np.zeros(length),
            rewards=generator.integers(-1, 2, length),
            frame_shape=frame_shape,
            png_frames=tuple(encoded[number] for number in numbers),
        )
        store.append(episode)
    return store


def measure(directory: Path) -> dict[str, float]:
    """Peak resident memory so far, in MB, after each of the things that training does."""
    peaks = {"start": _peak()}
    store = EpisodeStore.open(directory)
    peaks["store opened"] = _peak()
    windows = WindowDataset(
        store, split="train", num_input_frames=4, num_target_frames=4, batch_size=16, seed=0
    )
    begin = time.perf_counter()
    for batch in windows.batches().take(_BATCHES):
        tf.reduce_max(batch["frames"])
    seconds = time.perf_counter() - begin
    peaks[f"{_BATCHES} batches of windows"] = _peak()
    starts = StartSampler(store.description.frame_shape, 4)
    starts.load(store)
    starts.sample(16, tf.constant([0, 1]))
    peaks["starts of the newest iteration"] = _peak()
    return {**peaks, "windows per second": 16 * _BATCHES / seconds}


def measure_in_new_process(directory: Path) -> dict[str, float]:
    """As `measure`, with nothing else in memory."""
    command = [sys.executable, __file__, f"--measure={directory}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _peak() -> float:
    return peak_bytes() / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument(
        "--work_dir", type=Path, help="Where the store is made and stays; default: nowhere."
    )
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    if options.work_dir is None:
        with tempfile.TemporaryDirectory() as directory:
            report(Path(directory), options.steps)
    else:
        report(options.work_dir, options.steps)


def report(work_dir: Path, num_steps: int) -> None:
    """Makes a store, measures, and prints what was found."""
    directory = work_dir / f"store_{num_steps}"
    store = make_store(directory, num_steps)
    raw = store.num_steps() * np.prod(store.description.frame_shape) / 1e9
    disk = sum(episode.num_bytes for episode in store.episodes) / 1e9
    print(f"{store.num_steps():,} steps: {raw:.1f} GB of frames, {disk:.1f} GB on disk")
    for name, value in measure_in_new_process(directory).items():
        print(f"  {name:<32} {value:>8.0f}{'' if 'second' in name else ' MB'}")


if __name__ == "__main__":
    main()
