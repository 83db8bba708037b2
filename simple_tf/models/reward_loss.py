"""How badly rewards were predicted."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from simple_tf.models.losses import cross_entropy


class RewardLoss:
    """Clipped cross-entropy of reward classes, the mean over the steps of a window.

    Args:
        clip: cross-entropy below which a reward is good enough.
        weights: factor by class of the true reward; all 1 by default.
        num_classes: R.
    """

    def __init__(self, clip: float, weights: Sequence[float] | None, num_classes: int) -> None:
        if weights is not None and len(weights) != num_classes:
            raise ValueError(
                f"reward_weights needs {num_classes} numbers, one per class, not {weights}."
            )
        self.clip = clip
        self.weights = None if weights is None else tuple(weights)

    def __call__(self, logits: tf.Tensor, classes: tf.Tensor) -> tf.Tensor:
        """Returns the losses [B] of logits [B, n, R] on classes [B, n]."""
        losses = cross_entropy(logits, classes, self.clip)
        if self.weights is not None:
            losses *= tf.gather(tf.constant(self.weights, tf.float32), classes)
        return tf.reduce_mean(losses, axis=1)
