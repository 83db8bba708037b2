"""Frames survive to the bit, in files that other readers understand."""

import ale_py
import numpy as np
import pytest
import tensorflow as tf
from ale_py import roms

from simple_tf.data import png

SHAPES = [(105, 80, 3), (52, 40, 1), (1, 1, 3), (7, 5, 1)]


def _real_frame() -> np.ndarray:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.loadROM(roms.get_rom_path("kung_fu_master"))
    for _ in range(50):
        ale.act(ale_py.Action.NOOP)
    return ale.getScreenRGB()[::2, ::2]


@pytest.mark.parametrize("shape", SHAPES)
def test_round_trip_with_our_decoder_and_with_tensorflow(shape):
    frame = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    data = png.encode_frame(frame)
    np.testing.assert_array_equal(png.decode_frame(data, shape), frame)
    np.testing.assert_array_equal(tf.io.decode_png(data).numpy(), frame)


def test_a_real_frame_becomes_small():
    frame = _real_frame()
    data = png.encode_frame(frame)
    np.testing.assert_array_equal(tf.io.decode_png(data).numpy(), frame)
    assert len(data) < 1500 < frame.size / 16


def test_a_view_that_is_not_contiguous_is_encoded_as_seen():
    frame = np.arange(12 * 10 * 3, dtype=np.uint8).reshape(12, 10, 3)[::-1, ::2]
    np.testing.assert_array_equal(png.decode_frame(png.encode_frame(frame), (12, 5, 3)), frame)


def test_every_flipped_byte_is_noticed():
    frame = np.random.default_rng(1).integers(0, 256, (6, 4, 3), dtype=np.uint8)
    data = png.encode_frame(frame)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        with pytest.raises(ValueError, match="it"):
            png.decode_frame(bytes(damaged), (6, 4, 3))


@pytest.mark.parametrize("length", [0, 10, 40, 60, -1])
def test_truncated_data_is_noticed(length):
    data = png.encode_frame(np.zeros((6, 4, 3), np.uint8))
    with pytest.raises(ValueError, match="it"):
        png.decode_frame(data[:length], (6, 4, 3))


def test_another_shape_is_refused():
    data = png.encode_frame(np.zeros((6, 4, 3), np.uint8))
    with pytest.raises(ValueError, match="not a PNG image of 4x6x3"):
        png.decode_frame(data, (4, 6, 3))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (np.zeros((6, 4, 3), np.float32), "uint8 values, not float32"),
        (np.zeros((6, 4), np.uint8), r"not \[6, 4\]"),
        (np.zeros((6, 4, 2), np.uint8), r"not \[6, 4, 2\]"),
        (np.zeros((0, 4, 3), np.uint8), r"not \[0, 4, 3\]"),
    ],
)
def test_what_is_no_frame_is_refused(frame, message):
    with pytest.raises(ValueError, match=message):
        png.encode_frame(frame)
