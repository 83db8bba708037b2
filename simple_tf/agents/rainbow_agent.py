"""TF-Agents' categorical DQN, with a loss that prioritised replay can use."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.agents.categorical_dqn import categorical_dqn_agent
from tf_agents.agents.dqn import dqn_agent
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from simple_tf.agents.rainbow_network import ReturnDistribution


class RainbowAgent(categorical_dqn_agent.CategoricalDqnAgent):
    """Learns from `Transition`s that stand for n steps each.

    TF-Agents' own loss takes no weights and tells nothing about single examples; both are what
    prioritised replay is about. The reward of a transition's next time step is the n-step return,
    its discount the factor of whatever comes after.

    Args:
        time_step_spec: of the environment.
        action_spec: of the environment.
        network: the one that learns.
        target_network: the one that judges what comes after; a copy now and then.
        optimizer: any Keras optimiser; if gradients are to be clipped, it does so.
        target_update_period: training steps between the copies.
        double: whether the learning network chooses the action after the n steps (van Hasselt
            et al., 2016), instead of the one that judges it.
    """

    def __init__(
        self,
        time_step_spec: ts.TimeStep,
        action_spec: Any,
        network: ReturnDistribution,
        target_network: ReturnDistribution,
        optimizer: tf.keras.optimizers.Optimizer,
        target_update_period: int,
        double: bool,
    ) -> None:
        self._double = double
        most = network.network.max_return
        super().__init__(
            time_step_spec,
            action_spec,
            network,
            optimizer,
            min_q_value=-most,
            max_q_value=most,
            epsilon_greedy=None,
            boltzmann_temperature=1.0,  # Neither of them is used: the trainer acts.
            target_categorical_q_network=target_network,
            target_update_period=target_update_period,
            gamma=1.0,  # Within the transitions already.
            train_step_counter=tf.Variable(0, dtype=tf.int64, trainable=False),
        )

    def _loss(
        self,
        experience: trajectory.Transition,
        td_errors_loss_fn: Any = None,
        gamma: float = 1.0,
        reward_scale_factor: float = 1.0,
        weights: tf.Tensor | None = None,
        training: bool = False,
    ) -> tf_agent.LossInfo:
        """Cross-entropy between the predicted returns and the projected ones.

        Returns:
            The weighted mean, and the unweighted loss of each example as `td_loss`, [B].
        """
        before, step, after = experience
        logits, _ = self._q_network(before.observation, training=training)
        chosen = tf.gather(logits, step.action, batch_dims=1)  # [B, Z]
        targets = self.target_distribution(after)
        losses = tf.nn.softmax_cross_entropy_with_logits(targets, chosen)
        loss = tf.reduce_mean(losses if weights is None else weights * losses)
        return tf_agent.LossInfo(loss, dqn_agent.DqnLossInfo(td_loss=losses, td_error=()))

    def target_distribution(self, after: ts.TimeStep) -> tf.Tensor:
        """What the returns should be, over the same atoms, [B, Z].

        Args:
            after: reward (the n-step return) and discount [B], and the observation after n steps.
        """
        shifted = after.reward[:, None] + after.discount[:, None] * self._support[None]
        return tf.stop_gradient(
            categorical_dqn_agent.project_distribution(
                shifted, self._next_q_distribution(after), self._support
            )
        )

    def _next_q_distribution(self, next_time_steps: ts.TimeStep) -> tf.Tensor:
        """Probabilities of the returns of the best next action, [B, Z]."""
        observations = next_time_steps.observation
        logits, _ = self._target_q_network(observations)
        judges = self._q_network(observations)[0] if self._double else logits
        best = tf.argmax(self._q_network.network.action_values(judges), axis=-1)
        return tf.gather(tf.nn.softmax(logits), best, batch_dims=1)
