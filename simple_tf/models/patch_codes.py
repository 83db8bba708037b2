"""Which code a step of the patch model is trained with, and how well codes are foreseen."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from simple_tf.models.losses import cross_entropy
from simple_tf.models.noise import Noise
from simple_tf.models.patch_network import PatchNetwork
from simple_tf.models.patch_outputs import PatchOutputs
from simple_tf.models.reward_loss import RewardLoss

# Of the loss of foreseeing codes: it is never small, and must not crowd out what moves.
_FORESIGHT_WEIGHT = 0.1
# Share of the training steps that are given a random code.
_EXPLORATION = 0.1
# By how many patches codes are compared: as many as change in most frames.
_COMPARED_PATCHES = 16


class Codes(NamedTuple):
    """Codes of windows, int32 [B, n]: those trained with, and those that were the best."""

    used: tf.Tensor
    best: tf.Tensor


class CodeSearch:
    """Finds the codes with which a model explains the truth.

    Args:
        network: from frames to features and rewards.
        outputs: from features to frames.
        reward_loss: of rewards.
        pixel_weight: of frames, beside rewards.
    """

    def __init__(
        self,
        network: PatchNetwork,
        outputs: PatchOutputs,
        reward_loss: RewardLoss,
        pixel_weight: float,
    ) -> None:
        self._network = network
        self._outputs = outputs
        self._reward_loss = reward_loss
        self._pixel_weight = pixel_weight

    def best(
        self, trunk: tf.Tensor, history: tf.Tensor, target: tf.Tensor, classes: tf.Tensor
    ) -> tf.Tensor:
        """Returns the codes [B] that explain frames [B, H, W, C] and reward classes [B] best."""
        count = self._network.num_codes
        every = [tf.repeat(x, count, axis=0) for x in (trunk, history, target, classes)]
        trunk, history, target, classes = every
        codes = tf.range(tf.shape(classes)[0]) % count
        features = self._network.features(trunk, codes)
        pixel = self._outputs.changed_loss(features, history, target, _COMPARED_PATCHES)
        logits = self._network.reward_logits(features)
        reward = self._reward_loss(logits[:, None], classes[:, None])
        losses = tf.reshape(pixel * self._pixel_weight + reward, [-1, count])
        return tf.argmin(losses, axis=1, output_type=tf.int32)

    def explored(self, best: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Replaces a few codes [B] by any: one that never is the best would not be trained."""
        anyone = tf.cast(noise.uniform(tf.shape(best)) * self._network.num_codes, tf.int32)
        return tf.where(noise.uniform(tf.shape(best)) < _EXPLORATION, anyone, best)

    def foresight_loss(self, trunk: tf.Tensor, best: tf.Tensor) -> tf.Tensor:
        """Returns how badly the codes [B, n] were foreseen from a trunk of [B * n], [B]."""
        losses = cross_entropy(self._network.code_logits(trunk), tf.reshape(best, [-1]), 0.0)
        return _FORESIGHT_WEIGHT * tf.reduce_mean(tf.reshape(losses, tf.shape(best)), axis=1)
