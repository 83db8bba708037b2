"""From a raw screen to the frame the agent sees: area mean, truncated to uint8; optional gray.

The original resized by area and cast to uint8, which truncates. All arithmetic here is on integers
(or on floats that hold integers exactly), so the result is the exact mean, rounded down.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# The luma weights of the original's grayscale option, on the scale where 255 maps to 255.5 before
# truncation (that is how TensorFlow converts a float image back to uint8).
_LUMA = np.array([0.2989, 0.5870, 0.1140], np.float32)
_TO_UNIT = np.float32(1.0 / 255.0)
_FROM_UNIT = np.float32(255.5)


class FrameProcessor:
    """Shrinks uint8 images of one fixed shape.

    The caller writes an image into `image` and calls `write_frame`: with a fixed place for the
    input, all views into it are made once instead of for every frame.

    Args:
      raw_shape: height, width and channels (1 or 3) of the images to come.
      resize_factor: height and width are divided by this, rounded down.
      grayscale: whether to turn three channels into one.
      frame_size: height and width of what comes out; None: as `resize_factor` gives.
      whole_blocks: leave out the last rows and columns that do not fill a block of `resize_factor`
        pixels, so that every pixel is the mean of just one block; not with a `frame_size`.

    Attributes:
      image: uint8, `raw_shape`: where the next image goes.
      frame_shape: height, width and channels of what comes out.
    """

    def __init__(
        self,
        raw_shape: tuple[int, int, int],
        resize_factor: int,
        grayscale: bool,
        frame_size: tuple[int, int] | None = None,
        whole_blocks: bool = False,
    ):
        height, width, channels = raw_shape
        if resize_factor < 1 or min(height, width) < resize_factor:
            raise ValueError(f"resize_factor={resize_factor} does not fit {height}x{width} images.")
        grayscale = grayscale and channels == 3
        size = frame_size or (height // resize_factor, width // resize_factor)
        self.image = np.zeros(raw_shape, np.uint8)
        self.frame_shape = (*size, 1 if grayscale else channels)
        self._small = np.empty((*size, channels), np.uint8) if grayscale else None
        self._gray: np.ndarray | None = None
        if frame_size and grayscale:  # Grey first, as those do who use such sizes.
            self._small, self._gray = None, np.empty((height, width, 1), np.uint8)
        if whole_blocks:
            whole = self.image[: size[0] * resize_factor, : size[1] * resize_factor]
            self._shrink_into = _make_part_shrinker(whole, resize_factor)
        else:
            self._shrink_into = _make_shrinker(self.image, resize_factor)
        if frame_size:
            self._shrink_into = _AreaMean(
                self.image if self._gray is None else self._gray, frame_size
            )

    def write_frame(self, out: np.ndarray) -> None:
        """Writes the processed `image` into `out` (uint8, `frame_shape`)."""
        if self._gray is not None:
            _write_gray(self.image, self._gray)
        if self._small is None:
            self._shrink_into(out)
            return
        self._shrink_into(self._small)
        _write_gray(self._small, out)


def _write_gray(rgb: np.ndarray, out: np.ndarray) -> None:
    unit = rgb.astype(np.float32) * _TO_UNIT
    luma = unit[..., 0] * _LUMA[0] + unit[..., 1] * _LUMA[1] + unit[..., 2] * _LUMA[2]
    np.copyto(out[..., 0], luma * _FROM_UNIT, casting="unsafe")


def _make_shrinker(image: np.ndarray, factor: int) -> Callable[[np.ndarray], None]:
    """Returns the fastest exact way to write the image, `factor` times smaller, into an array."""
    if factor == 1:
        return lambda out: np.copyto(out, image)
    if _BlockMean.fits(image.shape, factor):
        return _BlockMean(image, factor)
    if _EvenWidthAreaMean.fits(image.shape, factor):
        return _EvenWidthAreaMean(image, factor)
    return _AreaMean(image, (image.shape[0] // factor, image.shape[1] // factor))


def _make_part_shrinker(part: np.ndarray, factor: int) -> Callable[[np.ndarray], None]:
    """As `_make_shrinker` for a part of an image; where lines have gaps between them, by a copy."""
    if part.flags.c_contiguous:
        return _make_shrinker(part, factor)
    copy = np.empty_like(part, order="C")
    shrink_into = _make_shrinker(copy, factor)

    def copy_and_shrink_into(out: np.ndarray) -> None:
        np.copyto(copy, part)
        shrink_into(out)

    return copy_and_shrink_into


class _BlockMean:
    """Mean of factor x factor pixels where the factor divides both sides, as in the original.

    Adds whole rows first, then one-dimensional strided views per channel: numpy's loops over the
    last axis of an image are only as long as its three channels, and several times slower.
    """

    def __init__(self, image: np.ndarray, factor: int):
        height, width, channels = image.shape
        flat = image.reshape(height, width * channels)
        self._rows = [flat[row::factor] for row in range(factor)]
        self._row_sums = np.empty(self._rows[0].shape, np.uint16)
        self._sums = np.empty((height // factor, width // factor, channels), np.uint16)
        self._area = np.uint16(factor * factor)
        flat_rows, flat_sums = self._row_sums.reshape(-1), self._sums.reshape(-1)
        self._columns_and_sum = [
            (
                [flat_rows[at * channels + channel :: factor * channels] for at in range(factor)],
                flat_sums[channel::channels],
            )
            for channel in range(channels)
        ]

    def __call__(self, out: np.ndarray) -> None:
        # Copying uint8 into uint16 and adding uint8 onto it beats widening both operands.
        np.copyto(self._row_sums, self._rows[0])
        _add_onto(self._row_sums, self._rows[1:])
        for columns, total in self._columns_and_sum:
            np.add(columns[0], columns[1], out=total)
            _add_onto(total, columns[2:])
        np.floor_divide(self._sums, self._area, out=out, casting="unsafe")

    @staticmethod
    def fits(raw_shape: tuple[int, ...], factor: int) -> bool:
        """Whether blocks tile the image and their sums fit 16 bits."""
        return raw_shape[0] % factor == 0 and raw_shape[1] % factor == 0 and factor <= 16


def _add_onto(total: np.ndarray, parts: list[np.ndarray]) -> None:
    for part in parts:
        np.add(total, part, out=total)


class _AreaMean:
    """Area mean to any size; a border pixel counts by the part that is covered.

    With H source and h target rows, one target row covers H / h source rows. Measured in units of
    1 / h, every overlap is an integer and the overlaps of a row add up to H, so that products are
    exact (as float32 if they fit 24 bits) and nothing is lost before the truncation. Columns
    likewise.
    """

    def __init__(self, image: np.ndarray, size: tuple[int, int]):
        height, width, channels = image.shape
        self._flat = image.reshape(height, width * channels)
        self._total = float(height * width)
        self._dtype = np.float32 if self._total * 255 < 2**24 else np.float64
        self._row_weights = _overlaps(height, size[0]).astype(self._dtype)  # [h, H]
        self._column_weights = _overlaps(width, size[1]).T.astype(self._dtype)  # [W, w]
        self._by_column = (size[0], width, channels)

    def __call__(self, out: np.ndarray) -> None:
        rows = self._row_weights @ self._flat.astype(self._dtype)
        rows = rows.reshape(self._by_column).transpose(0, 2, 1)  # [h, C, W]
        sums = (rows @ self._column_weights).transpose(0, 2, 1)  # [h, w, C]
        np.copyto(out, sums.astype(np.float64) / self._total, casting="unsafe")


class _EvenWidthAreaMean:
    """As `_AreaMean`, but much faster, where the factor divides the width (160 by 4 or 8).

    Neighbouring pixels are added as one long vector, and only then every `factor`-th is kept.
    """

    def __init__(self, image: np.ndarray, factor: int):
        height, width, channels = image.shape
        self._flat = image.reshape(-1)
        self._shifts = range(channels, factor * channels, channels)
        self._factor = factor
        self._kept_pixel = np.dtype((np.void, 2 * channels))
        self._column_shape = (height, width // factor * channels)
        self._row_weights = _overlaps(height, height // factor).astype(np.float32)  # [h, H]
        self._total = np.float32(height * factor)

    def __call__(self, out: np.ndarray) -> None:
        wide = self._flat.astype(np.uint16)
        sums = wide.copy()
        for shift in self._shifts:
            sums[:-shift] += wide[shift:]
        kept = sums.view(self._kept_pixel)[:: self._factor].copy().view(np.uint16)
        rows = self._row_weights @ kept.reshape(self._column_shape).astype(np.float32)
        np.copyto(out, (rows / self._total).reshape(out.shape), casting="unsafe")

    @staticmethod
    def fits(raw_shape: tuple[int, ...], factor: int) -> bool:
        """Whether sums fit float32's 24 bits, and quotients just below an integer stay below."""
        height, width = raw_shape[:2]
        total = height * factor
        return width % factor == 0 and factor <= 256 and total * 255 < 2**24 and total < 2**15


def _overlaps(source: int, target: int) -> np.ndarray:
    """Returns float64 [target, source]: how much of each source pixel a target pixel covers."""
    start = np.arange(source) * target
    low = np.arange(target)[:, None] * source
    covered = np.minimum(start + target, low + source) - np.maximum(start, low)
    return np.maximum(covered, 0).astype(np.float64)
