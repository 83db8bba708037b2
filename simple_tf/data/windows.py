"""Training examples for world models: random windows of consecutive frames, as `tf.data`.

Batch number s depends on (seed, s) and the episodes alone, so a run that is resumed at batch s
sees what it would have seen. Frames stay on disk until their window is drawn. A share of every
batch can be reserved for windows in which something is earned or lost, see `rewards.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from simple_tf.data.codec import StoredEpisode
from simple_tf.data.reader import WindowReader
from simple_tf.data.rewards import num_reserved, num_reserved_each, rewarded_windows
from simple_tf.data.split import Segment, Split, split_episodes
from simple_tf.data.store import EpisodeStore
from simple_tf.data.untuned import untuned

# Keeps these draws apart from others that are made with the same seed.
_PURPOSE = 0x77696E646F77
_REWARDED_PURPOSE = 0x726577617264
_SURPRISING_PURPOSE = 0x737572707269
_MAX_BATCHES = np.iinfo(np.int64).max

Surprises = Callable[[Sequence[StoredEpisode]], Sequence[np.ndarray]]
"""Says of every frame of each episode how surprising it is, [frames] of 0 and more."""
Sampler = Callable[[tf.Tensor], tf.Tensor]
"""From a batch's number to the numbers of its windows, int64 [B]."""


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
        seed = _batch_seed(self.seed, _PURPOSE, batch_number)
        return _uniform([self.batch_size], seed, self.num_windows)


class RewardedSampler:
    """Takes a share of every batch from windows with a reward, the rest from all windows.

    Of these windows all are equally likely. Gains and losses in equal parts would show a model of
    Pong, where random play wins one point in thirty, so many wins that it sees them everywhere,
    and a policy finds them.
    """

    def __init__(self, everything: UniformSampler, numbers: np.ndarray, share: float):
        """Prepares the draws.

        Args:
            everything: draws from all windows.
            numbers: the windows with a reward, int64 [N].
            share: the share of every batch, above 0.
        """
        self._everything = everything
        self._count = num_reserved(share, everything.batch_size)
        self._numbers = tf.constant(numbers)

    def __call__(self, batch_number: tf.Tensor) -> tf.Tensor:
        """The window numbers of one batch, int64 [B]: those of the share come first."""
        seed = _batch_seed(self._everything.seed, _REWARDED_PURPOSE, batch_number)
        places = _uniform([self._count], seed, self._numbers.shape[0])
        rewarded = tf.gather(self._numbers, places)
        return tf.concat([rewarded, self._everything(batch_number)[self._count :]], axis=0)


class SurprisingSampler:
    """Replaces the last windows of every batch by such in which something surprising happens."""

    def __init__(self, others: Sampler, weights: np.ndarray, count: int, seed: int):
        """Prepares the draws.

        Args:
            others: draws whole batches.
            weights: of all windows, [N]: how likely each is by comparison; not all 0.
            count: how many windows of a batch are replaced.
            seed: with the batch's number, decides the draws.
        """
        self._others = others
        ends = np.cumsum(weights, dtype=np.float64)
        self._ends = tf.constant(ends / ends[-1])
        self._count = count
        self._seed = seed

    def __call__(self, batch_number: tf.Tensor) -> tf.Tensor:
        """The window numbers of one batch, int64 [B]: the surprising ones come last."""
        seed = _batch_seed(self._seed, _SURPRISING_PURPOSE, batch_number)
        shares = tf.random.stateless_uniform([self._count], seed, dtype=tf.float64, alg="philox")
        numbers = tf.searchsorted(self._ends, shares, side="right", out_type=tf.int64)
        return tf.concat([self._others(batch_number)[: -self._count], numbers], axis=0)


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
        rewarded_share: float = 0.0,
        surprising_share: float = 0.0,
        surprises: Surprises | None = None,
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
            rewarded_share: Share of every batch with a reward other than 0 among its targets, at
                least one window if above 0. Without such a window in the store, all are drawn
                from everything. 0: as the original.
            surprising_share: Share of every batch that is drawn in proportion to how surprising
                its target frames are, at least one window if above 0. 0: as the original.
            surprises: Says how surprising frames are; needed if there is such a share.

        Raises:
            ValueError: There is no window of K + n frames, or the shares are none, or more than 1.
        """
        if min(num_input_frames, num_target_frames, batch_size) < 1:
            raise ValueError("a window dataset needs at least 1 input, 1 target and 1 window")
        _, count = num_reserved_each(rewarded_share, surprising_share, batch_size)
        if count and surprises is None:
            raise ValueError(
                "surprising_share needs surprises, which say how surprising frames are"
            )
        self._batch_size = batch_size
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
        everything = UniformSampler(self.num_windows, batch_size, seed)
        rewarded = rewarded_windows(episodes, segments, num_input_frames, num_target_frames)
        self._sampler: Sampler = everything
        if rewarded_share and len(rewarded):
            self._sampler = RewardedSampler(everything, rewarded, rewarded_share)
        if count:
            assert surprises is not None  # Checked above.
            weights = self._target_sums(surprises(episodes), num_input_frames, num_target_frames)
            if weights.any():
                self._sampler = SurprisingSampler(self._sampler, weights, count, seed)

    @property
    def num_windows(self) -> int:
        """How many different windows there are."""
        return self._table.num_windows

    def batches(self, first_batch: int = 0, part: tuple[int, int] = (0, 1)) -> tf.data.Dataset:
        """An endless dataset of random batches.

        Args:
            first_batch: The number of the batch to begin with (a resumed run: batches done).
            part: (i, n) reads only the i-th of n equal parts of every batch: several processes
                that train together read a batch once between them.

        Returns:
            Dictionaries of `frames` uint8 [B, K+n, H, W, C], `actions` int32 [B, K+n-1],
            `reward_classes` int32 [B, K+n-1] and `ages` int32 [B], see `WindowReader`.
        """
        index, count = part
        if self._batch_size % count:
            raise ValueError(f"a batch of {self._batch_size} has no {count} equal parts")
        size = self._batch_size // count

        def load(batch_number: tf.Tensor) -> dict[str, tf.Tensor]:
            windows = self._sampler(batch_number)[index * size : (index + 1) * size]
            return self._reader(*self._table.locate(windows))

        numbers = tf.data.Dataset.range(first_batch, _MAX_BATCHES)
        batches = numbers.map(load, num_parallel_calls=2, deterministic=True).prefetch(2)
        return untuned(batches)

    def read(self, windows: Sequence[int] | np.ndarray) -> dict[str, tf.Tensor]:
        """The windows with the given numbers (0 to `num_windows` - 1), as one batch."""
        numbers = np.asarray(windows, np.int64)
        if not numbers.size or not 0 <= numbers.min() <= numbers.max() < self.num_windows:
            raise ValueError(f"ask for windows 0 to {self.num_windows - 1}, at least one")
        return self._reader(*self._table.locate(tf.constant(numbers)))

    def _target_sums(
        self, values: Sequence[np.ndarray], num_input_frames: int, num_target_frames: int
    ) -> np.ndarray:
        """Adds up the values of each window's targets, [N]; values are of all episodes' frames."""
        numbers = tf.range(self.num_windows, dtype=tf.int64)
        places, first = (column.numpy() for column in self._table.locate(numbers))
        starts = np.cumsum([0, *map(len, values)])[places] + first + num_input_frames
        sums = np.concatenate([[0.0], np.cumsum(np.concatenate(values), dtype=np.float64)])
        return np.maximum(sums[starts + num_target_frames] - sums[starts], 0.0)


def _batch_seed(seed: int, purpose: int, batch_number: tf.Tensor) -> tf.Tensor:
    root = tf.constant([seed, purpose], tf.int64)
    return tf.random.experimental.stateless_fold_in(root, batch_number, alg="philox")


def _uniform(shape: Sequence[int], seed: tf.Tensor, end: int) -> tf.Tensor:
    """Draws int64 from 0 to end - 1, the same numbers on every machine."""
    return tf.random.stateless_uniform(
        shape, seed, minval=0, maxval=end, dtype=tf.int64, alg="philox"
    )
