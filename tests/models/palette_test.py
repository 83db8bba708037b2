"""The palette: exact, append-only, and honest about what it cannot represent."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.palette import Palette


def frames_of(*colours):
    return np.array(colours, np.uint8).reshape(1, 1, len(colours), 3)


@pytest.mark.parametrize("jit", [False, True])
def test_encoding_is_exact_on_what_the_palette_holds(pong_curve, jit):
    frames = pong_curve["frames"][::100]
    palette = Palette(64)
    update = palette.update(frames)
    assert update.rejected == 0
    assert update.added == len(np.unique(frames.reshape(-1, 3), axis=0)) == int(palette.size)
    round_trip = tf.function(lambda x: palette.decode(palette.encode(x)), jit_compile=jit)
    np.testing.assert_array_equal(round_trip(tf.constant(frames)), frames)
    assert bool(tf.reduce_all(palette.represents(frames)))


def test_new_colours_are_appended_and_old_indices_keep_their_meaning():
    palette = Palette(4)
    palette.update(frames_of((9, 9, 9), (9, 9, 9), (200, 0, 0)))
    before = palette.encode(frames_of((9, 9, 9), (200, 0, 0))).numpy()
    update = palette.update(frames_of((1, 2, 3), (9, 9, 9)))
    assert (update.added, update.rejected) == (1, 0)
    np.testing.assert_array_equal(palette.encode(frames_of((9, 9, 9), (200, 0, 0))), before)
    np.testing.assert_array_equal(palette.decode([2]), [[1, 2, 3]])


def test_what_is_rare_but_unlike_the_rest_comes_before_shades_of_what_is_common():
    greys = np.repeat(np.array([100, 101, 102, 103, 250], np.uint8), [50, 40, 30, 20, 2])
    palette = Palette(2, channels=1)
    update = palette.update(greys.reshape(1, 1, -1, 1))
    assert (update.added, update.rejected, update.rejected_pixels) == (2, 3, 90)
    np.testing.assert_array_equal(palette.decode([0, 1])[:, 0], [100, 250])
    # A later update goes by the distance to what is there already.
    palette = Palette(2, channels=1)
    palette.update(np.full((1, 1, 5, 1), 100, np.uint8))
    palette.update(greys.reshape(1, 1, -1, 1))
    np.testing.assert_array_equal(palette.decode([0, 1])[:, 0], [100, 250])


def test_a_full_palette_takes_the_commonest_counts_the_rest_and_maps_it_to_the_nearest():
    palette = Palette(2)
    frames = frames_of((0, 0, 0), (0, 0, 0), (255, 255, 255), (255, 255, 255), (250, 250, 240))
    update = palette.update(frames)
    assert (update.added, update.rejected, update.rejected_pixels, update.pixels) == (2, 1, 1, 5)
    decoded = palette.decode(palette.encode(frames)).numpy()
    np.testing.assert_array_equal(decoded[0, 0, 4], [255, 255, 255])
    np.testing.assert_array_equal(decoded[0, 0, :4], frames[0, 0, :4])
    np.testing.assert_array_equal(palette.represents(frames)[0, 0], [1, 1, 1, 1, 0])


def test_grey_frames():
    palette = Palette(8, channels=1)
    frames = np.array([3, 200, 3], np.uint8).reshape(1, 1, 3, 1)
    palette.update(frames)
    np.testing.assert_array_equal(palette.decode(palette.encode(frames)), frames)


def test_other_channel_counts_are_refused():
    with pytest.raises(ValueError, match="1 or 3 channels"):
        Palette(8, channels=2)


def test_a_palette_survives_a_checkpoint(tmp_path):
    palette = Palette(4)
    palette.update(frames_of((5, 6, 7), (8, 9, 10)))
    path = tf.train.Checkpoint(palette=palette).write(str(tmp_path / "palette"))
    other = Palette(4)
    tf.train.Checkpoint(palette=other).read(path).assert_consumed()
    frames = frames_of((8, 9, 10), (5, 6, 7))
    np.testing.assert_array_equal(other.decode(other.encode(frames)), frames)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
def test_snapping_takes_the_nearest_colour(channels, jit):
    palette = Palette(4, channels)
    palette.update(np.repeat(np.array([10, 90, 200], np.uint8), channels).reshape(1, 1, 3, -1))
    frames = np.repeat(np.array([0, 10, 49, 51, 140, 255], np.uint8), channels)
    snapped = tf.function(palette.snap, jit_compile=jit)(frames.reshape(2, 3, channels))
    nearest = np.repeat([10, 10, 10, 90, 90, 200], channels).reshape(2, 3, channels)
    np.testing.assert_array_equal(snapped, nearest)
