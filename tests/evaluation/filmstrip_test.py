"""Filmstrips: what is drawn where, and the file."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.evaluation import panes
from simple_tf.evaluation.filmstrip import filmstrip, write_filmstrip


def test_difference_is_black_where_equal_and_never_faint():
    left = np.array([[[10], [10], [0]]], np.uint8)
    right = np.array([[[10], [11], [255]]], np.uint8)
    np.testing.assert_array_equal(panes.difference(left, right), [[[0], [80], [255]]])
    np.testing.assert_array_equal(panes.difference(left, right), panes.difference(right, left))


def test_panes_of_a_step(comparison):
    model, real, difference = panes.panes_at(comparison, 1, 2)
    assert model.shape == (2, 2, 3)  # Gray frames are shown in colour files.
    np.testing.assert_array_equal(model[0, 1], [1, 1, 1])
    assert not real.any()
    assert (difference > 0).sum() == 3  # One pixel, three channels.
    assert not panes.panes_at(comparison, 1, 0)[2].any()


def test_captions_sum_rewards_and_count_wrong_pixels(comparison):
    assert panes.captions_at(comparison, 0, 1) == [
        ("REWARD +1", panes.WRONG),
        ("REWARD 0", panes.TEXT),
        ("WRONG 0%", panes.RIGHT),
    ]
    assert panes.captions_at(comparison, 0, 3) == [
        ("REWARD 0", panes.RIGHT),
        ("REWARD 0", panes.TEXT),
        ("WRONG 25.0%", panes.WRONG),
    ]


def test_captions_get_shorter_where_there_is_no_room():
    assert panes.fitting("REWARD -1", 36, 1) == "REWARD -1"
    assert panes.fitting("REWARD -1", 34, 1) == "-1"
    assert panes.fitting("REWARD -1", 0, 1) == "-1"


def test_frames_are_drawn_in_columns(comparison):
    coloured = dataclasses.replace(comparison, real=comparison.real + 100)
    strip = filmstrip(coloured, rollout=0, steps=[0, 2, 3], scale=10)
    assert strip.dtype == np.uint8
    assert strip.shape[2] == 3
    # The changed pixel of step 2 and 3, upscaled, in the row of real frames.
    assert (strip == 109).all(axis=-1).sum() == 2 * 10 * 10
    wider = filmstrip(coloured, rollout=0, steps=[0, 1, 2, 3], scale=10)
    assert wider.shape[0] == strip.shape[0]
    assert wider.shape[1] > strip.shape[1]


def test_the_file_is_the_picture(comparison, tmp_path):
    path = write_filmstrip(tmp_path / "new" / "strip.png", comparison)
    read = tf.io.decode_png(path.read_bytes()).numpy()
    np.testing.assert_array_equal(read, filmstrip(comparison, steps=[0, 1, 2]))


def test_refuses_what_is_not_there(comparison):
    with pytest.raises(ValueError, match="no rollout 2; choose 0 to 1"):
        filmstrip(comparison, rollout=2)
    with pytest.raises(ValueError, match=r"Steps \[4\] are outside 0\.\.3"):
        filmstrip(comparison, steps=[1, 4])
