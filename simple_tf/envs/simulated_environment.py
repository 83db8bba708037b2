"""The learned game as a TF-Agents environment."""

from __future__ import annotations

import dataclasses
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from tf_agents.environments import tf_environment
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from simple_tf.data.starts import StartSampler
from simple_tf.models.interface import WorldModel
from simple_tf.models.noise import fold_in
from simple_tf.parts import check_parts, in_parts
from simple_tf.replicas import ReplicaVariable, rows_per_replica
from simple_tf.seeding import derive_seed_pair

# Reward class 0 stands for a reward of -1.
LOWEST_REWARD = -1.0
REWARDS = ("likeliest", "expected")
_PARTS = "SimulatedEnvironment.parts"


@dataclasses.dataclass(frozen=True)
class _Borrowed:
    """What an environment uses but does not own, out of sight of its checkpoints."""

    model: WorldModel
    starts: StartSampler


@gin.configurable(denylist=["model", "starts", "seed"])
class SimulatedEnvironment(tf_environment.TFEnvironment, tf.__internal__.tracking.AutoTrackable):
    """A batch of rollouts of a world model, wholly inside TensorFlow.

    All rollouts start and end together. After `rollout_length` steps comes LAST with discount 1:
    the game is cut off, not over. The next step, whatever its action, is FIRST of new rollouts,
    the first of which is at the beginning of the game and the others anywhere in the starts.

    Everything that a rollout needs is in variables, and draws depend on the seed and on counters
    among them: an environment restored by `tf.train.Checkpoint` continues in the middle of its
    rollouts. A checkpoint has neither the model nor the starts, which have homes of their own.

    Made in the scope of a `tf.distribute` strategy, it is to be stepped by the replicas, each of
    which has an equal part of the rollouts; the rollouts are the same as with one replica.

    Args:
        model: the game.
        starts: where rollouts start; has to be loaded before the first step.
        batch_size: B, rollouts side by side, over all replicas.
        rollout_length: steps after which they end.
        reward: "likeliest": the likeliest reward class, as in the original; "expected": the mean
            under the predicted probabilities.
        jit_compile: whether to compile the model's step with XLA.
        parts: into how many equal parts a replica cuts its rollouts, to simulate them at the same
            time, see `in_parts`; 1: not at all.
        seed: of all draws.
    """

    def __init__(
        self,
        model: WorldModel,
        starts: StartSampler,
        batch_size: int = 16,
        rollout_length: int = 50,
        reward: str = "likeliest",
        jit_compile: bool = False,
        parts: int = 1,
        seed: int = 0,
    ) -> None:
        _check(batch_size, rollout_length, reward)
        history_shape = (model.num_input_frames, *model.frame_shape)
        rows = rows_per_replica(batch_size, "SimulatedEnvironment.batch_size")
        check_parts(parts, _PARTS, rows)
        super().__init__(*_specs(history_shape, model.num_actions), rows)
        self._borrowed = _Borrowed(model, starts)
        self._rollout_length = rollout_length
        self._reward_kind = reward
        self._seed = derive_seed_pair(seed, "simulated environment")
        self._predict_parts = in_parts(self._predict_step, parts, _PARTS, jit_compile)
        # int64: TensorFlow cannot count in int32 on a GPU.
        self._rollouts = _counter()  # Started so far, counting a batch as one.
        self._steps = _counter()  # In the current rollouts.
        self._history = ReplicaVariable([rows, *history_shape], tf.uint8)
        self._last_reward = ReplicaVariable([rows], tf.float32)
        self._state_structure = _state_structure(model, rows)
        self._state = [
            ReplicaVariable(spec.shape, spec.dtype)
            for spec in tf.nest.flatten(self._state_structure)
        ]

    @property
    def rollout_length(self) -> int:
        """Steps of a rollout."""
        return self._rollout_length

    @property
    def reward_kind(self) -> str:
        """What it pays: "likeliest" or "expected"."""
        return self._reward_kind

    def _current_time_step(self) -> ts.TimeStep:
        return tf.cond(self._rollouts.read_value() > 0, self._time_step, self._reset)

    def _reset(self) -> ts.TimeStep:
        rollouts = self._rollouts.read_value() + 1
        self._rollouts.assign(rollouts)
        seed = fold_in(tf.constant(self._seed), rollouts)
        frames, actions, ages = self._borrowed.starts.sample(self.batch_size, fold_in(seed, 0))
        frames = tf.ensure_shape(frames, self._history.shape)
        state = self._borrowed.model.initial_state(frames, actions, fold_in(seed, 1), ages)
        self._steps.assign(tf.zeros([], tf.int64))
        self._remember(frames, tf.zeros([self.batch_size]), state)
        return self._time_step()

    def _step(self, action: tf.Tensor) -> ts.TimeStep:
        rollouts, steps = self._rollouts.read_value(), self._steps.read_value()
        at_end = (rollouts == 0) | (steps >= self._rollout_length)
        return tf.cond(at_end, self._reset, lambda: self._advance(action))

    def _advance(self, action: tf.Tensor) -> ts.TimeStep:
        history = self._history.read_value()
        state = tf.nest.pack_sequence_as(
            self._state_structure, [variable.read_value() for variable in self._state]
        )
        steps = self._steps.read_value()
        seed = fold_in(tf.constant(self._seed), self._rollouts.read_value())
        seed = fold_in(seed, 2 + steps)
        predicted = self._predict_parts((state, history, tf.cast(action, tf.int32)), seed)
        frame, reward, state = tf.nest.map_structure(_joined, *predicted)
        self._steps.assign(steps + 1)
        self._remember(tf.concat([history[:, 1:], frame[:, tf.newaxis]], axis=1), reward, state)
        return self._time_step()

    def _predict_step(
        self, rows: tuple[Any, tf.Tensor, tf.Tensor], seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, Any]:
        """Returns the next frame, uint8 [B, H, W, C], the reward [B] and the model's state.

        Args:
            rows: the model's state, histories and actions of some of the rollouts.
            seed: of this step's draws.
        """
        state, history, action = rows
        prediction = self._borrowed.model.step(state, history, action, seed)
        frame = tf.ensure_shape(
            self._borrowed.model.decode(prediction.outputs), history[:, 0].shape
        )
        return frame, self._reward(prediction.reward_logits), prediction.state

    def _reward(self, logits: tf.Tensor) -> tf.Tensor:
        if self._reward_kind == "likeliest":
            return LOWEST_REWARD + tf.cast(tf.argmax(logits, axis=-1), tf.float32)
        values = LOWEST_REWARD + tf.range(logits.shape[-1], dtype=tf.float32)
        return tf.linalg.matvec(tf.nn.softmax(tf.cast(logits, tf.float32)), values)

    def _remember(self, history: tf.Tensor, reward: tf.Tensor, state: Any) -> None:
        self._history.assign(history)
        self._last_reward.assign(reward)
        for variable, value in zip(self._state, tf.nest.flatten(state), strict=True):
            variable.assign(value)

    def _time_step(self) -> ts.TimeStep:
        steps = self._steps.read_value()
        first, last = steps == 0, steps >= self._rollout_length
        step_type = tf.where(
            first, ts.StepType.FIRST, tf.where(last, ts.StepType.LAST, ts.StepType.MID)
        )
        return ts.TimeStep(
            step_type=tf.fill([self.batch_size], step_type),
            reward=self._last_reward.read_value(),
            discount=tf.ones([self.batch_size]),
            observation=self._history.read_value(),
        )


def _specs(
    history_shape: tuple[int, ...], num_actions: int
) -> tuple[ts.TimeStep, tensor_spec.BoundedTensorSpec]:
    """The real environment's specs, see `py_environment`."""
    observation = tensor_spec.BoundedTensorSpec(history_shape, tf.uint8, 0, 255, name="observation")
    action = tensor_spec.BoundedTensorSpec((), tf.int32, 0, num_actions - 1, name="action")
    return ts.time_step_spec(observation), action


def _joined(*parts: tf.Tensor) -> tf.Tensor:
    return parts[0] if len(parts) == 1 else tf.concat(parts, axis=0)


def _state_structure(model: WorldModel, batch_size: int) -> Any:
    """Shapes and types of the model's state, found by tracing it."""
    history_shape = (batch_size, model.num_input_frames, *model.frame_shape)
    warm_up = tf.function(model.initial_state, autograph=False).get_concrete_function(
        tf.TensorSpec(history_shape, tf.uint8),
        tf.TensorSpec((batch_size, model.num_input_frames - 1), tf.int32),
        tf.TensorSpec((2,), tf.int32),
        tf.TensorSpec((batch_size,), tf.int32),
    )
    return tf.nest.map_structure(tf.TensorSpec.from_tensor, warm_up.structured_outputs)


def _counter() -> ReplicaVariable:
    return ReplicaVariable([], tf.int64, split=False)


def _check(batch_size: int, rollout_length: int, reward: str) -> None:
    for name, value in {"batch_size": batch_size, "rollout_length": rollout_length}.items():
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")
    if reward not in REWARDS:
        raise ValueError(f"reward must be one of {', '.join(REWARDS)}, not {reward!r}.")
