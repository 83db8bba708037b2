"""Lossless frames: PNG with no row filter, written and read with zlib alone.

Atari frames are flat areas of few colours, where PNG's row filters only hide repetitions from the
compressor. Without them files are about as small as those of a general encoder and several times
cheaper to write, and any PNG reader understands them (numbers in docs/episode_store.md). No
TensorFlow here, so that an episode can be recorded in a process that does not pay for its import.
"""

from __future__ import annotations

import functools
import struct
import zlib

import numpy as np

FrameShape = tuple[int, ...]  # [H, W, C]; `check_frame_shape` says which are possible.

_COLOUR_TYPES = {1: 0, 3: 2}  # Channels to PNG's code: grayscale, RGB.
# The fastest level that looks for long matches; level 6 takes two to four times as long, while a
# game is being played, to save a quarter of the bytes.
_COMPRESSION_LEVEL = 3

# Where things are in our files: signature and IHDR (33), IDAT's length and name (8), the zlib
# stream, IDAT's CRC (4), IEND (12).
_HEADER_BYTES = 33
STREAM_BEGIN = 41
NUM_OTHER_BYTES = STREAM_BEGIN + 16
_STREAM_END = -16
_CRC_END = -12
_IEND = b"\x00\x00\x00\x00IEND\xaeB`\x82"


def check_frame_shape(shape: FrameShape) -> None:
    """Raises ValueError unless `shape` is [height, width, 1 or 3 channels]."""
    if len(shape) != 3 or shape[2] not in _COLOUR_TYPES or min(shape) < 1:
        raise ValueError(f"a frame must have the shape [height, width, 1 or 3], not {list(shape)}")


def encode_frame(frame: np.ndarray) -> bytes:
    """Encodes one frame, uint8 [H, W, C], as a PNG file."""
    if frame.dtype != np.uint8:
        raise ValueError(f"a frame must hold uint8 values, not {frame.dtype}")
    check_frame_shape(frame.shape)
    height, width, channels = frame.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # Each row: filter type 0, pixels.
    rows[:, 1:] = frame.reshape(height, -1)
    data = _chunk(b"IDAT", zlib.compress(rows.tobytes(), _COMPRESSION_LEVEL))
    return png_header(frame.shape) + data + _IEND


def decode_frame(png: bytes, shape: FrameShape) -> np.ndarray:
    """Decodes what `encode_frame` wrote: uint8 [H, W, C]. Raises ValueError if it is damaged."""
    height, width, channels = shape
    size = height * row_bytes(shape)
    try:
        data = zlib.decompress(zlib_stream(png, shape), bufsize=size)
    except zlib.error as error:
        raise ValueError(f"its pixels do not decompress ({error})") from error
    if len(data) != size:
        raise ValueError(f"it holds {len(data)} bytes of pixel rows instead of {size}")
    rows = np.frombuffer(data, np.uint8).reshape(height, -1)
    return rows[:, 1:].reshape(height, width, channels)


def row_bytes(shape: FrameShape) -> int:
    """Bytes of one pixel row inside the compressed stream: filter type, then the pixels."""
    return 1 + shape[1] * shape[2]


def zlib_stream(png: bytes, shape: FrameShape) -> bytes:
    """The compressed pixel rows inside a file of `encode_frame`, checked by PNG's own CRC.

    Args:
        png: The whole file.
        shape: [H, W, C] that the frame must have.

    Raises:
        ValueError: This is not such a file, not of this shape, or damaged.
    """
    if not png.startswith(png_header(shape)):
        raise ValueError(f"it is not a PNG image of {shape[0]}x{shape[1]}x{shape[2]}")
    length = int.from_bytes(png[_HEADER_BYTES : _HEADER_BYTES + 4], "big")
    if length != len(png) - STREAM_BEGIN + _STREAM_END or not png.endswith(_IEND):
        raise ValueError("its PNG chunks do not fit its length")
    crc = int.from_bytes(png[_STREAM_END:_CRC_END], "big")
    if zlib.crc32(png[_HEADER_BYTES + 4 : _STREAM_END]) != crc:
        raise ValueError("its pixels do not match PNG's checksum")
    return png[STREAM_BEGIN:_STREAM_END]


@functools.lru_cache(maxsize=8)
def png_header(shape: FrameShape) -> bytes:
    """PNG signature and IHDR chunk for 8-bit frames of `shape`."""
    height, width, channels = shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header)


def _chunk(name: bytes, data: bytes) -> bytes:
    length, crc = len(data), zlib.crc32(name + data)
    return length.to_bytes(4, "big") + name + data + crc.to_bytes(4, "big")
