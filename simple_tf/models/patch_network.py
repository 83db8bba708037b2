"""The patch model's layers from frames to features and rewards."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from simple_tf.models.layers import NamedLayer
from simple_tf.models.patch_layers import BLOCKS, SUMMARIES, PatchEmbedding, PatchSize


class PatchNetwork(NamedLayer):
    """Embeds patches and applies residual blocks.

    Args:
        size: how frames are cut.
        inputs: values of a patch in all frames.
        channels: of the features.
        num_actions: number of actions.
        shown_actions: how many of the latest actions are shown.
        reward_ages: see `PatchModel`.
        block: kind of the residual blocks, one of `BLOCKS`.
        num_blocks: how many of them.
        summary_units: see `PatchModel`.
        reward_reader: how rewards are read from features, one of `SUMMARIES`.
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
        summary_units: int,
        reward_reader: str,
        reward_units: int,
        num_reward_classes: int,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        children = self.child_options
        self.size = size
        self.num_actions = num_actions
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
        self.reward = SUMMARIES[reward_reader](
            size, channels, reward_units, num_reward_classes, name="reward", **children
        )

    def features(
        self, frames: tf.Tensor, actions: tf.Tensor, ages: tf.Tensor | None = None
    ) -> tf.Tensor:
        """Computes features, [B, rows, columns, channels].

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
        return tf.nn.relu(x)

    def reward_logits(self, features: tf.Tensor) -> tf.Tensor:
        """Returns [B, R]."""
        return tf.cast(self.reward(features), tf.float32)
