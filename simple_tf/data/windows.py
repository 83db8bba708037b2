"""Training examples for world models: random windows of consecutive frames, as `tf.data`.

Batch number s depends on (seed, s) and the episodes alone, so a run that is resumed at batch s
sees what it would have seen. Frames stay on disk until their window is drawn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from simple_tf.data.reader import WindowReader
from simple_tf.data.split import Segment, Split, split_episodes
from simple_tf.data.store import EpisodeStore

# Keeps these draws apart from others that are made with the same seed.
_PURPOSE = 0x77696E646F77
_MAX_BATCHES = np.iinfo(np.int64).max


class WindowTable:
    """Numbers all valid windows from 0: within one segment each, so within one episode."""

    def __init__(self, segments: Sequence[Segment], window_length: int):
        """Numbers the windows of `window_length` frames in the order of the segments."""
        usable = [segment for segment in segments if segment.num_frames >= window_length]
        counts = np.array([s.num_frames - window_length + 1 for s in usable], np.int64)
        ends = np.cumsum(counts)
        self.num_windows = int(ends[-1]) if usable else 0
        self._episodes = tf.constant([segment.episode for segment in usable], tf.int64)
        self._ends = tf.constant(ends)
        # What to add to a window's number to have its first frame.
        self._shifts = tf.constant([s.begin for s in usable] - (ends - counts), tf.int64)

    def locate(self, numbers: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Episode and first frame of each window number, int64 [N] each."""
        rows = tf.searchsorted(self._ends, numbers, side="right")
        return tf.gather(self._episodes, rows), numbers + tf.gather(self._shifts, rows)


@dataclasses.dataclass(frozen=True)
class UniformSampler:
    """Draws window numbers with equal probability, with replacement."""

    num_windows: int
    batch_size: int
    seed: int

    def __call__(self, batch_number: tf.Tensor) -> tf.Tensor:
        """The window numbers of one batch, int64 [B]: a pure function of seed and number."""
        seed = tf.constant([self.seed, _PURPOSE], tf.int64)
        return tf.random.stateless_uniform(
            [self.batch_size],
            tf.random.experimental.stateless_fold_in(seed, batch_number, alg="philox"),
            minval=0,
            maxval=self.num_windows,
            dtype=tf.int64,
            alg="philox",  # The same numbers on every machine.
        )


class WindowDataset:
    """Windows of K input and n target frames from all (or chosen) iterations of a store.

    It sees the episodes that the store had when it was made; make another one when an iteration
    has been added.
    """

    def __init__(
        self,
        store: EpisodeStore,
        *,
        split: Split,
        num_input_frames: int,
        num_target_frames: int,
        batch_size: int,
        seed: int,
        iterations: Sequence[int] | None = None,
    ):
        """Finds all valid windows.

        Args:
            store: Where the episodes are.
            split: "train" or "dev".
            num_input_frames: K.
            num_target_frames: n.
            batch_size: B, windows per batch.
            seed: With the batch number, decides which windows are drawn.
            iterations: Which iterations to draw from; all by default.

        Raises:
            ValueError: There is no window of K + n frames.
        """
        if min(num_input_frames, num_target_frames, batch_size) < 1:
            raise ValueError("a window dataset needs at least 1 input, 1 target and 1 window")
        chosen = store.iterations if iterations is None else tuple(iterations)
        if not set(chosen) <= set(store.iterations):
            raise ValueError(
                f"{store.directory} has iterations {list(store.iterations)}, not all of "
                f"{list(chosen)}"
            )
        episodes = [episode for episode in store.episodes if episode.iteration in chosen]
        segments = split_episodes(episodes, split)
        length = num_input_frames + num_target_frames
        self._table = WindowTable(segments, length)
        if not self.num_windows:
            longest = max((segment.num_frames for segment in segments), default=0)
            raise ValueError(
                f"{store.directory} has no window of {num_input_frames} + {num_target_frames} "
                f"frames for {split}: the {len(segments)} segments of iterations {list(chosen)} "
                f"have at most {longest} frames, so play longer or ask for less"
            )
        self._reader = WindowReader(episodes, length)
        self._sampler = UniformSampler(self.num_windows, batch_size, seed)

    @property
    def num_windows(self) -> int:
        """How many different windows there are."""
        return self._table.num_windows

    def batches(self, first_batch: int = 0) -> tf.data.Dataset:
        """An endless dataset of random batches.

        Args:
            first_batch: The number of the batch to begin with (a resumed run: batches done).

        Returns:
            Dictionaries of `frames` uint8 [B, K+n, H, W, C], `actions` int32 [B, K+n-1] and
            `reward_classes` int32 [B, K+n-1]; entry t of the latter two leads to frame t+1.
        """

        def load(batch_number: tf.Tensor) -> dict[str, tf.Tensor]:
            return self._reader(*self._table.locate(self._sampler(batch_number)))

        numbers = tf.data.Dataset.range(first_batch, _MAX_BATCHES)
        return numbers.map(load, num_parallel_calls=2, deterministic=True).prefetch(2)

    def read(self, windows: Sequence[int] | np.ndarray) -> dict[str, tf.Tensor]:
        """The windows with the given numbers (0 to `num_windows` - 1), as one batch."""
        numbers = np.asarray(windows, np.int64)
        if not numbers.size or not 0 <= numbers.min() <= numbers.max() < self.num_windows:
            raise ValueError(f"ask for windows 0 to {self.num_windows - 1}, at least one")
        return self._reader(*self._table.locate(tf.constant(numbers)))
