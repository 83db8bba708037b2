"""Runs an imported network on a recording of the original and compares everything it can."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from simple_tf.agents.policy_network import NO_ITERATION, PolicyNetwork
from simple_tf.models import t2t_names
from simple_tf.models.interface import WindowLosses
from simple_tf.models.next_frame import NextFrameModel
from simple_tf.training.t2t_checkpoint import POLICY
from simple_tf.training.t2t_comparison import Comparison, Recording
from simple_tf.training.t2t_import import Network
from simple_tf.training.t2t_observer import (
    BEFORE_THE_LATENT,
    FollowingNoise,
    Observer,
    bit_latent_of,
    compare_frame,
    frame_logits,
    replaced,
)

_STATE_STRIDE = 8  # Of the recorded part of the carried state.
_EVALUATION_UNIFORM = 0.5  # Nothing is drawn in evaluation.


def verify(
    network: Network, kind: str, recording: Recording, sees_targets: bool = True
) -> Comparison:
    """Compares a network with a recording of the original.

    Args:
        network: an imported network.
        kind: what it is: deterministic, stochastic_discrete, recurrent or policy.
        recording: of simulated steps, of an evaluation, of training or of a policy.
        sees_targets: whether the network that infers bits from target frames was imported too;
            otherwise only what comes before it is compared in training.

    Raises:
        ValueError: if the recording is of another kind of network, or of another size.
    """
    possible = recorded_kinds(recording)
    if kind not in possible:
        raise ValueError(
            f"{recording.path!r} is a recording of a {' or '.join(sorted(possible))} network of "
            f"the original, but the checkpoint is of a {kind} one."
        )
    comparison = Comparison(recording)
    if isinstance(network, PolicyNetwork):
        _verify_policy(network, comparison)
    elif "step0/history" in recording:
        _verify_steps(network, comparison)
    elif "configs" in recording:
        _verify_training(network, comparison, sees_targets)
    else:
        _verify_evaluation(network, comparison)
    comparison.check_fit()
    return comparison


def recorded_kinds(recording: Recording) -> set[str]:
    """Returns the kinds of networks that a recording can be of.

    Raises:
        ValueError: if it is no recording of the original at all.
    """
    if "obs" in recording:
        return {POLICY}
    if "step0/history" not in recording and "in/inputs" not in recording:
        raise ValueError(
            f"{recording.path!r} is not a recording of the original: it has neither "
            "'step0/history' nor 'in/inputs' nor 'obs'."
        )
    if "cfg0/grad__names" in recording:
        scope = str(recording["cfg0/grad__names"][0]).split("/")[0]
        return {kind for kind, theirs in t2t_names.SCOPES.items() if theirs == scope}
    keys = recording.keys
    if not any("inter/" in key for key in keys):
        return set(t2t_names.SCOPES)
    if not any("lstm_pred/" in key for key in keys):
        return {"deterministic"}
    if any("state_after" in key for key in keys):
        return {"stochastic_discrete"}
    return {"stochastic_discrete", "recurrent"}


def recorded_frame_size(recording: Recording) -> tuple[int, int] | None:
    """Returns the (height, width) of the frames in a recording, if it has any."""
    for key in ("step0/history", "in/inputs", "obs"):
        if key in recording and recording[key].ndim == 5:
            height, width = recording[key].shape[2:4]
            return int(height), int(width)
    return None


def _verify_policy(policy: PolicyNetwork, comparison: Comparison) -> None:
    recording = comparison.recording
    observations = tf.constant(recording.input("obs"))
    shape = tuple(observations.shape[1:])
    if shape != policy.observation_shape:
        raise ValueError(
            f"{recording.path!r} was recorded with observations of {shape}, but this policy was "
            f"built for {policy.observation_shape}."
        )
    for key in recording.keys:
        match = re.fullmatch(r"(logits|value)_epoch(_inference|\d+)", key)
        if match:
            last = match.group(2)
            iteration = NO_ITERATION if last == "_inference" else int(last)
            logits, value = policy(observations, iteration)
            comparison.close(key, (logits if match.group(1) == "logits" else value).numpy())


def _verify_steps(model: NextFrameModel, comparison: Comparison) -> None:
    """Simulates the recorded steps, carrying the state from each to the next."""
    recording = comparison.recording
    state, memory = None, None
    steps = [key.split("/")[0] for key in recording.keys if re.fullmatch(r"step\d+/history", key)]
    for step in sorted(steps, key=lambda name: int(name.removeprefix("step"))):
        frames = tf.constant(recording.input(f"{step}/history"))
        actions = _flat(recording.input(f"{step}/action"))
        if f"{step}/reset" in recording and recording.input(f"{step}/reset"):
            state, memory = None, None
        state = _verify_step(model, comparison, f"{step}/", frames, actions, state)
        memory = _verify_inside(model, comparison, f"{step}/", frames, actions, memory)
        if memory is not None:
            _compare_memory(comparison, f"{step}/", memory)


def _verify_step(
    model: NextFrameModel,
    comparison: Comparison,
    prefix: str,
    frames: tf.Tensor,
    actions: tf.Tensor,
    state: object,
) -> object:
    """Compares one simulated step, from a carried state or afresh; returns the next state."""
    with _likeliest_bits(model):
        if state is None:
            state = model.initial_state(frames, actions[:, :-1])
        prediction = model.step(state, frames, actions[:, -1], (0, 0))
    compare_frame(comparison, prefix, frame_logits(model, prediction.outputs))
    comparison.close(f"{prefix}reward_logits", prediction.reward_logits.numpy())
    comparison.likeliest(f"{prefix}reward", prediction.reward_logits.numpy())
    return prediction.state


def _verify_inside(
    model: NextFrameModel,
    comparison: Comparison,
    prefix: str,
    frames: tf.Tensor,
    actions: tf.Tensor,
    memory: tf.Tensor | None,
) -> tf.Tensor | None:
    """Compares the calls on every frame of the history, which the original makes at each step.

    Returns the memory that the original saves between steps: the one after the oldest frame.
    """
    observer = Observer(model, comparison, prefix, only=("inter/",))
    # The last frame is only a target; its loss is not looked at.
    window = tf.concat([frames, frames[:, -1:]], axis=1)
    with contextlib.ExitStack() as stack:
        stack.enter_context(observer.watching())
        if memory is not None:
            stack.enter_context(replaced(model, "training_state", lambda _: memory))
        noise = FollowingNoise(_EVALUATION_UNIFORM, observer)
        model.window_losses(window, actions, tf.zeros_like(actions), 0, noise, training=False)
    return observer.memories[1] if len(observer.memories) > 1 else None


def _compare_memory(comparison: Comparison, prefix: str, memory: tf.Tensor) -> None:
    strided = memory[:, ::_STATE_STRIDE, ::_STATE_STRIDE]
    comparison.close(f"{prefix}state_after_stride", strided.numpy())
    norm = np.linalg.norm(memory.numpy().astype(np.float64), axis=(1, 2))
    comparison.close(f"{prefix}state_after_l2", norm)


def _verify_evaluation(model: NextFrameModel, comparison: Comparison) -> None:
    first_target = model.num_input_frames - 1 if model.context == 1 else 0
    observer = Observer(model, comparison, "", first_target)
    losses = _run_window(model, comparison, observer, 0, _EVALUATION_UNIFORM, training=False)
    comparison.close("reward_logits", losses.reward_logits.numpy())
    _compare_losses(comparison, "", losses)


def _verify_training(model: NextFrameModel, comparison: Comparison, sees_targets: bool) -> None:
    """Compares the recorded training configurations that feed true frames.

    Where predicted frames are fed back, a pixel whose two best values tie moves all that follows.
    """
    complete = model.latent is None or sees_targets
    for row, (step, uniform) in enumerate(comparison.recording.input("configs")):
        many_targets = comparison.recording["in/targets"].shape[1] > 1
        if many_targets and uniform > 1.0 - float(model.sampling.probability(tf.constant(step))):
            continue
        only = () if complete else BEFORE_THE_LATENT
        observer = Observer(model, comparison, f"cfg{row}/", only=only)
        losses = _run_window(model, comparison, observer, step, uniform, training=True)
        if complete:
            _compare_losses(comparison, f"cfg{row}/", losses)


def _run_window(
    model: NextFrameModel,
    comparison: Comparison,
    observer: Observer,
    step: float,
    uniform: float,
    training: bool,
) -> WindowLosses:
    """Unrolls the model over the recorded windows, which are laid out in the original's way."""
    read = comparison.recording.input
    frames = np.concatenate([read("in/inputs"), read("in/targets")], axis=1)
    actions = [_flat(read("in/input_action")), _flat(read("in/target_action"))[:, :-1]]
    rewards = [_flat(read("in/input_reward"))[:, 1:], _flat(read("in/target_reward"))]
    with observer.watching():
        return model.window_losses(
            tf.constant(frames),
            tf.concat(actions, axis=1),
            tf.concat(rewards, axis=1),
            tf.constant(step, tf.float32),
            FollowingNoise(uniform, observer),
            training,
        )


def _compare_losses(comparison: Comparison, prefix: str, losses: WindowLosses) -> None:
    for key, ours in (
        ("loss/training", losses.pixel + losses.reward),
        ("loss/extra", losses.latent + losses.context),
        ("loss_total", losses.total),
    ):
        comparison.close(prefix + key, tf.reduce_mean(ours).numpy())


@contextlib.contextmanager
def _likeliest_bits(model: NextFrameModel) -> Iterator[None]:
    """Lets the bit predictor take the likeliest bits, as it did when the original was recorded."""
    latent = bit_latent_of(model)
    if latent is None:
        yield
        return
    temperature, latent.temperature = latent.temperature, 0.0
    try:
        yield
    finally:
        latent.temperature = temperature


def _flat(values: np.ndarray) -> tf.Tensor:
    """Drops the last axis of recorded actions or rewards [B, T, 1]; int32 [B, T]."""
    return tf.constant(np.reshape(values, values.shape[:2]), tf.int32)
