"""Steps played by a policy in a batched TF-Agents environment."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf
from tf_agents.environments import tf_environment
from tf_agents.trajectories import time_step as ts

from simple_tf.agents.draws import fold_in, sample_actions


class Experience(NamedTuple):
    """T steps of B environments, time first.

    Attributes:
        observations: uint8 [T, B, K, H, W, C], before each step.
        actions: int32 [T, B].
        log_probabilities: [T, B], of the actions when they were chosen.
        values: [T + 1, B], of each observation and of the one after the last step.
        rewards: [T, B].
        discounts: [T, B], 0 where the game is over after the step.
        ends: bool [T, B], whether the step ended an episode (over or truncated).
        mask: float32 [T, B], 0 where a "step" only started the next episode: its action was
            ignored, and there is nothing to learn from it.
    """

    observations: tf.Tensor
    actions: tf.Tensor
    log_probabilities: tf.Tensor
    values: tf.Tensor
    rewards: tf.Tensor
    discounts: tf.Tensor
    ends: tf.Tensor
    mask: tf.Tensor


def collect(
    environment: tf_environment.TFEnvironment,
    network: tf.keras.Model,
    num_steps: int,
    iteration: int | tf.Tensor,
    seed: tf.Tensor,
) -> Experience:
    """Plays `num_steps` steps in every environment at temperature 1; traceable.

    Where all environments have ended, they are started again before the first step.

    Args:
        environment: any batched environment.
        network: maps observations and an iteration to logits and values.
        num_steps: T.
        iteration: what the network is told, scalar int32.
        seed: int [2], decides all actions.
    """
    first = _restarted_if_all_ended(environment)
    tables = _tables(first, num_steps)

    def play(t: tf.Tensor, now: ts.TimeStep, tables: Any) -> tuple[Any, ...]:
        logits, values = network(now.observation, iteration)
        actions = sample_actions(logits, 1.0, fold_in(seed, t))
        after = environment.step(actions)
        row = Experience(
            observations=now.observation,
            actions=actions,
            log_probabilities=log_probability(logits, actions),
            values=values,
            rewards=after.reward,
            discounts=after.discount,
            ends=after.is_last(),
            mask=1.0 - tf.cast(now.is_last(), tf.float32),
        )
        tables = [table.write(t, value) for table, value in zip(tables, row, strict=True)]
        return t + 1, after, tables

    _, last, tables = tf.while_loop(
        lambda t, *_: t < num_steps,
        play,
        (tf.constant(0), first, tables),
        maximum_iterations=num_steps,
        parallel_iterations=1,
    )
    played = Experience(*(table.stack() for table in tables))
    _, final_values = network(last.observation, iteration)
    return played._replace(values=tf.concat([played.values, final_values[tf.newaxis]], axis=0))


def log_probability(logits: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
    """Log-probabilities [B] of actions [B] under logits [B, A]."""
    return tf.gather(tf.nn.log_softmax(logits), actions, batch_dims=1)


def _restarted_if_all_ended(environment: tf_environment.TFEnvironment) -> ts.TimeStep:
    """The current time step, or the first of the next episodes where it would be all LAST."""
    now = environment.current_time_step()
    ignored = tf.zeros([environment.batch_size], tf.int32)
    return tf.cond(tf.reduce_all(now.is_last()), lambda: environment.step(ignored), lambda: now)


def _tables(first: ts.TimeStep, num_steps: int) -> list[tf.TensorArray]:
    batch_size = first.observation.shape[0]

    def table(dtype: tf.DType, shape: Any = (batch_size,)) -> tf.TensorArray:
        return tf.TensorArray(dtype, num_steps, element_shape=shape)

    return [
        table(tf.uint8, first.observation.shape),
        table(tf.int32),
        table(tf.float32),
        table(tf.float32),
        table(tf.float32),
        table(tf.float32),
        table(tf.bool),
        table(tf.float32),
    ]
