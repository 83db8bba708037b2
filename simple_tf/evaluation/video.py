"""Videos: model | real | difference, and a writer that needs no system package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from simple_tf.evaluation import panes
from simple_tf.evaluation.comparison import Comparison
from simple_tf.evaluation.filmstrip import check_choice
from simple_tf.evaluation.pixel_font import GLYPH_HEIGHT, draw_text

FRAMES_PER_SECOND = 10

_TEXT_SCALE = 2
_GAP = 8
_HEADER = GLYPH_HEIGHT * _TEXT_SCALE + 2 * _GAP
_PAUSE = 5  # Dark frames between two rollouts.


class NoEncoderError(RuntimeError):
    """No package that writes videos is installed."""


def comparison_video(
    comparison: Comparison,
    rollouts: Sequence[int] = (0, 1, 2, 3),
    scale: int = 4,
    tolerance: int = 0,
) -> Iterator[np.ndarray]:
    """Yields the images of a video that shows rollouts one after the other.

    Args:
        comparison: where the rollouts are.
        rollouts: which ones.
        scale: side of a pixel of a frame.
        tolerance: see `panes.difference`.

    Yields:
        uint8 [height, width, 3], both even, the same for all.
    """
    for rollout in rollouts:
        check_choice(comparison, rollout)
    for number, rollout in enumerate(rollouts):
        images = [
            _image(comparison, rollout, step, scale, tolerance)
            for step in range(comparison.horizon + 1)
        ]
        if number:
            yield from [np.full_like(images[0], panes.BACKGROUND)] * _PAUSE
        yield from images


def write_video(
    path: str | os.PathLike[str],
    images: Iterable[np.ndarray],
    frames_per_second: float = FRAMES_PER_SECOND,
) -> Path:
    """Writes an mp4 file, or a GIF where no encoder is installed.

    The file appears when it is complete.

    Args:
        path: ending in `.mp4` or `.gif`; without an encoder `.mp4` becomes `.gif`.
        images: uint8 [height, width, 3] of one size, both even; at least one.
        frames_per_second: speed.

    Returns:
        The path of the file that was written.

    Raises:
        NoEncoderError: Neither imageio-ffmpeg nor imageio is installed.
    """
    target = Path(path)
    if target.suffix not in (".mp4", ".gif"):
        raise ValueError(f"A video is an .mp4 or a .gif file, not {target.name}.")
    if target.suffix == ".mp4" and not _has_ffmpeg():
        target = target.with_suffix(".gif")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.stem}.partial{target.suffix}")
    write = _write_mp4 if target.suffix == ".mp4" else _write_gif
    try:
        write(partial, images, frames_per_second)
        return partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _image(
    comparison: Comparison, rollout: int, step: int, scale: int, tolerance: int
) -> np.ndarray:
    """Returns the three panes of one step, with a line of text above each."""
    small = panes.panes_at(comparison, rollout, step, tolerance)
    large = [panes.upscale(pane, scale) for pane in small]
    height, width, _ = large[0].shape
    size = (_HEADER + height + _GAP, 3 * width + 4 * _GAP, 3)
    image = np.full((size[0] + size[0] % 2, size[1] + size[1] % 2, 3), panes.BACKGROUND, np.uint8)
    captions = panes.captions_at(comparison, rollout, step, tolerance)
    names = (f"STEP {step} MODEL", "REAL", "DIFFERENCE")
    for place, (pane, (caption, colour)) in enumerate(zip(large, captions, strict=True)):
        left = _GAP + place * (width + _GAP)
        image[_HEADER : _HEADER + height, left : left + width] = pane
        text = panes.fitting(f"{names[place]} {caption}", width, _TEXT_SCALE)
        draw_text(image, text, _GAP, left, colour, _TEXT_SCALE)
    return image


def _has_ffmpeg() -> bool:
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):  # Not installed, or a wheel without the program.
        return False
    return True


def _write_mp4(path: Path, images: Iterable[np.ndarray], frames_per_second: float) -> None:
    import imageio_ffmpeg

    writer = None
    for image in images:
        if writer is None:
            height, width, _ = image.shape
            writer = imageio_ffmpeg.write_frames(
                os.fspath(path), (width, height), fps=frames_per_second, macro_block_size=2
            )
            writer.send(None)
        writer.send(np.ascontiguousarray(image))
    if writer is None:
        raise ValueError(f"There are no images to write to {path}.")
    writer.close()


def _write_gif(path: Path, images: Iterable[np.ndarray], frames_per_second: float) -> None:
    try:
        import imageio.v3 as imageio
    except ImportError as error:
        raise NoEncoderError(
            "Videos need an encoder: pip install imageio imageio-ffmpeg brings one."
        ) from error
    stacked = list(images)
    if not stacked:
        raise ValueError(f"There are no images to write to {path}.")
    imageio.imwrite(path, np.stack(stacked), duration=1000 / frames_per_second, loop=0)
