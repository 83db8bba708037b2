"""Text on images without a font file: capitals, digits and signs of 3 x 5 pixels."""

from __future__ import annotations

import numpy as np

GLYPH_HEIGHT = 5
_GLYPH_WIDTH = 3

Colour = tuple[int, int, int]

# Every glyph is five rows of three pixels, each row an octal digit.
_GLYPHS = {
    " ": "00000",
    "%": "51245",
    "+": "02720",
    "-": "00700",
    ".": "00002",
    ":": "02020",
    "/": "11244",
    "0": "75557",
    "1": "26227",
    "2": "71747",
    "3": "71717",
    "4": "55711",
    "5": "74717",
    "6": "74757",
    "7": "71122",
    "8": "75757",
    "9": "75717",
    "A": "25755",
    "B": "65656",
    "C": "34443",
    "D": "65556",
    "E": "74647",
    "F": "74644",
    "G": "34553",
    "H": "55755",
    "I": "72227",
    "J": "11152",
    "K": "55655",
    "L": "44447",
    "M": "57755",
    "N": "65555",
    "O": "25552",
    "P": "65644",
    "Q": "25563",
    "R": "65655",
    "S": "34216",
    "T": "72222",
    "U": "55557",
    "V": "55552",
    "W": "55775",
    "X": "55255",
    "Y": "55222",
    "Z": "71247",
}


def text_width(text: str, scale: int = 1) -> int:
    """Returns the pixels that `draw_text` needs."""
    return max(len(text) * (_GLYPH_WIDTH + 1) - 1, 0) * scale


def draw_text(
    image: np.ndarray, text: str, top: int, left: int, colour: Colour, scale: int = 1
) -> None:
    """Draws text into uint8 [H, W, 3], in place; what lies outside is cut off.

    Args:
        image: where to draw.
        text: letters (shown as capitals), digits and `%+-.:/`; anything else becomes a space.
        top: first row.
        left: first column.
        colour: of the letters; the background stays.
        scale: side of one pixel of a glyph.
    """
    mask = _mask(text).repeat(scale, 0).repeat(scale, 1)
    target = image[top : top + mask.shape[0], left : left + mask.shape[1]]
    target[mask[: target.shape[0], : target.shape[1]]] = colour


def _mask(text: str) -> np.ndarray:
    """Returns the pixels of the text, bool [5, width]."""
    glyphs = [_GLYPHS.get(letter, _GLYPHS[" "]) for letter in text.upper()]
    rows = [
        [_pixel(glyph, row, column) for glyph in glyphs for column in range(_GLYPH_WIDTH + 1)]
        for row in range(GLYPH_HEIGHT)
    ]
    return np.array(rows, bool).reshape(GLYPH_HEIGHT, -1)[:, : text_width(text)]


def _pixel(glyph: str, row: int, column: int) -> bool:
    return column < _GLYPH_WIDTH and bool(int(glyph[row]) >> (_GLYPH_WIDTH - 1 - column) & 1)
