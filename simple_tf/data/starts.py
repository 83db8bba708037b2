"""Start states for simulated rollouts, drawn inside TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import gin
import numpy as np
import tensorflow as tf

from simple_tf.data import codec
from simple_tf.data.codec import StoredEpisode
from simple_tf.data.reward_ages import reward_ages
from simple_tf.data.rewards import Leads, find_leads, num_reserved
from simple_tf.data.split import Segment, split_episodes
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowTable
from simple_tf.replicas import own_rows, this_replica

# Iterations of equally many steps differ by one frame per episode, a few percent at most.
_SPARE_CAPACITY = 1.125
_BYTES_PER_WORD = 4
# Frames that stay together where not all can be loaded.
_PIECE = 128


class Starts(NamedTuple):
    """Where rollouts start.

    Attributes:
        frames: uint8 [B, K, H, W, C].
        actions: those taken between them, int32 [B, K-1].
        ages: how many steps ago the last reward was at the newest frame, int32 [B].
    """

    frames: tf.Tensor
    actions: tf.Tensor
    ages: tf.Tensor


@gin.configurable(denylist=["frame_shape", "num_input_frames"])
class StartSampler(tf.Module):
    """Draws stacks of K consecutive real frames, and the actions between them.

    `load` it once per iteration; `sample` is then pure TensorFlow, also inside a compiled
    function. The frames lie in a variable of unknown static shape, whose real size is a capacity
    with room to spare: loading another number of frames neither retraces (the size is not part of
    the trace) nor, unless the capacity is exceeded, recompiles (XLA compiles for the real size).

    What is loaded comes from the store, so there is no need to have it in checkpoints.
    """

    def __init__(
        self,
        frame_shape: tuple[int, ...],
        num_input_frames: int,
        random_starts: bool = True,
        iterations: Literal["latest", "all"] = "latest",
        rewarded_share: float = 0.0,
        lead: int = 50,
        balanced: bool = False,
        max_gigabytes: float = 2.0,
    ):
        """Makes an empty sampler.

        Args:
            frame_shape: [H, W, C].
            num_input_frames: K, frames per start.
            random_starts: False makes every start the beginning of the game.
            iterations: Whether to start from the latest iteration, as the original, or from all.
            rewarded_share: Share of the starts that lie shortly before a real step with a reward
                other than 0. 0: as the original.
            lead: Such a start lies 1 to this many steps before the reward.
            balanced: Whether these rewards are gains and losses about equally often, to within a
                factor of two; False: as they occur.
            max_gigabytes: Memory for frames, on every device. Of play that takes more, pieces at
                even distances are loaded. The largest iterations of the paper (64,000 steps) fit.
        """
        super().__init__(name="start_sampler")
        if iterations not in ("latest", "all"):
            raise ValueError(f'iterations must be "latest" or "all", not {iterations!r}')
        if lead < 1:
            raise ValueError(f"lead must be at least 1 step, not {lead!r}")
        num_reserved(rewarded_share, 1)  # Raises if it is not a share.
        frame_gigabytes = np.prod(frame_shape) * _SPARE_CAPACITY / 2**30
        self._max_frames = int(max_gigabytes / frame_gigabytes)
        if self._max_frames < _PIECE:
            raise ValueError(f"max_gigabytes={max_gigabytes} has no room for {_PIECE} frames")
        self._iterations = iterations
        self._rewarded_share = rewarded_share
        self._lead = lead
        self._balanced = balanced
        self._num_input_frames = num_input_frames
        self._random_starts = random_starts
        self._frame_shape = tuple(frame_shape)
        # Four bytes in one number, and not nothing: TensorFlow can send neither single bytes nor
        # empty variables between workers.
        self._words_per_frame = -(-int(np.prod(self._frame_shape)) // _BYTES_PER_WORD)
        self._frames = _resizable(np.zeros((1, self._words_per_frame), np.int32))
        self._actions = _resizable(np.zeros(1, np.int32))
        self._ages = _resizable(np.zeros(1, np.int32))
        self._positions = _resizable(np.zeros(1, np.int32))
        self._num_starts = tf.Variable(0, dtype=tf.int32, trainable=False)
        self._lead_positions = _resizable(np.zeros(1, np.int32))
        self._lead_rooms = _resizable(np.zeros(1, np.int32))
        self._num_leads = tf.Variable(0, dtype=tf.int32, trainable=False)
        self._is_loaded = False  # Known when `sample` is traced, unlike the variables' values.

    @property
    def iterations(self) -> str:
        """Whether starts are from the "latest" iteration or from "all"."""
        return self._iterations

    @property
    def num_starts(self) -> int:
        """How many different starts are loaded."""
        return int(self._num_starts.numpy())

    def load(self, store: EpisodeStore, iteration: int | None = None) -> None:
        """Replaces the starts by those of the train part of an iteration, or up to it.

        Args:
            store: Where the episodes are.
            iteration: Which iteration (with `iterations="all"`: the last of them); the store's
                latest by default. A resumed run must name it: the store may be ahead by then.

        Raises:
            ValueError: There are no K consecutive frames, or frames of another shape.
        """
        self._check_fits(store, iteration)
        latest = store.iterations[-1] if iteration is None else iteration
        first = 0 if self._iterations == "all" else latest
        episodes = [e for e in store.episodes if first <= e.iteration <= latest]
        segments = _thinned(split_episodes(episodes, "train"), self._max_frames)
        positions = _start_positions(segments, self._num_input_frames)
        if not len(positions):
            longest = max((segment.num_frames for segment in segments), default=0)
            raise ValueError(
                f"iteration {latest} of {store.directory} has at most {longest} "
                f"consecutive frames, but a start needs {self._num_input_frames}"
            )
        self._fill(episodes, segments, positions)
        self._fill_leads(
            find_leads(episodes, segments, self._num_input_frames, self._lead, self._balanced)
        )

    def sample(self, batch_size: int, seed: tf.Tensor) -> Starts:
        """Draws starts; the first is the game's beginning.

        The others are drawn uniformly over all valid positions, except for the share that lies
        before a reward: the last ones of the batch.

        Args:
            batch_size: B; of a batch that is split over replicas, this replica's part.
            seed: int [2], a stateless seed: the same seed gives the same starts.
        """
        if not self._is_loaded:
            raise ValueError("load a store's episodes before drawing starts from them")
        drawn = self._first_frames(batch_size * this_replica()[1], seed)
        first = own_rows(drawn)[:, tf.newaxis]  # [B, 1]
        words = tf.gather(self._frames, first + tf.range(self._num_input_frames))
        actions = tf.gather(self._actions, first + tf.range(self._num_input_frames - 1))
        ages = tf.gather(self._ages, first[:, 0] + self._num_input_frames - 1)
        return Starts(self._unpacked(words), actions, ages)

    def _unpacked(self, words: tf.Tensor) -> tf.Tensor:
        """Maps int32 [B, K, words] to frames, uint8 [B, K, H, W, C]."""
        batch_size, stack, _ = words.shape
        pixels = tf.reshape(tf.bitcast(words, tf.uint8), [batch_size, stack, -1])
        pixels = pixels[..., : np.prod(self._frame_shape)]
        return tf.reshape(pixels, [batch_size, stack, *self._frame_shape])

    def _first_frames(self, batch_size: int, seed: tf.Tensor) -> tf.Tensor:
        """Draws the positions of the starts' first frames, int32 [B]."""
        chosen = tf.zeros([batch_size], tf.int32)
        if self._random_starts:
            drawn = tf.random.stateless_uniform(
                [batch_size], seed, minval=0, maxval=self._num_starts, dtype=tf.int32
            )
            chosen = tf.where(tf.range(batch_size) == 0, 0, drawn)
        first = tf.gather(self._positions, chosen)
        reserved = num_reserved(self._rewarded_share, batch_size)
        if not self._random_starts or not reserved:
            return first
        before_reward = self._before_rewards(batch_size, seed)
        is_reserved = tf.range(batch_size) >= tf.maximum(batch_size - reserved, 1)
        return tf.where(is_reserved & (self._num_leads > 0), before_reward, first)

    def _before_rewards(self, batch_size: int, seed: tf.Tensor) -> tf.Tensor:
        """Draws a rewarded step and how far before it to start; int32 [B] of first frames."""
        shares = tf.random.stateless_uniform([2, batch_size], _other_seed(seed))
        chosen = _scaled(shares[0], self._num_leads)
        steps = _scaled(shares[1], tf.gather(self._lead_rooms, chosen))
        return tf.gather(self._lead_positions, chosen) - steps - (self._num_input_frames - 1)

    def _check_fits(self, store: EpisodeStore, iteration: int | None) -> None:
        if store.description.frame_shape != self._frame_shape:
            raise ValueError(
                f"the sampler was made for frames of shape {list(self._frame_shape)}, but "
                f"{store.directory} has {list(store.description.frame_shape)}"
            )
        if not store.iterations:
            raise ValueError(f"{store.directory} has no episode to start from")
        if iteration is not None and iteration not in store.iterations:
            raise ValueError(
                f"{store.directory} has iterations {list(store.iterations)}, not {iteration}"
            )

    def _fill(
        self, episodes: Sequence[StoredEpisode], segments: Sequence[Segment], positions: np.ndarray
    ) -> None:
        num_frames = sum(segment.num_frames for segment in segments)
        capacity = self._capacity_for(num_frames)
        # Frees what was loaded before: the largest iterations take gigabytes.
        self._frames.assign(tf.zeros([0, self._words_per_frame], tf.int32))
        self._frames.assign(self._packed(episodes, segments, capacity))
        # The last frame of a segment has no action after it; no start reaches its zero.
        actions = [np.append(episodes[n].actions[a : b - 1], 0) for n, a, b in segments]
        self._actions.assign(_padded(np.concatenate(actions), capacity))
        ages = [reward_ages(episodes[n].rewards)[a:b] for n, a, b in segments]
        self._ages.assign(_padded(np.concatenate(ages), capacity))
        self._positions.assign(_padded(positions, capacity))
        self._num_starts.assign(len(positions))
        self._is_loaded = True

    def _packed(
        self, episodes: Sequence[StoredEpisode], segments: Sequence[Segment], capacity: int
    ) -> tf.Tensor:
        """The segments' frames one after the other, int32 [capacity, words]."""
        # Piece by piece: TensorFlow copies an array twice to make a tensor of it.
        parts = [
            tf.constant(self._words(codec.read_frames(episodes[number], begin, end - begin)))
            for number, begin, end in segments
        ]
        num_frames = sum(segment.num_frames for segment in segments)
        spare = tf.zeros([capacity - num_frames, self._words_per_frame], tf.int32)
        return tf.concat([*parts, spare], axis=0)

    def _words(self, frames: np.ndarray) -> np.ndarray:
        """Frames, uint8 [N, H, W, C], as int32 [N, words]."""
        pixels = frames.reshape(len(frames), -1)
        missing = self._words_per_frame * _BYTES_PER_WORD - pixels.shape[1]
        return np.pad(pixels, ((0, 0), (0, missing))).view(np.int32)

    def _fill_leads(self, leads: Leads) -> None:
        # As many places as frames, or twice: the sizes change only when the frames' do.
        capacity = int(tf.shape(self._actions)[0]) * (2 if self._balanced else 1)
        self._lead_positions.assign(_padded(leads.positions, capacity))
        self._lead_rooms.assign(_padded(leads.rooms, capacity))
        self._num_leads.assign(len(leads.positions))

    def _capacity_for(self, num_frames: int) -> int:
        capacity = int(tf.shape(self._actions)[0])
        return capacity if num_frames <= capacity else int(num_frames * _SPARE_CAPACITY)


def _thinned(segments: Sequence[Segment], max_frames: int) -> list[Segment]:
    """The segments, or pieces of them at even distances that have at most so many frames."""
    if sum(segment.num_frames for segment in segments) <= max_frames:
        return list(segments)
    pieces = [
        Segment(number, first, min(first + _PIECE, end))
        for number, begin, end in segments
        for first in range(begin, end, _PIECE)
    ]
    count = max_frames // _PIECE
    chosen = np.arange(count) * len(pieces) // count  # With the first: the game's beginning.
    return [pieces[index] for index in chosen]


def _other_seed(seed: tf.Tensor) -> tf.Tensor:
    return tf.random.experimental.stateless_fold_in(tf.cast(seed, tf.int32), 1)


def _scaled(shares: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Maps numbers in [0, 1) to whole numbers from 0 to count - 1."""
    scaled = tf.cast(shares * tf.cast(count, tf.float32), tf.int32)
    return tf.minimum(scaled, tf.maximum(count - 1, 0))


def _resizable(value: np.ndarray) -> tf.Variable:
    """A variable whose first dimension may change."""
    return tf.Variable(value, shape=[None, *value.shape[1:]], trainable=False)


def _padded(values: np.ndarray, length: int) -> np.ndarray:
    return np.pad(values, (0, length - len(values))).astype(np.int32)


def _start_positions(segments: Sequence[Segment], num_frames: int) -> np.ndarray:
    """First frame of each valid start when the segments lie one after the other, int64 [N]."""
    ends = np.cumsum([segment.num_frames for segment in segments])
    laid_out = [
        Segment(0, int(end) - segment.num_frames, int(end))
        for segment, end in zip(segments, ends, strict=True)
    ]
    table = WindowTable(laid_out, num_frames)
    return table.locate(tf.range(table.num_windows, dtype=tf.int64))[1].numpy()
