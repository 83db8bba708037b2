"""Where a game does something else than to go on as before, for draws that favour it.

Most of what moves goes on moving, which is soon learned. When a ball turns is seen in one frame of
fifty, and is what a simulation is lost by. No model is needed to find such frames: `go_on_moving`
guesses the next frame without anything learned, and is wrong there.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from simple_tf.compilation import compiled
from simple_tf.data import codec
from simple_tf.data.codec import StoredEpisode
from simple_tf.models.motion import go_on_moving

# How many pixels something may move in a step and still be followed.
_RADIUS = 3
# A pixel whose guess is wrong by more, in units of a channel's 255, is a surprise.
_TOLERANCE = 12
# Added to how often a pixel is a surprise: what happens once must not outweigh all else.
_RARE = 1e-3
# Nor must a frame in which everything changes, as at a new level: surprises above this share of
# them are cut.
_HIGHEST = 0.99
_FRAMES_PER_CALL = 256
# Frames that tell what the game usually looks like.
_FRAMES_FOR_USUAL = 512


def frame_surprises(episodes: Sequence[StoredEpisode]) -> list[np.ndarray]:
    """Says of every frame how much in it is surprising.

    A pixel counts the more the more rarely it is a surprise: a paddle that a player moves all the
    time is one in every second frame, and would hide the ball.

    Args:
        episodes: the play; the result depends on nothing else.

    Returns:
        For each episode, float32 [frames]: about 1 on average where pixels are often wrong, cut at
        the 99th percentile of those above 0. The first two frames of an episode are no surprise.
    """
    usual = tf.constant(_usual(episodes))
    # As bits: 100,000 frames of the original's size would take a gigabyte otherwise.
    bits = [_wrong_pixels(episode, usual) for episode in episodes]
    num_pixels = usual.shape[0] * usual.shape[1]
    counts = sum(_unpacked(piece, num_pixels).sum(axis=0) for part in bits for piece in part)
    num_frames = sum(episode.num_frames for episode in episodes)
    weights = 1.0 / (counts / num_frames + _RARE) / num_pixels
    surprises = [
        np.concatenate([_unpacked(piece, num_pixels) @ weights for piece in part]) for part in bits
    ]
    found = np.concatenate([values[values > 0] for values in surprises])
    highest = np.quantile(found, _HIGHEST) if found.size else 0.0
    return [np.minimum(values, highest).astype(np.float32) for values in surprises]


def _usual(episodes: Sequence[StoredEpisode]) -> np.ndarray:
    """The median of frames at even distances in all the play, uint8 [H, W, C].

    Not so many of each episode: of a game with many short ones that would be their beginnings.
    """
    begins = np.cumsum([0, *(episode.num_frames for episode in episodes)])
    places = np.linspace(0, begins[-1] - 1, min(_FRAMES_FOR_USUAL, begins[-1])).astype(int)
    numbers = np.searchsorted(begins, places, side="right") - 1
    frames = np.concatenate(
        [
            codec.read_frames(episodes[number], int(place - begins[number]), 1)
            for number, place in zip(numbers, places, strict=True)
        ]
    )
    # The lower one of two medians: a shade that the pixel really has had.
    return np.sort(frames, axis=0)[(len(frames) - 1) // 2]


def _wrong(before: tf.Tensor, now: tf.Tensor, after: tf.Tensor, usual: tf.Tensor) -> tf.Tensor:
    """Returns where frames, uint8 [B, H, W, C], are not where motion leads to; bool [B, H, W]."""
    guess = go_on_moving(now, before, usual, _RADIUS)
    errors = tf.abs(tf.cast(guess, tf.int32) - tf.cast(after, tf.int32))
    return tf.reduce_max(errors, axis=-1) > _TOLERANCE


@functools.cache
def _compiled_wrong() -> tf.types.experimental.GenericFunction:
    """One function for all of a process's calls: it compiles once for frames of one shape."""
    return compiled(_wrong, True)


def _wrong_pixels(episode: StoredEpisode, usual: tf.Tensor) -> list[np.ndarray]:
    """Returns the wrong pixels of an episode's frames, packed, in pieces of [frames, bytes]."""
    pieces = []
    for begin in range(0, episode.num_frames, _FRAMES_PER_CALL):
        first, end = max(begin - 2, 0), min(begin + _FRAMES_PER_CALL, episode.num_frames)
        frames = codec.read_frames(episode, first, end - first)
        # Always as many, so that it compiles once; the first two frames are compared with
        # themselves, and what is beyond the end is left out.
        places = np.minimum(np.arange(begin, begin + _FRAMES_PER_CALL), end - 1)
        before, now, after = (frames[np.maximum(places - back, 0) - first] for back in (2, 1, 0))
        pixels = _compiled_wrong()(before, now, after, usual).numpy()
        pixels[places < 2] = False
        pixels = pixels[: end - begin]
        pieces.append(np.packbits(pixels.reshape(len(pixels), -1), axis=1))
    return pieces


def _unpacked(piece: np.ndarray, num_pixels: int) -> np.ndarray:
    return np.unpackbits(piece, axis=1, count=num_pixels)
