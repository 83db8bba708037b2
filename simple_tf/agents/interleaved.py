"""Playing in groups: the policy thinks about one while the games of the others go on."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from simple_tf.agents.draws import fold_in, sample_actions
from simple_tf.agents.experience import Experience, log_probability
from simple_tf.envs.real_environment import GameGroup, RealEnvironment, merged


class _Row(NamedTuple):
    """What is known of step t before it is played; rewards come with the next row."""

    now: ts.TimeStep
    actions: tf.Tensor
    log_probabilities: tf.Tensor
    values: tf.Tensor


def collect_interleaved(
    environment: RealEnvironment,
    network: tf.keras.Model,
    num_steps: int,
    iteration: int | tf.Tensor,
    seed: tf.Tensor,
) -> Experience:
    """As `experience.collect`, group by group; traceable.

    Each group's step is only waited for when its turn comes again.

    Args:
        environment: games in groups.
        network: maps observations and an iteration to logits and values.
        num_steps: T.
        iteration: what the network is told, scalar int32.
        seed: int [2], decides all actions.
    """
    groups = environment.groups

    def act(group: GameGroup, draw: tf.Tensor) -> tuple[_Row, tf.Tensor]:
        now = group.receive()
        logits, values = network(now.observation, iteration)
        actions = sample_actions(logits, 1.0, draw)
        row = _Row(now, actions, log_probability(logits, actions), values)
        return row, group.send(actions)

    def play(t: tf.Tensor, tables: list[tf.TensorArray]) -> tuple[tf.Tensor, Any]:
        rows, sent = zip(*(act(g, fold_in(seed, t, n)) for n, g in enumerate(groups)), strict=True)
        parts = tf.nest.flatten(merged(list(rows)))
        tables = [table.write(t, part) for table, part in zip(tables, parts, strict=True)]
        # Nothing else in the loop would wait for the last actions.
        with tf.control_dependencies(sent):
            return t + 1, tables

    played, tables = tf.while_loop(
        lambda t, _: t < num_steps,
        play,
        (tf.constant(0), _tables(environment, num_steps)),
        maximum_iterations=num_steps,
        parallel_iterations=1,
    )
    rows = tf.nest.pack_sequence_as(_row_spec(environment), [table.stack() for table in tables])
    with tf.control_dependencies([played]):
        last = environment.current_time_step()
    _, last_values = network(last.observation, iteration)
    return _experience(rows, last, last_values)


def _row_spec(environment: RealEnvironment) -> _Row:
    scalar = tf.TensorSpec([], tf.float32)
    return _Row(environment.time_step_spec(), environment.action_spec(), scalar, scalar)


def _tables(environment: RealEnvironment, num_steps: int) -> list[tf.TensorArray]:
    size = environment.batch_size
    return [
        tf.TensorArray(spec.dtype, num_steps, element_shape=[size, *spec.shape])
        for spec in tf.nest.flatten(_row_spec(environment))
    ]


def _experience(rows: _Row, last: ts.TimeStep, last_values: tf.Tensor) -> Experience:
    """Moves what each step has brought from the row after it to its own."""

    def later(of_rows: tf.Tensor, of_last: tf.Tensor) -> tf.Tensor:
        return tf.concat([of_rows[1:], of_last[tf.newaxis]], axis=0)

    return Experience(
        observations=rows.now.observation,
        actions=rows.actions,
        log_probabilities=rows.log_probabilities,
        values=tf.concat([rows.values, last_values[tf.newaxis]], axis=0),
        rewards=later(rows.now.reward, last.reward),
        discounts=later(rows.now.discount, last.discount),
        ends=later(rows.now.is_last(), last.is_last()),
        mask=1.0 - tf.cast(rows.now.is_last(), tf.float32),
    )
