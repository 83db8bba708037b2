"""The tiny font."""

import numpy as np

from simple_tf.evaluation.pixel_font import GLYPH_HEIGHT, draw_text, text_width


def drawn(text, shape=(7, 20), top=1, left=1, scale=1):
    image = np.zeros((*shape, 3), np.uint8)
    draw_text(image, text, top, left, (1, 2, 3), scale)
    return image


def test_a_word_by_hand():
    picture = ["".join(".#"[int(p)] for p in row) for row in drawn("1L").any(axis=-1)[1:6, 1:8]]
    assert picture == [
        ".#..#..",
        "##..#..",
        ".#..#..",
        ".#..#..",
        "###.###",
    ]


def test_colour_scale_and_case():
    assert set(map(tuple, drawn("x")[drawn("x").any(-1)])) == {(1, 2, 3)}
    np.testing.assert_array_equal(drawn("step"), drawn("STEP"))
    small, large = drawn("8"), drawn("8", (14, 40), 2, 2, scale=2)
    np.testing.assert_array_equal(large, small.repeat(2, 0).repeat(2, 1))


def test_every_letter_and_digit_looks_different():
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+-.:/ "
    assert len({drawn(letter).tobytes() for letter in letters}) == len(letters)


def test_text_is_cut_off_at_the_border():
    image = drawn("88", shape=(3, 5))
    assert image.any()
    assert text_width("88") == 7
    assert text_width("") == 0
    assert drawn("", shape=(7, 7)).sum() == 0
    assert GLYPH_HEIGHT == 5
