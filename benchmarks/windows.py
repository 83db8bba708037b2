r"""Speed of the episode store: frames in, windows out.

    python benchmarks/windows.py [--game=pong] [--steps=6400]

Plays a game at random, records it in a temporary store and measures, in one run: what recording
costs per step and takes on disk, beside TensorFlow's own PNG encoder; how fast a store is verified
when it is opened; and the rate of `WindowDataset`, beside this machine's matrix-multiply rate.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import ale_py
import numpy as np
import tensorflow as tf
from absl import app, flags
from ale_py import roms

from simple_tf.data import png
from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowDataset

_GAME = flags.DEFINE_string("game", "pong", "The game to play.")
_STEPS = flags.DEFINE_integer("steps", 6400, "Steps to play; one iteration has 6400.")
_SECONDS = flags.DEFINE_float("seconds", 3.0, "How long to measure each rate.")

_WINDOWS = ((4, 1, 16), (4, 6, 4), (4, 6, 16))  # Input frames, target frames, batch size.
_MATRIX_SIZE = 1024


def play(game: str, num_steps: int) -> list[np.ndarray]:
    """Random play with frame skip 4: raw screens, the maximum of the last two, 210x160x3."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setInt("random_seed", 0)
    ale.setFloat("repeat_action_probability", 0.0)
    rom = roms.get_rom_path(game)
    if rom is None:
        raise app.UsageError(f"ale-py has no game {game}")
    ale.loadROM(rom)
    actions = ale.getMinimalActionSet()
    generator = np.random.default_rng(0)
    screens = []
    for _ in range(num_steps + 1):
        if ale.game_over():
            ale.reset_game()
        action = actions[generator.integers(len(actions))]
        for _ in range(3):
            ale.act(action)
        last_but_one = ale.getScreenRGB()
        ale.act(action)
        screens.append(np.maximum(last_but_one, ale.getScreenRGB()))
    return screens


def shrink(screen: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Block means, truncated: 105x80x3, or 52x40x1 with the colours averaged."""
    height, width, channels = shape
    block = screen.shape[0] // height
    screen = screen[: height * block].reshape(height, block, width, block, 3)
    if channels == 1:
        return screen.mean((1, 3, 4))[..., np.newaxis].astype(np.uint8)
    return (screen.sum((1, 3), dtype=np.uint16) // block**2).astype(np.uint8)


def record(directory: Path, frames: Sequence[np.ndarray]) -> EpisodeStore:
    """Stores the frames as episodes of 800 steps."""
    about = StoreDescription(_GAME.value, frames[0].shape, tuple(f"{a}" for a in range(18)))
    store = EpisodeStore.create_or_open(directory, about)
    for index, first in enumerate(range(0, len(frames) - 1, 800)):
        recorder = EpisodeRecorder(0, index, 0, frames[first])
        for frame in frames[first + 1 : first + 801]:
            recorder.add(0, 0.0, 0, frame)
        store.append(recorder.finish(terminated=False, truncated=True))
    return store


def rate(call: Callable[[], object]) -> tuple[float, float]:
    """Calls per second, and processor cores kept busy, over `--seconds`."""
    for _ in range(5):
        call()
    count, processor, begin = 0, time.process_time(), time.perf_counter()
    while time.perf_counter() - begin < _SECONDS.value:
        call()
        count += 1
    elapsed = time.perf_counter() - begin
    return count / elapsed, (time.process_time() - processor) / elapsed


def matmul_gflops() -> float:
    """float32 matrix multiplication with all cores."""
    matrix = tf.random.stateless_normal([_MATRIX_SIZE, _MATRIX_SIZE], [0, 0])
    per_second, _ = rate(lambda: tf.linalg.matmul(matrix, matrix)[0, 0].numpy())
    return per_second * 2 * _MATRIX_SIZE**3 / 1e9


def compare_encoders(frames: Sequence[np.ndarray]) -> None:
    """Bytes, and microseconds to encode and to decode a frame: ours and TensorFlow's."""
    shape = frames[0].shape
    ours = ("unfiltered PNG (ours)", png.encode_frame, lambda data: png.decode_frame(data, shape))
    theirs = (
        "tf.io.encode_png",
        lambda frame: tf.io.encode_png(frame).numpy(),
        lambda data: tf.io.decode_png(data).numpy(),
    )
    for name, encode, decode in (ours, theirs):
        begin = time.perf_counter()
        encoded = [encode(frame) for frame in frames]
        middle = time.perf_counter()
        for data in encoded:
            decode(data)
        end = time.perf_counter()
        size = np.mean([len(data) for data in encoded])
        to_microseconds = 1e6 / len(frames)
        print(
            f"  {name:24} {size:7.0f} bytes  encode {(middle - begin) * to_microseconds:5.0f} us  "
            f"decode {(end - middle) * to_microseconds:5.0f} us"
        )


def measure_windows(store: EpisodeStore) -> None:
    """Prints the rate of the window pipeline for several kinds of batches."""
    for num_inputs, num_targets, batch_size in _WINDOWS:
        dataset = WindowDataset(
            store,
            split="train",
            num_input_frames=num_inputs,
            num_target_frames=num_targets,
            batch_size=batch_size,
            seed=0,
        )
        iterator = iter(dataset.batches())
        batches, cores = rate(lambda it=iterator: next(it))  # type: ignore[misc]
        windows = batches * batch_size
        print(
            f"  {batch_size:2} windows of {num_inputs} + {num_targets} frames: "
            f"{windows * (num_inputs + num_targets):7.0f} frames/s, {windows:6.0f} windows/s, "
            f"{cores:.1f} cores busy"
        )


def measure(screens: Sequence[np.ndarray], shape: tuple[int, ...]) -> None:
    """All measurements for one frame shape."""
    print(f"{_GAME.value}, {len(screens) - 1} steps, frames {'x'.join(map(str, shape))}")
    frames = [shrink(screen, shape) for screen in screens]
    compare_encoders(frames[:2000])
    with tempfile.TemporaryDirectory() as directory:
        store = record(Path(directory) / "store", frames)
        size = sum(episode.num_bytes for episode in store.episodes)
        print(f"  100K steps on disk: {size / store.num_steps() * 0.1:.0f} MB")
        begin = time.perf_counter()
        store = EpisodeStore.open(store.directory)
        print(f"  verified when opened: {len(frames) / (time.perf_counter() - begin):.0f} frames/s")
        measure_windows(store)


def main(_: Sequence[str]) -> None:
    print(f"matrix multiply, float32: {matmul_gflops():.0f} GFLOP/s")
    screens = play(_GAME.value, _STEPS.value)
    for shape in ((105, 80, 3), (52, 40, 1)):
        measure(screens, shape)


if __name__ == "__main__":
    app.run(main)
