"""Rainbow as Dopamine has it: categorical DQN, n-step returns, prioritised replay."""

from __future__ import annotations

import time
from collections.abc import Mapping

import gin
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step, trajectory
from tf_agents.trajectories import time_step as ts

from simple_tf.agents.n_step import n_step_return
from simple_tf.agents.rainbow_agent import RainbowAgent
from simple_tf.agents.rainbow_network import RainbowNetwork, ReturnDistribution
from simple_tf.agents.replay import Replay, Sample
from simple_tf.agents.replay_writer import ReplayWriter
from simple_tf.envs.real_environment import GameGroup
from simple_tf.envs.slot import LAST
from simple_tf.seeding import derive_seed

_LEAST = 1e-10  # Dopamine's: added to losses and probabilities.


@gin.configurable(denylist=["group", "network", "target_network", "replay", "seed"])
class RainbowTrainer(tf.Module):
    """Plays one real game and learns from replay.

    All counts of steps are interactions, as in Dopamine. Which items Reverb draws is not decided
    by our seed: two runs are never the same.

    Args:
        group: one game.
        network: learns and plays.
        target_network: another one like it.
        replay: where steps go; its items decide how many steps (n) a transition has.
        optimizer: any Keras optimiser.
        gamma: discount.
        min_replay_history: items in replay before learning begins.
        update_period: steps between two training steps.
        target_update_period: steps between two copies to the target network.
        final_epsilon: probability of a random action in the end.
        epsilon_decay: steps over which it falls to that from 1, once learning has begun.
        double: see `RainbowAgent`.
        seed: of actions.
    """

    def __init__(
        self,
        group: GameGroup,
        network: RainbowNetwork,
        target_network: RainbowNetwork,
        replay: Replay,
        optimizer: tf.keras.optimizers.Optimizer = gin.REQUIRED,
        gamma: float = 0.99,
        min_replay_history: int = gin.REQUIRED,
        update_period: int = gin.REQUIRED,
        target_update_period: int = gin.REQUIRED,
        final_epsilon: float = 0.01,
        epsilon_decay: int = gin.REQUIRED,
        double: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(name="rainbow_trainer")
        self.group = group
        self.network = network
        self.replay = replay
        self.interactions = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._max_priority = tf.Variable(1.0, trainable=False)
        self._gamma = gamma
        self._min_replay_history = min_replay_history
        self._update_period = update_period
        self._final_epsilon = final_epsilon
        self._epsilon_decay = epsilon_decay
        self._seed = seed
        self._writer: ReplayWriter | None = None
        observation, action = _specs(network)
        self.agent = RainbowAgent(
            ts.time_step_spec(observation),
            action,
            ReturnDistribution(network, observation, "learning"),
            ReturnDistribution(target_network, observation, "target"),
            optimizer,
            # TF-Agents counts training steps.
            max(target_update_period // update_period, 1),
            double,
        )
        with tf.init_scope():
            optimizer.build(network.trainable_variables)
        self._best_action = tf.function(self._greedy, autograph=False)
        self._train_step = tf.function(self._train, autograph=False)

    def train(self, num_steps: int) -> Mapping[str, float]:
        """Plays so many steps, and learns in between.

        Returns:
            `loss`, the mean over the training steps (left out if there was none); `epsilon`, the
            probability of a random action; `waiting`, the share of time that the learner has
            waited for samples; `training_steps` per interaction.
        """
        begin, waited, losses = time.perf_counter(), 0.0, []
        for _ in range(num_steps):
            learned = self._interact()
            if learned is not None:
                losses.append(learned[0])
                waited += learned[1]
        return {
            **({"loss": float(np.mean(losses))} if losses else {}),
            "epsilon": self.epsilon(int(self.interactions.numpy())),
            "waiting": waited / (time.perf_counter() - begin),
            "training_steps": len(losses) / num_steps,
        }

    def epsilon(self, step: int) -> float:
        """Probability of a random action at a step."""
        since = step - self._min_replay_history
        falling = 1.0 - max(since, 0) / self._epsilon_decay * (1.0 - self._final_epsilon)
        return max(falling, self._final_epsilon)

    def _interact(self) -> tuple[float, float] | None:
        """Plays one step; while the emulator is at it, learns if it is time to."""
        games, step = self.group.games, int(self.interactions.numpy())
        writer = self._writer or self._new_writer()
        frame = games.step.observations[0, -1].copy()
        action = self._choose(games.step.observations, step)
        games.send(np.array([action], np.int32))
        learned = self._learn() if self._is_time_to_learn(step) else None
        after, priority = games.step, float(self._max_priority.numpy())
        over = bool(after.terminated[0])
        writer.add(frame, action, float(after.reward[0]), 0.0 if over else 1.0, priority)
        if after.step_type[0] == LAST:
            writer.end(after.observations[0, -1].copy(), over, priority)
            games.send(np.zeros(1, np.int32))
            writer.begin(games.step.observations[0].copy())
        self.interactions.assign_add(1)
        return learned

    def _new_writer(self) -> ReplayWriter:
        """At the start of a run, or when it is taken up again."""
        if not self.interactions.numpy():
            self.agent.initialize()  # Both networks begin alike.
        games = self.group.games
        if games.step.step_type[0] == LAST:
            games.send(np.zeros(1, np.int32))
        self._writer = ReplayWriter(self.replay)
        self._writer.begin(games.step.observations[0].copy())
        return self._writer

    def _choose(self, observations: np.ndarray, step: int) -> int:
        draw = np.random.default_rng(derive_seed(self._seed, "rainbow action", step))
        if draw.random() < self.epsilon(step):
            return int(draw.integers(self.network.num_actions))
        return int(self._best_action(observations).numpy()[0])

    def _greedy(self, observations: tf.Tensor) -> tf.Tensor:
        logits = self.network.return_logits(observations)
        return tf.argmax(self.network.action_values(logits), axis=-1)

    def _is_time_to_learn(self, step: int) -> bool:
        return self.replay.size >= self._min_replay_history and step % self._update_period == 0

    def _learn(self) -> tuple[float, float]:
        """Makes a training step; returns its loss, and how long it waited for the sample."""
        begin = time.perf_counter()
        sample = self.replay.sample()
        waited = time.perf_counter() - begin
        loss, losses = self._train_step(sample)
        if self.replay.spec.prioritized:
            priorities = np.sqrt(losses.numpy() + _LEAST)
            self.replay.set_priorities(sample.keys.numpy(), priorities)
            self._max_priority.assign(max(float(self._max_priority), float(priorities.max())))
        return float(loss), waited

    def _train(self, sample: Sample) -> tuple[tf.Tensor, tf.Tensor]:
        """Traceable; returns the weighted loss, and that of each example [B]."""
        weights = importance(sample.probabilities) if self.replay.spec.prioritized else None
        transition = as_transition(sample, self.replay.spec.stack, self._gamma)
        with tf.summary.record_if(False):
            info = self.agent.train(transition, weights)
        return info.loss, info.extra.td_loss


def importance(probabilities: tf.Tensor) -> tf.Tensor:
    """Weights [B] that make up, in part, for what is drawn more often; the largest is 1."""
    weights = tf.math.rsqrt(tf.cast(probabilities, tf.float32) + _LEAST)
    return weights / tf.reduce_max(weights)


def as_transition(sample: Sample, stack: int, gamma: float) -> trajectory.Transition:
    """Turns items of n steps each into single transitions of TF-Agents."""
    returns, factors = n_step_return(sample.rewards, sample.discounts, gamma)
    before, after = sample.frames[:, :stack], sample.frames[:, -stack:]
    ones = tf.ones_like(returns)
    step_type = tf.fill(tf.shape(returns), ts.StepType.MID)
    return trajectory.Transition(
        ts.TimeStep(step_type, tf.zeros_like(returns), ones, before),
        policy_step.PolicyStep(sample.actions, (), ()),
        ts.TimeStep(step_type, returns, factors, after),
    )


def _specs(network: RainbowNetwork) -> tuple[tf.TypeSpec, tf.TypeSpec]:
    observation = tensor_spec.BoundedTensorSpec(
        network.observation_shape, tf.uint8, 0, 255, name="observation"
    )
    action = tensor_spec.BoundedTensorSpec((), tf.int32, 0, network.num_actions - 1, name="action")
    return observation, action
