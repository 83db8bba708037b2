"""The patch model's layers from frames to features, codes and rewards."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from simple_tf.models.layers import ConditionalScaleShift, NamedLayer
from simple_tf.models.noise import Noise
from simple_tf.models.patch_layers import BLOCKS, PatchEmbedding, PatchSize, Summary


class PatchNetwork(NamedLayer):
    """Embeds patches and applies residual blocks; what is left open in the end, a code decides.

    Args:
        size: how frames are cut.
        inputs: values of a patch in all frames.
        channels: of the features.
        num_actions: number of actions.
        shown_actions: how many of the latest actions are shown.
        reward_ages: see `PatchModel`.
        block: kind of the residual blocks, one of `BLOCKS`.
        num_blocks: how many of them.
        codes: number of codes; 0: there are none.
        summary_units: see `PatchModel`.
        reward_units: see `PatchModel`.
        num_reward_classes: R.
        **options: see `NamedLayer`.
    """

    def __init__(
        self,
        size: PatchSize,
        inputs: int,
        channels: int,
        num_actions: int,
        shown_actions: int,
        reward_ages: int,
        block: str,
        num_blocks: int,
        codes: int,
        summary_units: int,
        reward_units: int,
        num_reward_classes: int,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        children = self.child_options
        self.size = size
        self.num_actions = num_actions
        self.num_codes = codes
        self.action_width = num_actions * shown_actions
        self.reward_ages = reward_ages
        self.embedding = PatchEmbedding(size, inputs, channels, name="embedding", **children)
        self.blocks = [
            BLOCKS[block](
                size,
                channels,
                self.action_width + reward_ages,
                summary_units,
                name=f"block_{number}",
                **children,
            )
            for number in range(num_blocks)
        ]
        if codes:
            self.code_prior = Summary(
                size, channels, reward_units, codes, name="code_prior", **children
            )
            self.code_gate = ConditionalScaleShift(channels, codes, name="code_gate", **children)
        self.reward = Summary(
            size, channels, reward_units, num_reward_classes, name="reward", **children
        )

    def trunk(
        self, frames: tf.Tensor, actions: tf.Tensor, ages: tf.Tensor | None = None
    ) -> tf.Tensor:
        """Computes what does not depend on the code, [B, rows, columns, channels].

        Args:
            frames: normalised, [B, K, H, W, C].
            actions: those shown, int32 [B, k].
            ages: of the last reward, int32 [B]; not needed if they are not shown.
        """
        x = tf.transpose(frames, [0, 2, 3, 1, 4])  # [B, H, W, K, C]
        x = tf.reshape(x, [-1, *x.shape[1:3], x.shape[3] * x.shape[4]])
        x = self.embedding(self.size.cut(x))
        condition = tf.reshape(tf.one_hot(actions, self.num_actions), [-1, self.action_width])
        if self.reward_ages:
            age = tf.one_hot(tf.minimum(ages, self.reward_ages - 1), self.reward_ages)
            condition = tf.concat([condition, age], axis=1)
        for block in self.blocks:
            x = block(x, condition)
        return x

    def features(self, trunk: tf.Tensor, code: tf.Tensor | None) -> tf.Tensor:
        """Opens and closes channels as the codes [B] say, if there are any.

        Nothing else depends on the code, so that trying all of them takes little time.
        """
        if code is not None:
            trunk = self.code_gate(trunk, tf.one_hot(code, self.num_codes))
        return tf.nn.relu(trunk)

    def code_logits(self, trunk: tf.Tensor) -> tf.Tensor:
        """How likely each code is, [B, codes]."""
        return tf.cast(self.code_prior(tf.nn.relu(trunk)), tf.float32)

    def draw_code(self, trunk: tf.Tensor, noise: Noise) -> tf.Tensor | None:
        """Draws codes [B] as likely as they are; None if there are none."""
        return noise.categorical(self.code_logits(trunk)) if self.num_codes else None

    def reward_logits(self, features: tf.Tensor) -> tf.Tensor:
        """Returns [B, R]."""
        return tf.cast(self.reward(features), tf.float32)
