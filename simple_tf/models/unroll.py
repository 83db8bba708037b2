"""Training: a model applied step by step along windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import tensorflow as tf

from simple_tf.models.interface import State, WindowLosses
from simple_tf.models.losses import cross_entropy
from simple_tf.models.noise import Noise

if TYPE_CHECKING:
    from simple_tf.models.next_frame import NextFrameModel


class _Call(NamedTuple):
    """What one call of the network yields.

    Attributes:
        state: state for the next call.
        frame_loss: [B].
        reward_logits: [B, R].
        evidence: what the latent's loss needs, [B, E]; E = 0 without a latent.
        outputs: what the head understands, [B, H, W, num_outputs].
    """

    state: State
    frame_loss: tf.Tensor
    reward_logits: tf.Tensor
    evidence: tf.Tensor
    outputs: tf.Tensor


class _Results(NamedTuple):
    """What all calls of a window yield, time first."""

    frame_loss: tf.Tensor
    reward_logits: tf.Tensor
    evidence: tf.Tensor


def unroll(
    model: NextFrameModel,
    frames: tf.Tensor,
    actions: tf.Tensor,
    reward_classes: tf.Tensor,
    global_step: tf.Tensor,
    noise: Noise,
    training: bool,
) -> WindowLosses:
    """Applies the model along windows; arguments as for `WorldModel.window_losses`.

    Stacked models predict the n target frames. Stepwise models read the window from its first
    frame and therefore predict input frames 2..K too, which is the `context` loss.
    """
    window = _Window(model, frames, actions, global_step, noise, training)
    results = window.run()
    split = window.num_context
    reward_logits = tf.transpose(results.reward_logits[split:], [1, 0, 2])  # [B, n, R]
    target_rewards = reward_classes[:, model.num_input_frames - 1 :]
    reward_losses = cross_entropy(reward_logits, target_rewards, model.reward_clip)
    pixel = tf.reduce_mean(results.frame_loss[split:], axis=0)
    has_context = training and split > 0
    return WindowLosses(
        pixel=pixel,
        reward=tf.reduce_mean(reward_losses, axis=1),
        latent=window.latent_loss(results.evidence),
        context=(
            tf.reduce_mean(results.frame_loss[:split], axis=0)
            if has_context
            else tf.zeros_like(pixel)
        ),
        reward_logits=reward_logits,
    )


class _Window:
    """One unrolling of a model; see `unroll`.

    The calls are a `tf.while_loop`: the graph holds the network once, however long the window,
    and the gradients of its weights are summed as they arise instead of all being kept.
    """

    def __init__(
        self,
        model: NextFrameModel,
        frames: tf.Tensor,
        actions: tf.Tensor,
        global_step: tf.Tensor,
        noise: Noise,
        training: bool,
    ) -> None:
        self._model = model
        self._step = global_step
        self._noise = noise
        self._training = training
        self._frames = frames
        self._truth = tf.transpose(frames, [1, 0, 2, 3, 4])  # [K + n, B, H, W, C]
        self._actions = self._embed_actions(actions)
        # Calls are numbered by their newest input frame, t.
        self._first = model.num_input_frames - 1 if model.context > 1 else 0
        self._end = frames.shape[1] - 1
        self.num_context: int = model.num_input_frames - 1 - self._first

    def run(self) -> _Results:
        """Calls the network for every frame that it predicts."""
        count = self._end - self._first
        variables = (
            tf.constant(self._first),
            self._model.training_state(tf.shape(self._frames)[0]),
            self._first_inputs(),
            _Results(*(tf.TensorArray(tf.float32, count) for _ in _Results._fields)),
        )
        loop = tf.while_loop(
            lambda t, *_: t < self._end, self._advance, variables, maximum_iterations=count
        )
        return _Results(*(array.stack() for array in loop[-1]))

    def latent_loss(self, evidence: tf.Tensor) -> tf.Tensor:
        """Returns the latent's loss [B], computed for all calls as one batch."""
        latent = self._model.latent
        calls, size = evidence.shape[0], evidence.shape[2]
        if latent is None or not self._training:
            return tf.zeros(tf.shape(self._frames)[:1])
        flat = tf.reshape(tf.transpose(evidence, [1, 0, 2]), [-1, size])  # As draws want it.
        losses = latent.loss(flat, self._noise.at(self._end))
        return tf.reduce_mean(tf.reshape(losses, [-1, calls]), axis=1)

    def _first_inputs(self) -> tf.Tensor:
        """Returns the frames [B, context, H, W, C] that the first call sees."""
        if not self._training:
            return self._frames[:, : self._model.context]
        history = self._frames[:, : self._model.num_input_frames]
        return self._model.corrupt_inputs(history, self._noise)[:, : self._model.context]

    def _advance(
        self, t: tf.Tensor, state: State, seen: tf.Tensor, results: _Results
    ) -> tuple[tf.Tensor, State, tf.Tensor, _Results]:
        call = self._call(t, state, seen)
        row = t - self._first
        results = _Results(
            frame_loss=results.frame_loss.write(row, call.frame_loss),
            reward_logits=results.reward_logits.write(row, call.reward_logits),
            evidence=results.evidence.write(row, call.evidence),
        )
        newest = self._next_input(t, call.outputs)[:, None]
        return t + 1, call.state, tf.concat([seen[:, 1:], newest], axis=1), results

    def _call(self, t: tf.Tensor, state: State, seen: tf.Tensor) -> _Call:
        model, action = self._model, self._actions[t]
        noise = self._noise.at(t)
        dropout = noise if self._training else None
        frames = model.stacked(seen)
        inputs, state = model.network_inputs(state, frames)
        bottom, skips = model.encoder(inputs, action, dropout)
        bottom, evidence = self._inject_latent(bottom, frames, t, noise)
        middle, state = model.run_middle(bottom, state, dropout)
        features = model.decoder(middle, skips, action, dropout)
        outputs = model.outputs_layer(features)
        return _Call(
            state=state,
            frame_loss=model.head.loss(outputs, self._truth[t + 1]),
            reward_logits=tf.cast(model.reward(bottom, features), tf.float32),
            evidence=evidence,
            outputs=outputs,
        )

    def _inject_latent(
        self, bottom: tf.Tensor, frames: tf.Tensor, t: tf.Tensor, noise: Noise
    ) -> tuple[tf.Tensor, tf.Tensor]:
        latent = self._model.latent
        if latent is not None and self._training:
            target = self._model.stacked(self._truth[t + 1][:, None])
            both = tf.concat([frames, target], axis=-1)
            return latent.train(bottom, both, self._actions[t], self._step, noise)
        if latent is not None:
            bottom = latent.infer(bottom, noise)
        return bottom, tf.zeros([tf.shape(bottom)[0], 0])

    def _next_input(self, t: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """Chooses per example between the predicted and the true frame t + 1."""
        truth = self._truth[t + 1]
        if not self._training:
            return truth
        # The last prediction is fed to nothing; those of input frames are not fed back.
        feeds_back = (t >= self._model.num_input_frames - 1) & (t < self._end - 1)
        return tf.cond(feeds_back, lambda: self._mixed(t, truth, outputs), lambda: truth)

    def _mixed(self, t: tf.Tensor, truth: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        probability = self._model.sampling.probability(self._step)
        draws = self._noise.at(t).at(0).uniform(tf.shape(truth)[:1])
        use = (draws > 1.0 - probability)[:, None, None, None]
        return tf.where(use, self._model.head.decode(outputs), truth)

    def _embed_actions(self, actions: tf.Tensor) -> tf.Tensor:
        """Embeds all actions of the windows at once; [K + n - 1, B, F]."""
        time_major = tf.transpose(actions)
        if self._model.target_actions is None:
            return self._model.actions(time_major)
        end = self._model.num_input_frames
        return tf.concat(
            [
                self._model.actions(time_major[:end]),
                self._model.target_actions(time_major[end:]),
            ],
            axis=0,
        )
