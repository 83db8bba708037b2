"""One PPO update of a policy network from experience."""

from __future__ import annotations

from typing import Any

import gin
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from simple_tf.agents.advantages import (
    explained_variance,
    generalized_advantages,
    masked_mean,
    normalized,
)
from simple_tf.agents.clipped_loss import ClippedLoss, Minibatch
from simple_tf.agents.draws import fold_in
from simple_tf.agents.experience import Experience
from simple_tf.agents.minibatches import draw_minibatches, num_minibatches
from simple_tf.agents.policy_network import NO_ITERATION
from simple_tf.loss_scaling import loss_scale_for, update_if_finite
from simple_tf.replicas import first, mean, own_rows, this_replica

Metrics = dict[str, tf.Tensor]

_MINIBATCH_METRICS = (
    "loss",
    "policy_loss",
    "value_loss",
    "entropy",
    "kl",
    "clip_fraction",
    "gradient_norm",
)
_UPDATE_METRICS = ("advantage_mean", "advantage_deviation", "value_mean", "explained_variance")
METRICS = (*_MINIBATCH_METRICS, *_UPDATE_METRICS)


@gin.configurable(denylist=["network", "optimizer", "time_step_spec", "action_spec"])
class PPOLearner(tf.Module):
    """Applies PPO's minibatch steps to a network.

    With several replicas each has some of the environments; statistics and gradients are those of
    all of them.

    Args:
        network: maps observations and an iteration to logits and values, see `PolicyNetwork`.
        optimizer: any Keras optimiser.
        time_step_spec: of the environment.
        action_spec: of the environment.
        discount: gamma.
        gae_lambda: lambda of the advantages.
        clip: the probability ratio counts up to 1 +- clip.
        value_coefficient: weight of the squared error of the values.
        entropy_coefficient: weight of the policy's entropy.
        clip_norm: largest global gradient norm; 0: no clipping.
        num_passes: how often every step is used.
        minibatch_steps: time steps of a minibatch, from all environments, see
            `minibatches.draw_minibatches`.
        advantage_epsilon: added to the advantages' deviation before dividing by it. The
            original's is as good as 0; a larger one keeps noise small where rewards are rare.
        hidden_iterations: share of examples that are learned from without the iteration, as
            the policy is evaluated.
        loss_scale: for float16: the first loss scale; 0: none; None: as the network's precision
            needs it, see `LossScale`.
    """

    def __init__(
        self,
        network: tf.keras.Model,
        optimizer: tf.keras.optimizers.Optimizer,
        time_step_spec: ts.TimeStep,
        action_spec: Any,
        discount: float = 0.99,
        gae_lambda: float = 0.95,
        clip: float = 0.1,
        value_coefficient: float = 1.0,
        entropy_coefficient: float = 0.01,
        clip_norm: float = 0.5,
        num_passes: int = 3,
        minibatch_steps: int = 20,
        advantage_epsilon: float = 1e-8,
        hidden_iterations: float = 0.1,
        loss_scale: float | None = None,
    ) -> None:
        super().__init__(name="ppo_learner")
        for name, value in {"discount": discount, "gae_lambda": gae_lambda}.items():
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"PPOLearner.{name} must be from 0 to 1, not {value!r}.")
        self.network = network
        self.optimizer = optimizer
        self.discount = discount
        self.gae_lambda = gae_lambda
        self.clip_norm = clip_norm
        self.num_passes = num_passes
        self.minibatch_steps = minibatch_steps
        self.advantage_epsilon = advantage_epsilon
        self.hidden_iterations = hidden_iterations
        self._loss = ClippedLoss(
            network,
            optimizer,
            time_step_spec,
            action_spec,
            clip,
            value_coefficient,
            entropy_coefficient,
        )
        self._variables = list(network.trainable_variables)
        self._loss_scale = loss_scale_for(network, loss_scale)
        self._strategy = tf.distribute.get_strategy()
        with tf.init_scope():
            optimizer.build(self._variables)

    def learn(self, experience: Experience, iteration: int | tf.Tensor, seed: tf.Tensor) -> Metrics:
        """Applies all minibatch steps of one update; traceable.

        Args:
            experience: T steps of B environments; with several replicas, of each replica's own.
            iteration: scalar int32, told to the network with the examples that are not hidden.
            seed: int [2], decides minibatches and hidden iterations.

        Returns:
            `METRICS`, scalars: means over the minibatches, then numbers about the update.
        """
        examples, described = self._strategy.run(self._examples, args=(experience,))
        metrics = self._run_minibatches(examples, iteration, seed)
        return {**metrics, **first(self._strategy, described)}

    def learn_from_all(
        self, experience: Experience, iteration: int | tf.Tensor, seed: tf.Tensor
    ) -> Metrics:
        """As `learn`, but `experience` is of all environments: every replica takes its part."""

        def own_part(everything: Experience) -> Experience:
            return Experience(*(own_rows(values, axis=1) for values in everything))

        parts = self._strategy.run(own_part, args=(experience,))
        return self.learn(parts, iteration, seed)

    def advantages(self, experience: Experience) -> tf.Tensor:
        """Advantages [T, B]; 0 where a step does not count."""
        return experience.mask * generalized_advantages(
            experience.rewards,
            experience.discounts,
            experience.values,
            experience.ends,
            self.discount,
            self.gae_lambda,
        )

    def apply(self, minibatch: Minibatch, iterations: tf.Tensor) -> Metrics:
        """Applies one minibatch step; `iterations`, int32 [N], go to the network as they are."""
        gradients, metrics = self._strategy.run(
            self._clipped_gradients, args=(minibatch, iterations)
        )
        metrics = first(self._strategy, metrics)

        def update() -> None:
            self._strategy.run(self._update, args=(gradients,))

        update_if_finite(update, metrics["gradient_norm"], self._loss_scale)
        return metrics

    def gradients(
        self, minibatch: Minibatch, iterations: tf.Tensor
    ) -> tuple[list[tf.Tensor], Metrics]:
        """Returns the loss's gradient by the network's trainable variables, and metrics."""
        scale = 1.0 if self._loss_scale is None else self._loss_scale.value
        with tf.GradientTape() as tape:
            loss, metrics = self._loss(minibatch, iterations)
            scaled = loss * scale
        gradients = tape.gradient(
            scaled, self._variables, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        # Dense: an embedding's sparse gradient repeats rows, and its norm would come out wrong.
        dense = [tf.convert_to_tensor(gradient) / scale for gradient in gradients]
        return mean((dense, metrics))

    def _clipped_gradients(
        self, minibatch: Minibatch, iterations: tf.Tensor
    ) -> tuple[list[tf.Tensor], Metrics]:
        gradients, metrics = self.gradients(minibatch, iterations)
        norm = tf.linalg.global_norm(gradients)
        if self.clip_norm:
            gradients, _ = tf.clip_by_global_norm(gradients, self.clip_norm, use_norm=norm)
        return gradients, {**metrics, "gradient_norm": norm}

    def _update(self, gradients: list[tf.Tensor]) -> None:
        pairs = zip(gradients, self._variables, strict=True)
        self.optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)

    def _examples(self, experience: Experience) -> tuple[Minibatch, Metrics]:
        """What there is to learn from a replica's experience, and numbers about all of it."""
        advantages = self.advantages(experience)
        examples = Minibatch(
            observations=experience.observations,
            actions=experience.actions,
            log_probabilities=experience.log_probabilities,
            advantages=normalized(advantages, experience.mask, self.advantage_epsilon),
            returns=advantages + experience.values[:-1],
            mask=experience.mask,
        )
        return examples, _describe(experience, advantages)

    def _run_minibatches(
        self, examples: Minibatch, iteration: int | tf.Tensor, seed: tf.Tensor
    ) -> Metrics:
        num_steps = first(self._strategy, examples.actions).shape[0]
        count = self._num_minibatches(num_steps)
        times = draw_minibatches(num_steps, self.num_passes, self.minibatch_steps, fold_in(seed, 0))

        def step(number: tf.Tensor, sums: Metrics) -> tuple[tf.Tensor, Metrics]:
            minibatch, iterations = self._strategy.run(
                self._minibatch, args=(examples, times[number], iteration, fold_in(seed, 1, number))
            )
            metrics = self.apply(minibatch, iterations)
            return number + 1, {name: sums[name] + metrics[name] for name in sums}

        _, sums = tf.while_loop(
            lambda number, _: number < count,
            step,
            (tf.constant(0), dict.fromkeys(_MINIBATCH_METRICS, tf.constant(0.0))),
            maximum_iterations=count,
            parallel_iterations=1,
        )
        return {name: value / count for name, value in sums.items()}

    def _num_minibatches(self, num_steps: int) -> int:
        count = num_minibatches(num_steps, self.num_passes, self.minibatch_steps)
        if not count:
            raise ValueError(
                f"{self.num_passes} passes over {num_steps} steps do not fill one minibatch of "
                f"{self.minibatch_steps} time steps: collect more steps or make it smaller."
            )
        return count

    def _minibatch(
        self, examples: Minibatch, times: tf.Tensor, iteration: int | tf.Tensor, seed: tf.Tensor
    ) -> tuple[Minibatch, tf.Tensor]:
        """The examples of some time steps, and the iteration for each, hidden from some."""
        size = [times.shape[0], examples.actions.shape[1] * this_replica()[1]]
        draws = own_rows(tf.random.stateless_uniform(size, seed), axis=1)
        iterations = tf.where(draws < self.hidden_iterations, NO_ITERATION, iteration)
        return _take(examples, times), tf.reshape(iterations, [-1])


def _take(examples: Minibatch, times: tf.Tensor) -> Minibatch:
    """Gathers time steps from [T, B, ...] and flattens them to [N, ...]."""

    def rows(values: tf.Tensor) -> tf.Tensor:
        size = times.shape[0] * values.shape[1]
        return tf.reshape(tf.gather(values, times), [size, *values.shape[2:]])

    return Minibatch(*(rows(values) for values in examples))


def _describe(experience: Experience, advantages: tf.Tensor) -> Metrics:
    mask, values = experience.mask, experience.values[:-1]
    mean = masked_mean(advantages, mask)
    return {
        "advantage_mean": mean,
        "advantage_deviation": tf.sqrt(masked_mean(tf.square(advantages - mean), mask)),
        "value_mean": masked_mean(values, mask),
        "explained_variance": explained_variance(advantages + values, values, mask),
    }
