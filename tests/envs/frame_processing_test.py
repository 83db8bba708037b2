import numpy as np
import pytest
import tensorflow as tf

from simple_tf.envs.frame_processing import FrameProcessor


def _process(image, factor, grayscale=False, **options):
    processor = FrameProcessor(image.shape, factor, grayscale, **options)
    np.copyto(processor.image, image)
    out = np.full(processor.frame_shape, 77, np.uint8)
    processor.write_frame(out)
    return out


def _noise(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def _exact_area_mean(image, factor):
    """Repeats every pixel until blocks tile the image, then adds up: slow, plainly right."""
    sums = image.astype(np.int64)
    for axis in (0, 1):
        size = image.shape[axis]
        blocks = np.repeat(sums, size // factor, axis)
        split = (*blocks.shape[:axis], size // factor, size, *blocks.shape[axis + 1 :])
        sums = blocks.reshape(split).sum(axis + 1)
    return sums // (image.shape[0] * image.shape[1])


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("shape", [(210, 160, 3), (210, 160, 1), (51, 38, 3), (12, 40, 3)])
def test_is_the_area_mean_rounded_down(shape, factor):
    image = _noise(shape)
    np.testing.assert_array_equal(_process(image, factor), _exact_area_mean(image, factor))


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("shape", [(210, 160, 3), (51, 38, 1)])
def test_whole_blocks_leave_out_what_does_not_fill_one(shape, factor):
    image = _noise(shape)
    height, width = (side // factor * factor for side in shape[:2])
    np.testing.assert_array_equal(
        _process(image, factor, whole_blocks=True),
        _exact_area_mean(image[:height, :width], factor),
    )


def test_in_whole_blocks_what_moves_by_a_block_keeps_its_colours():
    image = np.zeros((210, 160, 3), np.uint8)
    image[101:105, 50:52] = 200
    moved = np.roll(image, (8, 4), (0, 1))
    before, after = (_process(each, 4, whole_blocks=True) for each in (image, moved))
    np.testing.assert_array_equal(np.roll(before, (2, 1), (0, 1)), after)
    before, after = (_process(each, 4) for each in (image, moved))
    assert (np.roll(before, (2, 1), (0, 1)) != after).any()


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("colour", [0, 1, 2, 3, 127, 254, 255])
def test_a_flat_image_keeps_its_colour(factor, colour):
    # An inexact mean would fall just short of the integer and be truncated to colour - 1.
    image = np.full((210, 160, 3), colour, np.uint8)
    np.testing.assert_array_equal(np.unique(_process(image, factor)), [colour])


def test_factor_2_equals_tensorflow_s_area_resize_truncated():
    image = _noise((210, 160, 3))
    resized = tf.image.resize(image[None], (105, 80), tf.image.ResizeMethod.AREA)
    np.testing.assert_array_equal(_process(image, 2), tf.cast(resized, tf.uint8)[0])


def test_grayscale_equals_tensorflow_s():
    image = _noise((64, 64, 3))
    expected = tf.image.rgb_to_grayscale(image).numpy()
    np.testing.assert_array_equal(_process(image, 1, grayscale=True), expected)


def test_grayscale_comes_after_the_resize():
    image = _noise((210, 160, 3))
    small = _process(image, 2)
    np.testing.assert_array_equal(
        _process(image, 2, grayscale=True), _process(small, 1, grayscale=True)
    )


def test_grayscale_of_one_channel_changes_nothing():
    image = _noise((20, 20, 1))
    np.testing.assert_array_equal(_process(image, 1, grayscale=True), image)


def test_a_second_image_does_not_see_the_first():
    processor = FrameProcessor((210, 160, 3), 4, False)
    out = np.empty(processor.frame_shape, np.uint8)
    for seed in (1, 2):
        image = _noise((210, 160, 3), seed)
        np.copyto(processor.image, image)
        processor.write_frame(out)
    np.testing.assert_array_equal(out, _process(image, 4))


@pytest.mark.parametrize("factor", [0, 30])
def test_a_factor_that_does_not_fit_is_refused(factor):
    with pytest.raises(ValueError, match="does not fit 20x40"):
        FrameProcessor((20, 40, 3), factor, False)


@pytest.mark.parametrize("size", [(84, 84), (42, 100)])
@pytest.mark.parametrize("grayscale", [False, True])
def test_any_size_is_the_area_mean_of_the_image_or_of_its_greys(size, grayscale):
    image = _noise((210, 160, 3))
    processor = FrameProcessor(image.shape, 2, grayscale, size)
    np.copyto(processor.image, image)
    out = np.full(processor.frame_shape, 77, np.uint8)
    processor.write_frame(out)
    before = _process(image, 1, grayscale=True) if grayscale else image
    rows, columns = (
        np.repeat(np.eye(source, dtype=np.int64), target, 0).reshape(target, source, -1).sum(1)
        for source, target in zip(image.shape, size, strict=False)
    )
    sums = np.tensordot(columns, np.tensordot(rows, before.astype(np.float64), 1), (1, 1))
    np.testing.assert_array_equal(out, sums.transpose(1, 0, 2).round() // (210 * 160))
