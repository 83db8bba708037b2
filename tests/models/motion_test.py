import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.motion import go_on_moving

SIZE = 16


def frame(*things, usual=None):
    """A frame with rectangles (top, left, height, width, colour) on the usual image."""
    image = np.full((SIZE, SIZE, 1), 90, np.uint8) if usual is None else usual.copy()
    for top, left, height, width, colour in things:
        image[max(top, 0) : top + height, max(left, 0) : left + width] = colour
    return image


def guess(before, now, radius=3, usual=None):
    usual = frame() if usual is None else usual
    result = go_on_moving(tf.constant(now[None]), tf.constant(before[None]), usual, radius)
    return result[0].numpy()


@pytest.mark.parametrize("rows", [-3, -1, 0, 2])
@pytest.mark.parametrize("columns", [-2, 0, 3])
def test_a_ball_flies_on(rows, columns):
    positions = [(8 + step * rows, 8 + step * columns) for step in (-1, 0, 1)]
    before, now, after = [frame((*position, 2, 1, 200)) for position in positions]
    np.testing.assert_array_equal(guess(before, now), after)


def test_what_is_faster_than_the_radius_is_not_followed():
    before, now = frame((4, 4, 2, 1, 200)), frame((4, 8, 2, 1, 200))
    np.testing.assert_array_equal(guess(before, now), frame())


def test_what_stands_still_stays_and_does_not_grow():
    standing = frame((2, 3, 7, 1, 180), (12, 12, 2, 2, 30))
    np.testing.assert_array_equal(guess(standing, standing), standing)


def test_a_long_bar_moves_at_both_ends_if_slowly():
    before, now, after = [frame((top, 5, 6, 1, 180)) for top in (3, 4, 5)]
    np.testing.assert_array_equal(guess(before, now), after)


def test_several_things_move_each_its_own_way():
    before = frame((2, 2, 2, 1, 200), (10, 10, 1, 2, 20), (6, 14, 3, 1, 150))
    now = frame((3, 4, 2, 1, 200), (9, 10, 1, 2, 20), (6, 14, 3, 1, 150))
    after = frame((4, 6, 2, 1, 200), (8, 10, 1, 2, 20), (6, 14, 3, 1, 150))
    np.testing.assert_array_equal(guess(before, now), after)


def test_shapes_count_and_the_newest_colour_is_shown():
    before, now = frame((4, 4, 2, 1, 200)), frame((5, 5, 2, 1, 210))
    np.testing.assert_array_equal(guess(before, now), frame((6, 6, 2, 1, 210)))


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 2), (2, 2), (3, 1)])
def test_what_has_changed_its_shape_a_little_is_followed_all_the_same(height, width):
    before, now = frame((4, 4, 2, 1, 200)), frame((6, 6, height, width, 200))
    rows, columns, _ = np.nonzero(guess(before, now) != frame())
    # What has become of which part is not to be known, only that all of it goes on.
    assert len(rows) == height * width
    assert rows.min() > 6
    assert columns.min() > 6


def test_the_motion_that_explains_a_shape_best_counts_not_the_shortest():
    # An L that jumps by two; by one it would be found with a pixel changed.
    def shape(row):
        return frame((row, 6, 1, 2, 200), (row + 1, 6, 1, 1, 200))

    np.testing.assert_array_equal(guess(shape(3), shape(5)), shape(7))


def test_something_else_that_appears_has_no_past():
    before, now = frame((2, 2, 1, 1, 200)), frame((4, 4, 3, 3, 200))
    np.testing.assert_array_equal(guess(before, now), frame())


def test_what_leaves_the_frame_is_gone():
    before, now = frame((6, 12, 2, 1, 200)), frame((6, 14, 2, 1, 200))
    np.testing.assert_array_equal(guess(before, now), frame())


def test_what_was_hidden_comes_out_again():
    usual = np.random.RandomState(0).randint(0, 100, (SIZE, SIZE, 1)).astype(np.uint8)
    images = [frame((5, left, 2, 2, 250), usual=usual) for left in (3, 6, 9)]
    np.testing.assert_array_equal(guess(images[0], images[1], usual=usual), images[2])


def test_colour_frames_in_a_batch_and_compiled():
    usual = np.zeros((SIZE, SIZE, 3), np.uint8)
    batch = np.zeros((2, 3, SIZE, SIZE, 3), np.uint8)
    for number, column_step in enumerate((1, -2)):
        for step in range(3):
            batch[number, step, 4 + step, 8 + step * column_step] = (0, 200, 30)
    compiled = tf.function(go_on_moving, jit_compile=True)
    result = compiled(tf.constant(batch[:, 1]), tf.constant(batch[:, 0]), usual, 3)
    np.testing.assert_array_equal(result, batch[:, 2])
