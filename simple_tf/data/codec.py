"""Episode files: one TFRecord file per episode, written whole and verified whole.

Record 0 is a `tf.train.Example` with everything but the frames; records 1 to T+1 are the frames'
PNG bytes. A window of frames is therefore one contiguous range of bytes: one read.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from simple_tf.data import png
from simple_tf.data.description import FORMAT_VERSION, StoreDescription
from simple_tf.data.episode import Episode, EpisodeColumns
from simple_tf.data.errors import DamageError

# TFRecord puts the length (8 bytes) and its CRC (4) before the data, and the data's CRC (4) after.
_RECORD_PREFIX = 12
_RECORD_SUFFIX = 4

# Where a frame's compressed pixels begin in its record, and how many other bytes there are.
STREAM_OFFSET = _RECORD_PREFIX + png.STREAM_BEGIN
STREAM_OVERHEAD = _RECORD_PREFIX + png.NUM_OTHER_BYTES + _RECORD_SUFFIX

# Far more than the steps of the longest episode a game can have (about 27,000 steps in 30 minutes).
_MAX_RECORDS = 1 << 24

_INTEGERS = ("iteration", "index", "seed", "num_noops", "terminated", "truncated")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StoredEpisode(EpisodeColumns):
    """An episode on disk: all of it but the frames, and where those are.

    Attributes:
        path: Its file.
        frame_shape: [H, W, C].
        frame_offsets: int64 [T+2], where each frame's record begins and, last, the file ends.
    """

    path: Path
    frame_shape: png.FrameShape
    frame_offsets: np.ndarray

    @property
    def num_bytes(self) -> int:
        return int(self.frame_offsets[-1])


def write_episode(path: Path, episode: Episode, description: StoreDescription) -> StoredEpisode:
    """Writes an episode file and waits until the disk has it.

    Raises:
        OSError, tf.errors.OpError: The disk is full, for example; `path` may be left incomplete.
    """
    header = _encode_header(episode, description)
    with tf.io.TFRecordWriter(os.fspath(path)) as writer:
        writer.write(header)
        for data in episode.png_frames:
            writer.write(data)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    lengths = [len(header), *map(len, episode.png_frames)]
    return _stored(path, episode, episode.frame_shape, lengths)


def read_episodes(
    paths: Sequence[Path], description: StoreDescription | None
) -> Iterator[StoredEpisode | DamageError]:
    """Opens episode files and verifies every record of them.

    TensorFlow's own reader checks the CRC of each record; all else that can be contradictory
    inside a file, or with the store's description, is checked after that.

    Args:
        paths: The files.
        description: What the store is about, or None to accept what each file says about that.

    Yields:
        For each path, in order, the episode or what is wrong with the file.
    """
    iterator = iter(_records_dataset(paths)) if paths else iter(())
    for path in paths:
        try:
            yield _parse_episode(path, next(iterator).numpy(), description)
        except (tf.errors.OpError, OSError, ValueError, KeyError, TypeError) as error:
            yield DamageError(f"{path}: {_reason(error)}")


def read_description(path: Path) -> StoreDescription:
    """What an episode file says about the store it belongs to.

    Raises:
        DamageError: The file's first record is damaged.
    """
    try:
        header = next(iter(tf.data.TFRecordDataset(os.fspath(path)).take(1))).numpy()
        return _Header(header).description()
    except (tf.errors.OpError, StopIteration, ValueError, KeyError, TypeError) as error:
        raise DamageError(f"{path}: {_reason(error)}") from error


def read_frames(episode: StoredEpisode, first: int = 0, count: int | None = None) -> np.ndarray:
    """Reads and decodes frames [first, first + count): uint8 [count, H, W, C]; all by default.

    Raises:
        DamageError: The file has changed since it was verified.
    """
    count = episode.num_frames - first if count is None else count
    offsets = episode.frame_offsets[first : first + count + 1].tolist()
    try:
        with episode.path.open("rb") as file:
            file.seek(offsets[0])
            records = [file.read(end - begin) for begin, end in itertools.pairwise(offsets)]
        pngs = [record[_RECORD_PREFIX:-_RECORD_SUFFIX] for record in records]
        return np.stack([png.decode_frame(data, episode.frame_shape) for data in pngs])
    except (OSError, ValueError) as error:
        message = f"{episode.path}: frames {first} to {first + count - 1}: {error}"
        raise DamageError(message) from error


def decode_streams(streams: tf.Tensor, shape: png.FrameShape) -> tf.Tensor:
    """Decompresses pixel rows inside TensorFlow: several threads can, with no Python lock.

    Args:
        streams: string [N], the zlib streams of PNG files as `png.encode_frame` makes them.
        shape: [H, W, C] of the frames.

    Returns:
        uint8 [N, H, W, C].
    """
    height, width, channels = shape
    rows = tf.io.decode_raw(tf.io.decode_compressed(streams, "ZLIB"), tf.uint8)
    rows = tf.reshape(rows, [-1, height, png.row_bytes(shape)])[:, :, 1:]  # [N, H, W * C]
    return tf.reshape(rows, [-1, height, width, channels])


def _records_dataset(paths: Sequence[Path]) -> tf.data.Dataset:
    """For each path all records of the file, string [T+2]; a damaged one raises in its turn."""

    def read(path: tf.Tensor) -> tf.Tensor:
        records = tf.data.TFRecordDataset(path, buffer_size=1 << 20).batch(_MAX_RECORDS)
        return records.get_single_element()

    files = tf.data.Dataset.from_tensor_slices([os.fspath(path) for path in paths])
    return files.map(read, num_parallel_calls=2, deterministic=True).prefetch(2)


def _encode_header(episode: Episode, description: StoreDescription) -> bytes:
    integers: dict[str, Sequence[int] | np.ndarray]
    integers = {name: [int(getattr(episode, name))] for name in _INTEGERS}
    integers |= {
        "format_version": [FORMAT_VERSION],
        "num_steps": [episode.num_steps],
        "actions": episode.actions,
        "rewards": episode.rewards,
    }
    features = {
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=value))
        for name, value in integers.items()
    }
    floats = tf.train.FloatList(value=episode.raw_rewards)
    features["raw_rewards"] = tf.train.Feature(float_list=floats)
    text = json.dumps(description.to_json(), sort_keys=True).encode()
    features["description"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[text]))
    message = tf.train.Example(features=tf.train.Features(feature=features))
    return message.SerializeToString(deterministic=True)


class _Header:
    """Record 0, read field by field; a missing field is a KeyError."""

    def __init__(self, record: bytes):
        self._features = _parse_example(record)
        if self.integer("format_version") != FORMAT_VERSION:
            raise ValueError(f"it has format version {self.integer('format_version')}")

    def integers(self, name: str) -> np.ndarray:
        return np.array(self._features[name].int64_list.value, np.int64)

    def integer(self, name: str) -> int:
        (value,) = self._features[name].int64_list.value
        return int(value)

    def floats(self, name: str) -> np.ndarray:
        return np.array(self._features[name].float_list.value, np.float32)

    def description(self) -> StoreDescription:
        (text,) = self._features["description"].bytes_list.value
        return StoreDescription.from_json(json.loads(text))


def _parse_example(record: bytes) -> dict[str, Any]:
    try:
        return dict(tf.train.Example.FromString(record).features.feature)
    except Exception as error:  # The class of protobuf's DecodeError depends on its back end.
        raise ValueError("its first record is not a tf.train.Example") from error


def _parse_episode(
    path: Path, records: np.ndarray, description: StoreDescription | None
) -> StoredEpisode:
    header = _Header(records[0])
    if description is not None:
        differences = description.differences(header.description())
        if differences:
            raise ValueError(f"it belongs to another store ({'; '.join(differences)})")
    description = header.description()
    frames = records[1:]
    check_frames(frames, header.integer("num_steps"), description.frame_shape)
    columns = EpisodeColumns(
        **{name: header.integer(name) for name in _INTEGERS[:4]},
        terminated=bool(header.integer("terminated")),
        truncated=bool(header.integer("truncated")),
        actions=header.integers("actions"),
        raw_rewards=header.floats("raw_rewards"),
        rewards=header.integers("rewards"),
    )
    _check_header(columns, header.integer("num_steps"), description)
    return _stored(path, columns, description.frame_shape, [len(record) for record in records])


def check_frames(
    frames: Sequence[bytes] | np.ndarray, num_steps: int, shape: png.FrameShape
) -> None:
    """Raises ValueError unless these are T+1 PNG files of this shape."""
    if len(frames) != num_steps + 1:
        raise ValueError(f"it has {len(frames)} frames instead of {num_steps + 1}")
    for number, frame in enumerate(frames):
        try:
            png.zlib_stream(frame, shape)
        except ValueError as error:
            raise ValueError(f"frame {number}: {error}") from error


def _check_header(columns: EpisodeColumns, num_steps: int, description: StoreDescription) -> None:
    if columns.num_steps != num_steps:
        raise ValueError(f"it has {columns.num_steps} actions for {num_steps} steps")
    check_actions(columns, description)


def check_actions(episode: EpisodeColumns, description: StoreDescription) -> None:
    """Raises ValueError if the episode holds an action that the store's game does not have."""
    if episode.actions.max() >= description.num_actions:
        raise ValueError(
            f"action {episode.actions.max()} is out of range: "
            f"{description.game} has {description.num_actions} actions"
        )


def _stored(
    path: Path, columns: EpisodeColumns, shape: png.FrameShape, lengths: Sequence[int]
) -> StoredEpisode:
    sizes = np.array(lengths, np.int64) + _RECORD_PREFIX + _RECORD_SUFFIX
    offsets = np.cumsum(sizes)
    if offsets[-1] != path.stat().st_size:
        raise ValueError(f"it has {path.stat().st_size} bytes instead of {offsets[-1]}")
    values = {f.name: getattr(columns, f.name) for f in dataclasses.fields(EpisodeColumns)}
    return StoredEpisode(**values, path=path, frame_shape=shape, frame_offsets=offsets)


def _reason(error: Exception) -> str:
    if isinstance(error, tf.errors.OpError):
        reason = error.message.splitlines()[0].rpartition("}} ")[2]  # Without the graph's names.
        return f"damaged or truncated ({reason})"
    if isinstance(error, StopIteration):
        return "the file is empty"
    if isinstance(error, KeyError):
        return f"its first record lacks the field {error}"
    return str(error)
