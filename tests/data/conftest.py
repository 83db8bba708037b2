"""Small stores with frames that say where they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import Episode, EpisodeRecorder
from simple_tf.data.store import EpisodeStore

FRAME_SHAPE = (12, 10, 3)


@pytest.fixture
def description() -> StoreDescription:
    return StoreDescription("pong", FRAME_SHAPE, ("NOOP", "UP", "DOWN"), {"frame_skip": 4})


@pytest.fixture
def make_frames() -> Callable[..., np.ndarray]:
    """Noise, with (iteration, index, number of the frame) in the first pixel."""

    def make(iteration: int, index: int, num_steps: int, shape: Sequence[int]) -> np.ndarray:
        generator = np.random.default_rng([iteration, index])
        frames = generator.integers(0, 256, (num_steps + 1, *shape), dtype=np.uint8)
        if shape[2] == 3:
            frames[:, 0, 0] = [(iteration, index, number) for number in range(num_steps + 1)]
        return frames

    return make


@pytest.fixture
def make_episode(make_frames: Callable[..., np.ndarray]) -> Callable[..., Episode]:
    """Builds an episode through the recorder, with random actions and rewards."""

    def make(
        iteration: int = 0, index: int = 0, num_steps: int = 6, shape: Sequence[int] = FRAME_SHAPE
    ) -> Episode:
        frames = make_frames(iteration, index, num_steps, shape)
        generator = np.random.default_rng([7, iteration, index])
        recorder = EpisodeRecorder(iteration, index, seed=index - 3, first_frame=frames[0])
        for frame in frames[1:]:
            raw_reward = float(generator.normal())
            action = int(generator.integers(3))
            recorder.add(action, raw_reward, int(np.sign(round(raw_reward))), frame)
        return recorder.finish(terminated=index % 2 == 0, truncated=index % 2 == 1)

    return make


@pytest.fixture
def make_store(
    tmp_path: Path, description: StoreDescription, make_episode: Callable[..., Episode]
) -> Callable[..., EpisodeStore]:
    """Builds a store from the number of steps of each episode of each iteration."""

    def make(iterations: Sequence[Sequence[int]], name: str = "store") -> EpisodeStore:
        store = EpisodeStore.create_or_open(tmp_path / name, description)
        for iteration, lengths in enumerate(iterations):
            for index, num_steps in enumerate(lengths):
                store.append(make_episode(iteration, index, num_steps))
        return store

    return make


@pytest.fixture
def make_sparse_store(
    tmp_path: Path, description: StoreDescription, make_frames: Callable[..., np.ndarray]
) -> Callable[..., EpisodeStore]:
    """Builds a store of one iteration with rewards at given (episode, step), and no others."""

    def make(
        losses: Sequence[tuple[int, int]] = tuple((1, step) for step in range(3, 55, 6)),
        gains: Sequence[tuple[int, int]] = ((0, 20),),
        lengths: Sequence[int] = (60, 70, 20),
    ) -> EpisodeStore:
        store = EpisodeStore.create_or_open(tmp_path / "sparse", description)
        for index, num_steps in enumerate(lengths):
            frames = make_frames(0, index, num_steps, FRAME_SHAPE)
            recorder = EpisodeRecorder(0, index, seed=index, first_frame=frames[0])
            for step in range(num_steps):
                reward = ((index, step) in gains) - ((index, step) in losses)
                recorder.add(step % 3, float(reward), reward, frames[step + 1])
            store.append(recorder.finish(terminated=True, truncated=False))
        return store

    return make
