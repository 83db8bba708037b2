"""What the steps of a configuration cost in arithmetic, counted in their graphs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from simple_tf.agents.clipped_loss import Minibatch
from simple_tf.agents.minibatches import num_minibatches
from simple_tf.agents.ppo import PPOTrainer
from simple_tf.models.flops import count_flops
from simple_tf.models.interface import WorldModel
from simple_tf.models.trainer import WorldModelTrainer
from simple_tf.training.schedule import Schedule


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """Floating-point operations of convolutions and matrix products.

    Attributes:
        training_step: one training step of the world model.
        simulated_step: one step of all simulated environments in the world model.
        acting_step: one step of the policy in all of them.
        learning: all minibatch steps of one PPO update.
        steps_per_update: simulated steps of one update.
    """

    training_step: int
    simulated_step: int
    acting_step: int
    learning: int
    steps_per_update: int

    @property
    def update(self) -> int:
        """One update of the policy, its simulated play included."""
        return self.learning + self.steps_per_update * (self.simulated_step + self.acting_step)

    def of_run(self, schedule: Schedule) -> int:
        """All training of a run; evaluations are not counted."""
        return (
            sum_over_iterations(schedule.world_model_steps_of, schedule) * self.training_step
            + sum_over_iterations(schedule.policy_updates_of, schedule) * self.update
        )


def sum_over_iterations(amount: Callable[[int], int], schedule: Schedule) -> int:
    """The sum of an amount over all iterations but the random play."""
    return sum(amount(iteration) for iteration in range(1, schedule.iterations + 1))


def count_arithmetic(
    trainer: WorldModelTrainer, batch_size: int, num_target_frames: int, policy: PPOTrainer
) -> Arithmetic:
    """Traces the steps and counts.

    Args:
        trainer: of the world model.
        batch_size: windows of a training step.
        num_target_frames: n.
        policy: of the policy, in the simulated environment.
    """
    environments = policy.environment.batch_size
    return Arithmetic(
        training_step=_training_step(trainer, batch_size, num_target_frames),
        simulated_step=simulated_step(trainer.model, environments),
        acting_step=_acting_step(policy),
        learning=_learning(policy),
        steps_per_update=policy.collect_steps,
    )


def _training_step(trainer: WorldModelTrainer, batch_size: int, num_target_frames: int) -> int:
    model = trainer.model
    length = model.num_input_frames + num_target_frames
    return _count(
        trainer.apply,
        tf.TensorSpec([batch_size, length, *model.frame_shape], tf.uint8),
        tf.TensorSpec([batch_size, length - 1], tf.int32),
        tf.TensorSpec([batch_size, length - 1], tf.int32),
    )


def simulated_step(model: WorldModel, batch_size: int) -> int:
    """Operations of one step of a world model."""
    frames = tf.zeros([batch_size, model.num_input_frames, *model.frame_shape], tf.uint8)
    actions = tf.zeros([batch_size, model.num_input_frames - 1], tf.int32)

    def step(frames: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
        # The state's shape is all that counts.
        state = tf.nest.map_structure(
            lambda spec: tf.zeros(spec.shape, spec.dtype), _state_specs(model, frames, actions)
        )
        return model.step(state, frames, actions[:, 0], tf.constant([0, 0])).outputs

    return _count(step, frames, actions)


def _state_specs(model: WorldModel, frames: tf.Tensor, actions: tf.Tensor) -> object:
    concrete = tf.function(model.initial_state, autograph=False).get_concrete_function(
        tf.TensorSpec(frames.shape, frames.dtype), tf.TensorSpec(actions.shape, actions.dtype)
    )
    return concrete.structured_outputs


def _acting_step(policy: PPOTrainer) -> int:
    environment = policy.environment
    shape = [environment.batch_size, *environment.observation_spec().shape]
    return _count(lambda frames: policy.network(frames)[0], tf.TensorSpec(shape, tf.uint8))


def _learning(policy: PPOTrainer) -> int:
    learner, environment = policy.learner, policy.environment
    steps = learner.minibatch_steps * environment.batch_size
    number = num_minibatches(policy.collect_steps, learner.num_passes, learner.minibatch_steps)
    column = tf.TensorSpec([steps], tf.float32)
    minibatch = Minibatch(
        observations=tf.TensorSpec([steps, *environment.observation_spec().shape], tf.uint8),
        actions=tf.TensorSpec([steps], tf.int32),
        log_probabilities=column,
        advantages=column,
        returns=column,
        mask=column,
    )
    iterations = tf.TensorSpec([steps], tf.int32)
    return number * _count(lambda *args: learner.gradients(*args)[0], minibatch, iterations)


def _count(function: Callable[..., Any], *arguments: object) -> int:
    concrete = tf.function(function, autograph=False).get_concrete_function(*arguments)
    return count_flops(concrete.graph)
