"""Reads windows of frames from episode files inside TensorFlow, with no Python in the way.

A Python callback in a `tf.data` pipeline would take Python's lock away from the training loop, and
can hang the process at exit: its threads may be waiting for that lock when the interpreter goes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from simple_tf.data import codec
from simple_tf.data.codec import StoredEpisode
from simple_tf.data.reward_ages import reward_ages


class WindowReader:
    """Reads windows of L frames given by episode and first frame.

    Keeps about 20 bytes per frame in memory; the frames stay on disk.
    """

    def __init__(self, episodes: Sequence[StoredEpisode], window_length: int):
        """Lays out what is known about the episodes in tensors, with T+2 rows for each."""
        self._length = window_length
        self._frame_shape = episodes[0].frame_shape
        rows = np.cumsum([0, *(len(episode.frame_offsets) for episode in episodes)])
        self._first_rows = tf.constant(rows[:-1], tf.int64)
        self._paths = tf.constant([os.fspath(episode.path) for episode in episodes])
        self._sizes = tf.constant([episode.num_bytes for episode in episodes], tf.int64)
        self._offsets = tf.constant(np.concatenate([e.frame_offsets for e in episodes]))
        # The two rows too many belong to no step; no window reaches them.
        self._actions = tf.constant(np.concatenate([np.pad(e.actions, (0, 2)) for e in episodes]))
        rewards = np.concatenate([np.pad(e.rewards, (0, 2)) for e in episodes])
        self._reward_classes = tf.constant(rewards.astype(np.int32) + 1)
        ages = [np.pad(reward_ages(episode.rewards), (0, 1)) for episode in episodes]
        self._ages = tf.constant(np.concatenate(ages))

    def __call__(self, episodes: tf.Tensor, first_frames: tf.Tensor) -> dict[str, tf.Tensor]:
        """Reads one batch, with one disk access per window.

        Args:
            episodes: int64 [B] of known B, positions in the list of episodes.
            first_frames: int64 [B].

        Returns:
            `frames` uint8 [B, L, H, W, C], `actions` int32 [B, L-1] and `reward_classes` int32
            [B, L-1], whose entries t lead to frame t+1; and `ages` int32 [B], see `reward_ages`,
            of the first frames.
        """
        steps = tf.range(self._length + 1, dtype=tf.int64)
        rows = (tf.gather(self._first_rows, episodes) + first_frames)[:, tf.newaxis] + steps
        offsets = tf.gather(self._offsets, rows)  # [B, L+1]
        return {
            "frames": self._decode(self._read(episodes, offsets), offsets),
            "actions": tf.gather(self._actions, rows[:, : self._length - 1]),
            "reward_classes": tf.gather(self._reward_classes, rows[:, : self._length - 1]),
            "ages": tf.gather(self._ages, rows[:, 0]),
        }

    def _read(self, episodes: tf.Tensor, offsets: tf.Tensor) -> tf.Tensor:
        """The bytes of each window's records, string [B]."""
        begins, ends = offsets[:, 0], offsets[:, -1]
        after = tf.gather(self._sizes, episodes) - ends
        ranges = (tf.gather(self._paths, episodes), begins, ends - begins, after)
        data = tf.data.Dataset.from_tensor_slices(ranges).flat_map(_byte_range)
        return data.batch(tf.shape(episodes, tf.int64)[0]).get_single_element()

    def _decode(self, data: tf.Tensor, offsets: tf.Tensor) -> tf.Tensor:
        """Cuts out the compressed pixels of each frame and decodes them all at once."""
        begins = offsets[:, :-1] - offsets[:, :1] + codec.STREAM_OFFSET
        lengths = offsets[:, 1:] - offsets[:, :-1] - codec.STREAM_OVERHEAD
        streams = tf.strings.substr(data[:, tf.newaxis], begins, lengths)  # [B, L]
        frames = codec.decode_streams(tf.reshape(streams, [-1]), self._frame_shape)
        return tf.reshape(frames, [offsets.shape[0], self._length, *self._frame_shape])


def _byte_range(
    path: tf.Tensor, begin: tf.Tensor, length: tf.Tensor, after: tf.Tensor
) -> tf.data.Dataset:
    """A dataset of one string: a part of a file. It fails if the file's size has changed."""
    return tf.data.FixedLengthRecordDataset(
        path, length, header_bytes=begin, footer_bytes=after, buffer_size=1 << 14
    )
