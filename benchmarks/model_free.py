r"""How fast do the model-free learners learn? End to end, and a PPO update against the original's.

    python benchmarks/model_free.py [--game=pong] [--updates=4] [--rainbow_steps=400] [--threads=1]

PPO: updates with the original's network and sizes, 16 games x 50 steps and 7 minibatches of 320.
The same games in one group (the policy waits for the emulators and they for it) and in two (each
thinks or plays while the other does) take turns, with what is idle meanwhile: how long the policy
waits for the emulators, and which share of the cores nobody uses (on a machine that does nothing
else; with one core nothing can overlap). Then the processor time of acting and of learning
alone, beside what the original took for both on one core, both divided by the machine's rate of
multiplying matrices: other load on the machine changes processor time little.

Rainbow: interactions per second while it learns, how long its learner waits for samples and for the
emulator, which share of the cores is idle, and what of a step is spent on what.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import functools
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import gin
import numpy as np
import tensorflow as tf
from absl import app, flags
from idle import IdleWatch  # Beside this file.

from simple_tf.agents.draws import fold_in
from simple_tf.agents.interleaved import collect_interleaved
from simple_tf.agents.optimizers import policy_adam
from simple_tf.agents.policy_network import NO_ITERATION, PolicyNetwork
from simple_tf.agents.ppo import PPOTrainer
from simple_tf.envs.catalog import find_game
from simple_tf.envs.real_environment import RealEnvironment
from simple_tf.training import model_free  # noqa: F401  # Makes everything known to gin.
from simple_tf.training.configuration import configure
from simple_tf.training.rainbow_learner import RainbowInRealGame

_GAME = flags.DEFINE_string("game", "pong", "The game.")
_UPDATES = flags.DEFINE_integer("updates", 4, "PPO updates of each measurement.")
_RAINBOW_STEPS = flags.DEFINE_integer("rainbow_steps", 400, "Interactions of Rainbow.")
_THREADS = flags.DEFINE_integer("threads", 0, "Of TensorFlow; 0: as many as there are cores.")
_ONLY = flags.DEFINE_enum("only", "both", ["both", "ppo", "rainbow"], "What to measure.")

# The original on one effective core: seconds to act and to optimise, and GFLOP/s of that core.
_ORIGINAL_ACTING, _ORIGINAL_LEARNING, _ORIGINAL_RATE = 2.5, 19.0, 65.0
_STEPS = 50
_compiled = functools.partial(tf.function, autograph=False)
_WARM_UP = 150


def matrix_rate(size: int = 1024, repetitions: int = 20) -> float:
    """GFLOP per second of processor time, multiplying float32 matrices."""
    matrix = tf.random.stateless_normal([size, size], [0, 0])
    multiply = _compiled(lambda: tf.linalg.matmul(matrix, matrix))
    seconds = _processor_seconds(lambda: multiply().numpy(), repetitions)
    return 2 * size**3 / seconds / 1e9


def _processor_seconds(work: Callable[[], object], repetitions: int) -> float:
    """Of one repetition, over all threads of this process; the first one does not count."""
    work()
    begin = time.process_time()
    for _ in range(repetitions):
        work()
    return (time.process_time() - begin) / repetitions


def _trainer(groups: int) -> PPOTrainer:
    environment = RealEnvironment(find_game(_GAME.value), num_slots=16, num_groups=groups)
    network = PolicyNetwork(environment.observation_shape, environment.num_actions)
    return PPOTrainer(
        environment,
        network,
        policy_adam(),
        collect_steps=_STEPS,
        collect_experience=collect_interleaved,
    )


class Rate(NamedTuple):
    """Interactions per second, and what was idle meanwhile."""

    per_second: float
    watch: IdleWatch


def _measured(trainer: PPOTrainer, work: Callable[[], object]) -> Rate:
    environment = trainer.environment
    environment.take_finished()
    with IdleWatch([group.games.batch for group in environment.groups]) as watch:
        work()
        played = environment.take_finished().interactions
    return Rate(played / watch.seconds, watch)


def _rate(trainer: PPOTrainer) -> Rate:
    """Playing and learning."""
    return _measured(trainer, lambda: trainer.train(_UPDATES.value))


def _playing_rate(trainer: PPOTrainer) -> Rate:
    """Without learning."""
    environment = trainer.environment
    play = _compiled(
        lambda: (
            collect_interleaved(
                environment, trainer.network, _STEPS, NO_ITERATION, tf.constant([0, 1])
            ).values
        )
    )
    play()
    return _measured(trainer, lambda: [play() for _ in range(_UPDATES.value)])


def measure_ppo() -> None:
    """Prints rates with one and with two groups, and the comparison with the original."""
    trainers = {groups: _trainer(groups) for groups in (1, 2)}
    for trainer in trainers.values():
        trainer.train(1)
    for what, rate in (("playing alone", _playing_rate), ("end to end", _rate)):
        rates = {groups: rate(trainer) for groups, trainer in trainers.items()}
        one, two = (rates[groups].per_second for groups in (1, 2))
        print(
            f"PPO, {what}: {one:.0f} interactions/s in one group, {two:.0f} in two "
            f"({two / one:.2f} x)"
        )
        for groups, (_, watch) in rates.items():
            print(f"  {('one group', 'two groups')[groups - 1]}: {_idle(watch)}", flush=True)
    _compare_update(trainers[2])
    for trainer in trainers.values():
        trainer.environment.close()


def _idle(watch: IdleWatch) -> str:
    cores = len(os.sched_getaffinity(0))
    return (
        f"waits for the emulators {watch.waiting_for_games:.1%} of the time; {watch.idle:.1%} of "
        f"{cores} cores idle"
    )


def _compare_update(trainer: PPOTrainer) -> None:
    seed, network = tf.constant([0, 0]), trainer.network
    observations = trainer.environment.current_time_step().observation
    act = _compiled(lambda: network(observations, NO_ITERATION))
    acting = (_STEPS + 1) * _processor_seconds(lambda: act()[1].numpy(), 20)
    played = _compiled(
        lambda: collect_interleaved(
            trainer.environment, network, _STEPS, NO_ITERATION, fold_in(seed, 1)
        )
    )()
    learn = _compiled(lambda: trainer.learner.learn(played, NO_ITERATION, seed)["loss"])
    learning = _processor_seconds(lambda: learn().numpy(), _UPDATES.value)
    rate = matrix_rate()
    print(
        f"PPO, one update: {acting:.2f} s of processor time to act, {learning:.2f} s to learn; "
        f"matrices at {rate:.0f} GFLOP/s"
    )
    for what, ours, theirs in (
        ("acting", acting, _ORIGINAL_ACTING),
        ("learning", learning, _ORIGINAL_LEARNING),
        ("both", acting + learning, _ORIGINAL_ACTING + _ORIGINAL_LEARNING),
    ):
        ratio = theirs * _ORIGINAL_RATE / (ours * rate)
        print(f"  {what}: {ratio:.1f} x as fast as the original's {theirs} s, per GFLOP/s")


def measure_rainbow() -> None:
    """Prints rates, and how the time of an interaction divides."""
    configure(
        ["rainbow.gin"],
        [
            f"RainbowTrainer.min_replay_history = {_WARM_UP}",
            f"RainbowTrainer.epsilon_decay = {_WARM_UP}",
        ],
    )
    with tempfile.TemporaryDirectory() as folder:
        learner = RainbowInRealGame(find_game(_GAME.value), 0, Path(folder) / "replay")
        learner.train(3 * _WARM_UP)  # Fills the replay, and compiles.
        with IdleWatch([learner._group.games.batch]) as watch:
            metrics = learner.train(_RAINBOW_STEPS.value)
        trainer = learner._trainer
        sample = trainer.replay.sample()
        training = _processor_seconds(lambda: trainer._train_step(sample)[0].numpy(), 10)
        observation = np.zeros((1, *learner.network.observation_shape), np.uint8)
        acting = _processor_seconds(lambda: trainer._best_action(observation).numpy(), 50)
        learner.close()
    print(
        f"Rainbow, end to end: {_RAINBOW_STEPS.value / watch.seconds:.0f} interactions/s, "
        f"{metrics['training_steps']:.2f} training steps each\n"
        f"  the learner waits for samples {metrics['waiting']:.1%} of the time; {_idle(watch)}\n"
        f"  processor time: {1000 * training:.0f} ms for a training step, {1000 * acting:.1f} ms "
        "to act"
    )
    gin.clear_config()


def main(_: list[str]) -> None:
    if _THREADS.value:
        tf.config.threading.set_intra_op_parallelism_threads(_THREADS.value)
        tf.config.threading.set_inter_op_parallelism_threads(_THREADS.value)
    if _ONLY.value != "rainbow":
        measure_ppo()
    if _ONLY.value != "ppo":
        measure_rainbow()


if __name__ == "__main__":
    app.run(main)
