"""Open-loop rollouts of a world model: real start, real actions, its own frames ever after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from simple_tf.compilation import compiled
from simple_tf.models.interface import WorldModel
from simple_tf.models.noise import fold_in

# Reward class 0 stands for a reward of -1.
LOWEST_REWARD = -1

Choose = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""From the step, int32, and the latest frames, uint8 [B, K, H, W, C], to actions, int32 [B]."""


class RolloutSimulator:
    """Rolls a model out from batches of real histories, in one compiled call.

    Args:
        model: the model.
        horizon: T, the steps to simulate.
        jit_compile: whether to compile with XLA; measure whether it pays.
    """

    def __init__(self, model: WorldModel, horizon: int, jit_compile: bool = False) -> None:
        if horizon < 1:
            raise ValueError(f"A rollout needs at least 1 step, not {horizon}.")
        self._model = model
        self._horizon = horizon
        self._compiled = compiled(self._simulate, jit_compile)

    def __call__(
        self,
        history: tf.Tensor,
        actions: tf.Tensor,
        seed: tf.Tensor,
        ages: tf.Tensor | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Simulates one rollout per history.

        Args:
            history: uint8 [B, K, H, W, C], oldest first.
            actions: int32 [B, K - 1 + T]: those between the frames of the history, then one per
                simulated step.
            seed: int32 [2], decides the latent's draws.
            ages: see `WorldModel.initial_state`.

        Returns:
            The frames that the model shows, uint8 [B, T, H, W, C], and the rewards it gives,
            int32 [B, T] of -1, 0 and 1, the likeliest ones.
        """
        expected = self._model.num_input_frames - 1 + self._horizon
        if actions.shape[1] != expected:
            raise ValueError(
                f"A rollout of {self._horizon} steps needs {expected} actions, not "
                f"{actions.shape[1]}."
            )
        frames, rewards = self._compiled(history, actions, seed, ages)
        return frames.numpy(), rewards.numpy()

    def _simulate(
        self, history: tf.Tensor, actions: tf.Tensor, seed: tf.Tensor, ages: tf.Tensor | None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        known = self._model.num_input_frames - 1
        planned = tf.transpose(actions[:, known:])  # [T, B]
        frames, logits = unroll(
            self._model,
            history,
            actions[:, :known],
            self._horizon,
            lambda t, _: planned[t],
            seed,
            ages,
        )
        return frames, tf.argmax(logits, -1, output_type=tf.int32) + LOWEST_REWARD


def unroll(
    model: WorldModel,
    history: tf.Tensor,
    known_actions: tf.Tensor,
    horizon: int,
    choose: Choose,
    seed: tf.Tensor,
    ages: tf.Tensor | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Simulates rollouts from real histories; traceable.

    Args:
        model: the model.
        history: uint8 [B, K, H, W, C], oldest first.
        known_actions: int32 [B, K - 1], those between the frames of the history.
        horizon: T, the steps to simulate.
        choose: decides each step's actions.
        seed: int32 [2], decides the latent's draws.
        ages: see `WorldModel.initial_state`.

    Returns:
        The frames that the model shows, uint8 [B, T, H, W, C], and the reward logits, [B, T, R].
    """
    state = model.initial_state(history, known_actions, fold_in(seed, 0), ages)
    logits_shape = (history.shape[0], model.num_reward_classes)
    recorded = (
        tf.TensorArray(tf.uint8, horizon, element_shape=history[:, 0].shape),
        tf.TensorArray(tf.float32, horizon, element_shape=logits_shape),
    )

    def advance(t: tf.Tensor, state: Any, seen: tf.Tensor, recorded: Any) -> tuple[Any, ...]:
        prediction = model.step(state, seen, choose(t, seen), fold_in(seed, t + 1))
        frame = tf.ensure_shape(model.decode(prediction.outputs), seen[:, 0].shape)
        logits = tf.cast(prediction.reward_logits, tf.float32)
        recorded = recorded[0].write(t, frame), recorded[1].write(t, logits)
        return t + 1, prediction.state, tf.concat([seen[:, 1:], frame[:, None]], 1), recorded

    *_, (frames, logits) = tf.while_loop(
        lambda t, *_: t < horizon,
        advance,
        (tf.constant(0), state, history, recorded),
        maximum_iterations=horizon,
    )
    return tf.transpose(frames.stack(), [1, 0, 2, 3, 4]), tf.transpose(logits.stack(), [1, 0, 2])
