"""The patch model's layers from frames to features, codes and rewards."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from simple_tf.models.layers import NamedLayer
from simple_tf.models.noise import Noise
from simple_tf.models.patch_layers import PatchBlock, PatchEmbedding, PatchSize, Summary


class Trunk(NamedTuple):
    """Features before the last block, [B, rows, columns, hidden], and actions, [B, width]."""

    x: tf.Tensor
    action: tf.Tensor


class PatchNetwork(NamedLayer):
    """Embeds patches; the last of its residual blocks is told the code.

    Args:
        size: how frames are cut.
        inputs: values of a patch in all frames.
        channels: of the features.
        num_actions: number of actions.
        shown_actions: how many of the latest actions are shown.
        num_blocks: residual blocks, at least one.
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
        num_blocks: int,
        codes: int,
        summary_units: int,
        reward_units: int,
        num_reward_classes: int,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if num_blocks < 1:
            raise ValueError(f"PatchModel.num_blocks must be at least 1, not {num_blocks!r}.")
        children = self.child_options
        self.size = size
        self.num_actions = num_actions
        self.num_codes = codes
        self.action_width = num_actions * shown_actions
        self.embedding = PatchEmbedding(size, inputs, channels, name="embedding", **children)
        widths = [self.action_width] * (num_blocks - 1) + [self.action_width + codes]
        self.blocks = [
            PatchBlock(size, channels, width, summary_units, name=f"block_{number}", **children)
            for number, width in enumerate(widths)
        ]
        self.code_prior = (
            Summary(size, channels, reward_units, codes, name="code_prior", **children)
            if codes
            else None
        )
        self.reward = Summary(
            size, channels, reward_units, num_reward_classes, name="reward", **children
        )

    def trunk(self, frames: tf.Tensor, actions: tf.Tensor) -> Trunk:
        """Computes all but the last block.

        Args:
            frames: normalised, [B, K, H, W, C].
            actions: those shown, int32 [B, k].
        """
        x = tf.transpose(frames, [0, 2, 3, 1, 4])  # [B, H, W, K, C]
        x = tf.reshape(x, [-1, *x.shape[1:3], x.shape[3] * x.shape[4]])
        x = self.embedding(self.size.cut(x))
        action = tf.reshape(tf.one_hot(actions, self.num_actions), [-1, self.action_width])
        for block in self.blocks[:-1]:
            x = block(x, action)
        return Trunk(x, action)

    def features(self, trunk: Trunk, code: tf.Tensor | None) -> tf.Tensor:
        """Applies the last block with codes [B], if there are any; [B, rows, columns, channels]."""
        condition = trunk.action
        if code is not None:
            condition = tf.concat([condition, tf.one_hot(code, self.num_codes)], axis=1)
        return tf.nn.relu(self.blocks[-1](trunk.x, condition))

    def code_logits(self, trunk: Trunk) -> tf.Tensor:
        """How likely each code is, [B, codes]."""
        assert self.code_prior is not None
        return tf.cast(self.code_prior(tf.nn.relu(trunk.x)), tf.float32)

    def draw_code(self, trunk: Trunk, noise: Noise) -> tf.Tensor | None:
        """Draws codes [B] as likely as they are; None if there are none."""
        return noise.categorical(self.code_logits(trunk)) if self.num_codes else None

    def reward_logits(self, features: tf.Tensor) -> tf.Tensor:
        """Returns [B, R]."""
        return tf.cast(self.reward(features), tf.float32)
