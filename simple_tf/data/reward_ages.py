"""How long ago the last reward was.

After a point games may wait for longer than the frames that a world model sees: then nothing in
them says when it goes on, and this does.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

# Reward class 1 stands for no reward.
NO_REWARD = 1
# An age before anything was earned or lost. Ages are counted on from it, within int32.
LONG_AGO = 1 << 20


def reward_ages(rewards: np.ndarray) -> np.ndarray:
    """How many steps before each frame of an episode something was last earned or lost.

    Args:
        rewards: [T]; entry t leads to frame t + 1.

    Returns:
        int32 [T + 1]; 0 where a reward came with the frame, at least `LONG_AGO` before the first.
    """
    frames = np.arange(len(rewards) + 1)
    rewarded = np.concatenate([[False], rewards != 0])
    latest = np.maximum.accumulate(np.where(rewarded, frames, -LONG_AGO))
    return (frames - latest).astype(np.int32)


def ages_along(ages: tf.Tensor, reward_classes: tf.Tensor) -> tf.Tensor:
    """Goes on counting along windows.

    Args:
        ages: int32 [B], at the first frames.
        reward_classes: int32 [B, L - 1].

    Returns:
        int32 [B, L], at all frames.
    """
    counted = [ages]
    for t in range(reward_classes.shape[1]):
        counted.append(age_after(counted[-1], reward_classes[:, t]))
    return tf.stack(counted, axis=1)


def age_after(ages: tf.Tensor, reward_classes: tf.Tensor) -> tf.Tensor:
    """Ages [B] after a step that gave rewards of these classes [B]."""
    return tf.where(reward_classes == NO_REWARD, ages + 1, 0)


def ages_or_long_ago(ages: tf.Tensor | None, frames: tf.Tensor) -> tf.Tensor:
    """Returns the ages [B]; where they are not known, those of frames [B, ...] without a past."""
    return tf.fill(tf.shape(frames)[:1], LONG_AGO) if ages is None else ages
