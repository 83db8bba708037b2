"""The one interface of all world models.

The simulated environment, the evaluator and the player know only `WorldModel`: they hand it the
latest K frames and an action, and carry an opaque state of fixed-shape tensors from step to step.
"""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import tensorflow as tf

from simple_tf.compilation import is_for_xla
from simple_tf.models.heads import FrameHead
from simple_tf.models.noise import Noise

State = Any  # A nest of tensors; an empty tuple for models without memory.


class Prediction(NamedTuple):
    """Result of one simulated step.

    Attributes:
        state: state for the next step.
        outputs: what `WorldModel.decode` understands; most models: [B, H, W, head.num_outputs].
        reward_logits: [B, R].
    """

    state: State
    outputs: tf.Tensor
    reward_logits: tf.Tensor


class WindowLosses(NamedTuple):
    """Losses of a batch of windows of K input and n target frames; all but the last are [B].

    Attributes:
        pixel: mean clipped frame loss over the target frames.
        reward: mean clipped reward loss over the target frames.
        latent: latent loss (bit prediction, or weighted KL), mean over the network's calls.
        context: frame loss on the input frames that a stepwise model also predicts.
        reward_logits: [B, n, R].
    """

    pixel: tf.Tensor
    reward: tf.Tensor
    latent: tf.Tensor
    context: tf.Tensor
    reward_logits: tf.Tensor

    @property
    def total(self) -> tf.Tensor:
        """What training minimises, [B]."""
        return self.pixel + self.reward + self.latent + self.context


class WorldModel(tf.keras.Model, metaclass=abc.ABCMeta):
    """A learned game: frames and an action in, the next frame and reward out.

    Args:
        frame_shape: (height, width, channels) of a frame.
        num_actions: number of actions.
        num_input_frames: K, the frames `step` is shown.
        num_reward_classes: R.
        head: meaning of the frame outputs.
        name: Keras name.
    """

    def __init__(
        self,
        frame_shape: tuple[int, int, int],
        num_actions: int,
        num_input_frames: int,
        num_reward_classes: int,
        head: FrameHead,
        name: str,
    ) -> None:
        super().__init__(name=name)
        self.frame_shape = tuple(frame_shape)
        self.num_actions = num_actions
        self.num_input_frames = num_input_frames
        self.num_reward_classes = num_reward_classes
        self.head = head
        self.built = True  # Every layer creates its variables when it is constructed.

    @abc.abstractmethod
    def initial_state(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        seed: tf.Tensor | tuple[int, int] = (0, 0),
        ages: tf.Tensor | None = None,
    ) -> State:
        """Warms the state up on a history.

        Args:
            frames: uint8 [B, K, H, W, C], oldest first.
            actions: int32 [B, K - 1], the actions between them.
            seed: [2], for models whose warm-up draws a latent.
            ages: int32 [B], how many steps ago the last reward was at the newest frame, for models
                that are shown it; default: long ago.

        Returns:
            The state with which `step` is to be called on these K frames.
        """

    @abc.abstractmethod
    def step(
        self, state: State, frames: tf.Tensor, action: tf.Tensor, seed: tf.Tensor | tuple[int, int]
    ) -> Prediction:
        """Predicts the next frame and reward; computes nothing that inference does not use.

        Args:
            state: from `initial_state` or the step before.
            frames: uint8 [B, K, H, W, C], the latest K frames, newest last.
            action: int32 [B], taken at the newest frame.
            seed: [2], decides the latent's draws.
        """

    @abc.abstractmethod
    def window_losses(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        reward_classes: tf.Tensor,
        global_step: tf.Tensor,
        noise: Noise,
        training: bool = True,
        ages: tf.Tensor | None = None,
    ) -> WindowLosses:
        """Unrolls the model over windows.

        Args:
            frames: uint8 [B, K + n, H, W, C].
            actions: int32 [B, K + n - 1].
            reward_classes: int32 [B, K + n - 1].
            global_step: scalar, for schedules.
            noise: source of all draws.
            training: False: true frames as inputs, latent as in simulation, no dropout.
            ages: int32 [B], how many steps ago the last reward was at the first frame; default:
                long ago.
        """

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """Returns the likeliest uint8 frames [B, H, W, C] of a prediction's outputs."""
        return self.head.decode(outputs)

    def check_history(self, frames: tf.Tensor, name: str = "frames") -> None:
        """Raises ValueError unless `frames` is uint8 [B, K, H, W, C] of this model's size."""
        expected = (self.num_input_frames, *self.frame_shape)
        if len(frames.shape) != 5 or tuple(frames.shape[1:]) != expected:
            raise ValueError(
                f"{name} has shape {frames.shape}, but this model was built for {expected} after "
                "the batch axis; use frames of that size or build a model for these."
            )
        self._check_uint8(frames, name)

    def check_window(self, frames: tf.Tensor, actions: tf.Tensor, reward_classes: tf.Tensor) -> int:
        """Raises ValueError unless the shapes form windows; returns n, the target frames."""
        length = frames.shape[1] if len(frames.shape) == 5 else None
        if length is None or tuple(frames.shape[2:]) != self.frame_shape:
            raise ValueError(
                f"Window frames have shape {frames.shape}, but this model was built for "
                f"[B, T, {', '.join(map(str, self.frame_shape))}]."
            )
        self._check_uint8(frames, "Window frames")
        if length <= self.num_input_frames:
            raise ValueError(
                f"A window of {length} frames leaves nothing to predict: this model reads "
                f"{self.num_input_frames} input frames; use longer windows."
            )
        for name, values in (("actions", actions), ("reward_classes", reward_classes)):
            if len(values.shape) != 2 or values.shape[1] != length - 1:
                raise ValueError(
                    f"A window of {length} frames needs {name} of shape [B, {length - 1}], "
                    f"not {values.shape}."
                )
        return length - self.num_input_frames

    def check_actions(self, actions: tf.Tensor) -> tf.Tensor:
        """Returns int32 actions; out of range raises ValueError, in a graph an assertion.

        What XLA compiles is not checked.
        """
        actions = tf.cast(actions, tf.int32)
        message = f"An action is outside 0..{self.num_actions - 1}, the range of this model."
        valid = tf.reduce_all((actions >= 0) & (actions < self.num_actions))
        if tf.executing_eagerly():
            if not bool(valid):
                raise ValueError(message)
            return actions
        if is_for_xla():  # It has no assertions; every one would be a warning on the screen.
            return actions
        with tf.control_dependencies([tf.debugging.Assert(valid, [message])]):
            return tf.identity(actions)

    def _check_uint8(self, frames: tf.Tensor, name: str) -> None:
        dtype = tf.as_dtype(frames.dtype)
        if dtype != tf.uint8:
            raise ValueError(f"{name} must be uint8, not {dtype.name}.")
