"""PPO in any batched TF-Agents environment, one compiled call per update."""

from __future__ import annotations

from collections.abc import Callable

import gin
import tensorflow as tf
from tf_agents.environments import tf_environment

from simple_tf.agents import learner
from simple_tf.agents.draws import fold_in
from simple_tf.agents.experience import Experience, collect
from simple_tf.agents.learner import Metrics, PPOLearner
from simple_tf.agents.policy_network import NO_ITERATION
from simple_tf.compilation import compiled
from simple_tf.replicas import ReplicaVariable, first, on_replicas, total
from simple_tf.seeding import derive_seed_pair

METRICS = ("return", "reward", *learner.METRICS)


@gin.configurable(
    denylist=["environment", "network", "collect_experience", "split_environment", "seed"]
)
class PPOTrainer(tf.Module):
    """Lets a policy play and learn: an update is `collect_steps` steps, then `PPOLearner.learn`.

    All draws depend on the seed and on `updates_done`. `tf.train.Checkpoint(trainer=trainer)`
    holds everything (network, optimiser, counter, and the state of an environment that is
    trackable), so that a restored trainer continues as if never stopped.

    Made in the scope of a `tf.distribute` strategy, together with its environment, it splits the
    work over the replicas; the updates are those of one replica with all environments.

    Args:
        environment: where to play; simulated or, behind `TFPyEnvironment`, real.
        network: maps observations and an iteration to logits and values, see `PolicyNetwork`.
        optimizer: any Keras optimiser.
        collect_steps: T, steps that every environment plays for one update.
        name_iteration_when_acting: whether the network is told the iteration when it plays. The
            original tells it only when it learns.
        updates_per_call: updates in one compiled call.
        jit_compile: whether to compile everything with XLA (simulated environments only). XLA
            cannot compile the exchange between replicas: with several, this has no effect, and
            what compiles is the environment's step, see `SimulatedEnvironment`.
        collect_experience: plays; `interleaved.collect_interleaved` for real games in groups.
        split_environment: whether every replica plays its part of the environments. Real games
            belong to the process: they are played as one, and what was played is split.
        seed: root of all draws.
    """

    def __init__(
        self,
        environment: tf_environment.TFEnvironment,
        network: tf.keras.Model,
        optimizer: tf.keras.optimizers.Optimizer = gin.REQUIRED,
        collect_steps: int = 50,
        name_iteration_when_acting: bool = False,
        updates_per_call: int = 1,
        jit_compile: bool = False,
        collect_experience: Callable[..., Experience] = collect,
        split_environment: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__(name="ppo_trainer")
        for name, value in {
            "collect_steps": collect_steps,
            "updates_per_call": updates_per_call,
        }.items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}.")
        self.environment = environment
        self.network = network
        self.learner = PPOLearner(
            network, optimizer, environment.time_step_spec(), environment.action_spec()
        )
        self.updates_done = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.collect_steps = collect_steps
        self.updates_per_call = updates_per_call
        self._name_iteration_when_acting = name_iteration_when_acting
        self._collect = collect_experience
        self._split_environment = split_environment
        self._seed = derive_seed_pair(seed, "ppo")
        self._unfinished_returns = ReplicaVariable(
            [environment.batch_size], tf.float32, split=split_environment
        )
        self._strategy = tf.distribute.get_strategy()
        self._reset = environment.reset
        if split_environment:
            self._reset = on_replicas(self._strategy, lambda: environment.reset().reward)
        self._look = tf.function(self._watch, autograph=False)
        alone = self._strategy.num_replicas_in_sync == 1
        scalar = tf.TensorSpec([], tf.int32)
        self._compiled = compiled(
            self._run, jit_compile and alone, input_signature=[scalar, scalar]
        )

    @property
    def learned_variables(self) -> list[tf.Variable]:
        """The policy's weights and what its optimiser has gathered about them.

        Without the optimiser's count of steps, which a falling rate goes by: that is of the run,
        and goes on when an earlier policy is brought back.
        """
        optimizer = self.learner.optimizer
        gathered = [v for v in optimizer.variables if v is not optimizer.iterations]
        return [*self.network.variables, *gathered]

    def train(self, num_updates: int, iteration: int = NO_ITERATION) -> Metrics:
        """Runs updates.

        Args:
            num_updates: how many.
            iteration: what the network is told, counted from 0; or `NO_ITERATION`.

        Returns:
            Means over the updates, float32 scalars: `return`, the sum of rewards of a rollout
            or episode that ended during these updates (NaN if none did); `reward` per step;
            the learner's `METRICS`.
        """
        if num_updates < 1:
            raise ValueError(f"Expected at least 1 update, not {num_updates}.")
        totals = counts = dict.fromkeys(METRICS, tf.constant(0.0))
        for begin in range(0, num_updates, self.updates_per_call):
            num = min(self.updates_per_call, num_updates - begin)
            totals, counts = _added(
                (totals, counts), self._compiled(tf.constant(num), tf.constant(int(iteration)))
            )
        return {name: totals[name] / counts[name] for name in METRICS}

    def look(self) -> tf.Tensor:
        """Plays the steps of an update without learning from them, and counts as one.

        Only where the environment is not split.

        Returns:
            What was seen, [T, B, ...].
        """
        observations = self._look()
        self.updates_done.assign_add(1)
        return observations

    def reset_environment(self) -> None:
        """Starts new rollouts, of all replicas, whatever the old ones were at."""
        self._reset()

    def _watch(self) -> tf.Tensor:
        experience, _, _ = self._play(NO_ITERATION, fold_in(self._update_seed(), 0))
        return experience.observations

    def _update_seed(self) -> tf.Tensor:
        return fold_in(tf.constant(self._seed), self.updates_done)

    def _run(self, num_updates: tf.Tensor, iteration: tf.Tensor) -> tuple[Metrics, Metrics]:
        """Runs updates in one graph; returns sums and counts of their metrics."""
        zeros = dict.fromkeys(METRICS, tf.constant(0.0))
        _, *sums = tf.while_loop(
            lambda number, *_: number < num_updates,
            lambda number, *sums: (number + 1, *_added(sums, self.update(iteration))),
            (tf.constant(0), zeros, zeros),
            parallel_iterations=1,
        )
        return tuple(sums)

    def update(self, iteration: tf.Tensor) -> tuple[Metrics, Metrics]:
        """Plays and learns once; traceable.

        Returns:
            Sum and count of each of the metrics.
        """
        seed = self._update_seed()
        acting_as = iteration if self._name_iteration_when_acting else NO_ITERATION
        play = (acting_as, fold_in(seed, 0))
        if self._split_environment:
            experience, sums, counts = self._strategy.run(self._play, args=play)
            metrics = self.learner.learn(experience, iteration, fold_in(seed, 1))
        else:
            experience, sums, counts = self._play(*play)
            metrics = self.learner.learn_from_all(experience, iteration, fold_in(seed, 1))
        self.updates_done.assign_add(1)
        sums, counts = first(self._strategy, (sums, counts))
        ones = dict.fromkeys(metrics, tf.constant(1.0))
        return {**sums, **metrics}, {**counts, **ones}

    def _play(
        self, acting_as: int | tf.Tensor, seed: tf.Tensor
    ) -> tuple[Experience, Metrics, Metrics]:
        """Plays a replica's environments; returns sums and counts of what all of them earned."""
        looked = self._forget_returns_of_what_was_cut_off()
        # TensorFlow does not order what Python does: real games must not be played meanwhile.
        with tf.control_dependencies([looked]):
            experience = self._collect(
                self.environment, self.network, self.collect_steps, acting_as, seed
            )
        finished, num_finished = self._finished_returns(experience)
        earned = tf.reduce_sum(experience.mask * experience.rewards)
        sums = {"return": finished, "reward": earned}
        counts = {"return": num_finished, "reward": tf.reduce_sum(experience.mask)}
        return experience, *total((sums, counts))

    def _forget_returns_of_what_was_cut_off(self) -> tf.Tensor:
        """Somebody may have reset the environment in the middle of its rollouts.

        Returns:
            Something that is known when the environment has been looked at.
        """
        is_first = self.environment.current_time_step().is_first()
        returns = self._unfinished_returns
        returns.assign(tf.where(is_first, 0.0, returns.read_value()))
        return is_first

    def _finished_returns(self, experience: Experience) -> tuple[tf.Tensor, tf.Tensor]:
        """Sum of the returns that were completed, and their number; keeps the rest for later."""
        rewards = experience.mask * experience.rewards
        ends = tf.cast(experience.ends, tf.float32)
        # 1 up to and including the last end of each environment, 0 after it.
        completed = tf.minimum(tf.cumsum(ends, reverse=True), 1.0)
        before = self._unfinished_returns.read_value()
        finished = tf.reduce_sum(rewards * completed, axis=0) + before * completed[0]
        self._unfinished_returns.assign(before + tf.reduce_sum(rewards, axis=0) - finished)
        return tf.reduce_sum(finished), tf.reduce_sum(ends)


def _added(first: tuple[Metrics, Metrics], second: tuple[Metrics, Metrics]) -> tuple[Metrics, ...]:
    return tuple(
        {name: a[name] + b[name] for name in METRICS} for a, b in zip(first, second, strict=True)
    )
