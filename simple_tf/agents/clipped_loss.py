"""TF-Agents' clipped PPO loss around a network that gives logits and values at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.agents.ppo import ppo_clip_agent
from tf_agents.networks import network as network_lib
from tf_agents.trajectories import time_step as ts

from simple_tf.agents.policy_network import NO_ITERATION
from simple_tf.replicas import mean


class Minibatch(NamedTuple):
    """N steps to learn from.

    Attributes:
        observations: uint8 [N, K, H, W, C].
        actions: int32 [N].
        log_probabilities: [N], of the actions when they were chosen.
        advantages: [N], normalised.
        returns: [N], what the values should be.
        mask: [N], 1 for steps that count and 0 for others.
    """

    observations: tf.Tensor
    actions: tf.Tensor
    log_probabilities: tf.Tensor
    advantages: tf.Tensor
    returns: tf.Tensor
    mask: tf.Tensor


class SharedTrunk:
    """Runs one network for the two that TF-Agents asks for.

    TF-Agents' loss calls an actor network and then a value network on the same observations. What
    is known already about exactly that tensor is handed to both; about any other, the network is
    asked, without an iteration.

    Args:
        network: maps observations and an iteration to logits and values.
    """

    def __init__(self, network: tf.keras.Model) -> None:
        self.network = network
        self._known: tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]] | None = None

    @contextlib.contextmanager
    def knowing(
        self, observations: tf.Tensor, outputs: tuple[tf.Tensor, tf.Tensor]
    ) -> Iterator[None]:
        """Within this context, `outputs` are the answer to `observations`."""
        self._known = observations, outputs
        try:
            yield
        finally:
            self._known = None  # Tensors must not outlive the trace they belong to.

    def __call__(self, observations: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns logits [N, A] and values [N]."""
        if self._known is not None and observations is self._known[0]:
            return self._known[1]
        return self.network(observations, NO_ITERATION)


class _Head(network_lib.Network):
    """One of TF-Agents' two networks."""

    def __init__(self, shared: SharedTrunk, input_tensor_spec: Any, name: str) -> None:
        super().__init__(input_tensor_spec=input_tensor_spec, state_spec=(), name=name)
        self._shared = shared
        self._network = shared.network  # Makes its variables this network's.


class ActorHead(_Head):
    """The network's action distribution, as TF-Agents' actor network."""

    def call(
        self,
        observations: tf.Tensor,
        step_type: tf.Tensor | None = None,
        network_state: Any = (),
        training: bool = False,
    ) -> tuple[tfp.distributions.Distribution, Any]:
        """See `tf_agents.networks.Network`."""
        logits, _ = self._shared(observations)
        return tfp.distributions.Categorical(logits=logits, dtype=tf.int32), network_state


class ValueHead(_Head):
    """The network's value, as TF-Agents' value network."""

    def call(
        self,
        observations: tf.Tensor,
        step_type: tf.Tensor | None = None,
        network_state: Any = (),
        training: bool = False,
    ) -> tuple[tf.Tensor, Any]:
        """See `tf_agents.networks.Network`."""
        return self._shared(observations)[1], network_state


class ClippedLoss:
    """The loss of TF-Agents' `PPOClipAgent` on minibatches, with advantages from outside.

    Args:
        network: maps observations and an iteration to logits and values.
        optimizer: TF-Agents wants to see it.
        time_step_spec: of the environment.
        action_spec: of the environment.
        clip: the probability ratio counts up to 1 +- clip.
        value_coefficient: weight of the squared error of the values.
        entropy_coefficient: weight of the policy's entropy.
    """

    def __init__(
        self,
        network: tf.keras.Model,
        optimizer: tf.keras.optimizers.Optimizer,
        time_step_spec: ts.TimeStep,
        action_spec: Any,
        clip: float,
        value_coefficient: float,
        entropy_coefficient: float,
    ) -> None:
        self._shared = SharedTrunk(network)
        observation_spec = time_step_spec.observation
        self.agent = ppo_clip_agent.PPOClipAgent(
            time_step_spec,
            action_spec,
            optimizer=optimizer,
            actor_net=ActorHead(self._shared, observation_spec, "actor"),
            value_net=ValueHead(self._shared, observation_spec, "value"),
            greedy_eval=False,
            importance_ratio_clipping=clip,
            entropy_regularization=entropy_coefficient,
            value_pred_loss_coef=value_coefficient,
            policy_l2_reg=0.0,
            value_function_l2_reg=0.0,
            shared_vars_l2_reg=0.0,
            num_epochs=1,
            use_gae=False,  # Advantages come from outside,
            use_td_lambda_return=False,  # and so do returns.
            normalize_rewards=False,
            normalize_observations=False,
            log_prob_clipping=0.0,
            gradient_clipping=None,  # Whoever applies the gradient clips it.
            value_clipping=None,
            # Otherwise the loss would run the value network once more, for nothing.
            compute_value_and_advantage_in_train=True,
            update_normalizers_in_train=False,
            aggregate_losses_across_replicas=False,  # Whoever sums the gradients does that.
            debug_summaries=False,
            summarize_grads_and_vars=False,
            train_step_counter=tf.Variable(0, dtype=tf.int64, trainable=False),
        )

    def __call__(
        self, minibatch: Minibatch, iterations: tf.Tensor
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """Returns the loss to minimise and metrics.

        With several replicas, the mean of what they return is that of their minibatches together.

        Args:
            minibatch: the steps.
            iterations: int32 [N], what the network is told with each of them.
        """
        logits, values = self._shared.network(minibatch.observations, iterations)
        weights = _weights(minibatch.mask)
        # TF-Agents writes summaries wherever it finds a writer; the loop alone logs.
        with (
            self._shared.knowing(minibatch.observations, (logits, values)),
            tf.summary.record_if(False),
        ):
            info = self.agent.get_loss(
                _time_steps(minibatch.observations),
                minibatch.actions,
                minibatch.log_probabilities,
                minibatch.returns,
                minibatch.advantages,
                action_distribution_parameters=(),
                weights=weights,
                train_step=self.agent.train_step_counter,
                debug_summaries=False,
                training=True,
            )
        metrics = {
            "loss": info.loss,
            "policy_loss": info.extra.policy_gradient_loss,
            "value_loss": info.extra.value_estimation_loss,
            **_policy_metrics(logits, minibatch, weights),
            "clip_fraction": info.extra.clip_fraction,
        }
        return info.loss, metrics


def _policy_metrics(
    logits: tf.Tensor, minibatch: Minibatch, weights: tf.Tensor
) -> dict[str, tf.Tensor]:
    """Entropy, and the divergence of the policy from the one that played."""
    log_softmax = tf.nn.log_softmax(logits)
    entropy = -tf.reduce_sum(tf.exp(log_softmax) * log_softmax, axis=-1)
    change = tf.gather(log_softmax, minibatch.actions, batch_dims=1) - minibatch.log_probabilities
    # Not the plain mean of -change: this estimate is never negative and varies less.
    divergence = tf.math.expm1(change) - change
    return {
        "entropy": tf.reduce_mean(weights * entropy),
        "kl": tf.reduce_mean(weights * divergence),
    }


def _weights(mask: tf.Tensor) -> tf.Tensor:
    """Weights whose mean over the whole minibatch is 1, so that means are over what counts."""
    return tf.math.divide_no_nan(mask, mean(tf.reduce_mean(mask)))


def _time_steps(observations: tf.Tensor) -> ts.TimeStep:
    """The loss looks at observations only."""
    ones = tf.ones([tf.shape(observations)[0]])
    return ts.TimeStep(
        step_type=tf.fill(tf.shape(ones), ts.StepType.MID),
        reward=tf.zeros_like(ones),
        discount=ones,
        observation=observations,
    )
