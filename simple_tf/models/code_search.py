"""Which code a training step has: the one with which the model explains the truth best."""

from __future__ import annotations

import tensorflow as tf

from simple_tf.models.noise import Noise

# Share of the training steps that are given a random code.
_EXPLORATION = 0.1
# How much of an unexplained loss a place's preferred codes are excused.
_PREFERENCE = 0.2


class CodeSearch:
    """Compares codes by losses; stateless.

    Args:
        num_codes: how many there are.
        num_patches: patches of a frame.
        seed: of the places' preferences.
    """

    def __init__(self, num_codes: int, num_patches: int, seed: int) -> None:
        self.num_codes = num_codes
        preferences = tf.random.stateless_normal([num_patches, num_codes], [seed, 1])
        self._preferences = _PREFERENCE * preferences

    def for_every_code(self, *examples: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor]:
        """Repeats examples [B, ...] for every code, [B * codes, ...]; and returns those codes."""
        repeated = [tf.repeat(x, self.num_codes, axis=0) for x in examples]
        return repeated, tf.range(tf.shape(repeated[0])[0]) % self.num_codes

    def best(
        self, patch_losses: tf.Tensor, patches: tf.Tensor, other_losses: tf.Tensor
    ) -> tf.Tensor:
        """Returns the best codes, int32 [B].

        Args:
            patch_losses: of some patches, for every code, [B * codes, n].
            patches: which they are, int [B * codes, n]; the same for all codes of an example.
            other_losses: [B * codes].
        """
        by_code = tf.reshape(patch_losses, [-1, self.num_codes, patch_losses.shape[1]])
        losses = tf.reduce_sum(by_code, axis=2) + tf.reshape(other_losses, [-1, self.num_codes])
        losses -= self._favour(by_code, patches[:: self.num_codes])
        return tf.argmin(losses, axis=1, output_type=tf.int32)

    def _favour(self, losses: tf.Tensor, patches: tf.Tensor) -> tf.Tensor:
        """Lets what no code explains yet choose by where it is, so that it always finds the same.

        A rare event whose code changes from time to time is learned by none: each has far more
        examples in which nothing happens. So every place prefers some codes to others, by
        chance. What is explained needs no preference.

        Args:
            losses: of patches by code, [B, codes, n].
            patches: which, int [B, n].

        Returns:
            How much each code is favoured, [B, codes].
        """
        unexplained = tf.reduce_min(losses, axis=1)  # [B, n]
        preferences = tf.gather(self._preferences, patches)  # [B, n, codes]
        return tf.einsum("bn,bnc->bc", unexplained, preferences)

    def explored(self, best: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Replaces a few codes [B] by any: one that never is the best would not be trained."""
        anyone = tf.cast(noise.uniform(tf.shape(best)) * self.num_codes, tf.int32)
        return tf.where(noise.uniform(tf.shape(best)) < _EXPLORATION, anyone, best)
