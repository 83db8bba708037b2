r"""How fast are policies evaluated? Against the same games played at random, in one run.

    python benchmarks/evaluation.py [--game=pong] [--episodes=64] [--rounds=3] [--max_steps=300] \
        [--precision=mixed_bfloat16]

Random: every episode in one batch on all cores, actions drawn at random, four frames stacked.
Policy: the same games through `PolicyEvaluator` with the original's policy network.
Both take turns, so that other load on the machine hits both alike; the ratio is the median over
the rounds. Rates are agent steps per second of whole evaluations, their start and their end, where
few episodes are left, included.

Before that it prints the processor time of one step of all games and of one call of the policy,
which other load changes little: what share the best overlap could reach.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from absl import app, flags

from simple_tf.agents.acting import PolicyPlayer
from simple_tf.agents.policy_network import PolicyNetwork
from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.envs.game import GameSource
from simple_tf.evaluation.episodes import Quota, play_all
from simple_tf.evaluation.policy import PolicyEvaluator
from simple_tf.evaluation.protocol import EvaluationProtocol

_GAME = flags.DEFINE_string("game", "pong", "The game.")
_EPISODES = flags.DEFINE_integer("episodes", 64, "Episodes, all side by side.")
_ROUNDS = flags.DEFINE_integer("rounds", 3, "Turns of each contestant.")
_PRECISION = flags.DEFINE_string("precision", "float32", "Of the policy: or mixed_bfloat16.")
_MAX_STEPS = flags.DEFINE_integer("max_steps", 50_000, "The cap on an episode.")


def random_rate(source: GameSource, seed: int) -> float:
    """Plays the episodes at random in one batch; returns agent steps per second."""
    begin = time.perf_counter()
    with GameBatch(source, _EPISODES.value, seed, max_steps=_MAX_STEPS.value) as batch:
        quota = Quota(batch, _EPISODES.value)
        play_all([quota], RandomPolicy(batch.num_actions, seed))
    seconds = time.perf_counter() - begin
    return sum(episode.num_steps for episode in quota.episodes) / seconds


def policy_rate(evaluator: PolicyEvaluator, network: PolicyNetwork) -> float:
    """Evaluates the policy; returns agent steps per second."""
    evaluation = evaluator.evaluate(network)
    return evaluation.num_steps / evaluation.seconds


def processor_time(source: GameSource, network: PolicyNetwork) -> None:
    """Prints what a step of the games and a call of the policy cost, over all threads."""
    player = PolicyPlayer(network, 0.5)
    with GameBatch(source, _EPISODES.value, num_workers=0) as batch:
        observations = batch.reset().observations
        actions = player(observations)
        games = _milliseconds(lambda: batch.step(actions))
        policy = _milliseconds(lambda: player(observations))
    print(
        f"processor time of {_EPISODES.value} steps: games {games:.1f} ms, policy {policy:.1f} ms; "
        f"both are {(games + policy) / games:.1f} x the games alone: at most "
        f"{games / (games + policy):.0%}"
    )


def _milliseconds(work: Callable[[], object], repetitions: int = 20) -> float:
    begin = time.process_time()
    for _ in range(repetitions):
        work()
    return 1000 * (time.process_time() - begin) / repetitions


def main(_: list[str]) -> None:
    source = find_game(_GAME.value)
    game = source.make()
    network = PolicyNetwork(
        (4, *game.frame_shape), len(game.action_meanings), precision=_PRECISION.value
    )
    game.close()
    processor_time(source, network)
    protocol = EvaluationProtocol(episodes=_EPISODES.value, max_steps=_MAX_STEPS.value)
    rates = []
    for round_number in range(_ROUNDS.value):
        evaluator = PolicyEvaluator(source, protocol, seed=round_number)
        rates.append((random_rate(source, round_number), policy_rate(evaluator, network)))
        print(f"random {rates[-1][0]:6.0f}  policy {rates[-1][1]:6.0f} steps/s", flush=True)
    share = np.median([policy / random for random, policy in rates])
    print(f"{_GAME.value}: {share:.0%} of the rate of random play")


if __name__ == "__main__":
    app.run(main)
