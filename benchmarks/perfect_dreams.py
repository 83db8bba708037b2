r"""What a policy would learn if its dreams were true: the loop with the emulator as world model.

    python benchmarks/perfect_dreams.py --game=pong --seed=0 \
        [--gin_file=cpu.gin] [--gin_bindings=ROLLOUT_LENGTH=25]

The schedule, the policy, PPO and the share of starts before rewards are those of the configuration,
as in `python -m simple_tf.train`; rollouts start from all that has been played, and every policy is
followed by the next. The world model is another: states of the emulator are kept while the game is
played, and every rollout goes on from one of them in the emulator itself. What is
still missing from a good score is PPO's, or the schedule's; what a run of `simple_tf.train` lacks
beside it is the model's. Nothing is saved, and what is played in dreams is not counted: a control,
not a way to learn a game. Atari games only, on one core; all moments are held in memory (a gigabyte
for 100,000 of cpu.gin's).

For each iteration: rewards gained and lost in its collection, the rollouts' mean reward at the
beginning and the end of its updates, and the policy's entropy; at last the final evaluation.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import gin
import numpy as np
import tensorflow as tf
from absl import flags
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from simple_tf.agents.draws import sample_actions
from simple_tf.agents.experience import Experience, log_probability
from simple_tf.agents.learner import PPOLearner
from simple_tf.agents.optimizers import policy_adam
from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.envs.agent_view import AgentView
from simple_tf.envs.atari import AtariGame, AtariSource
from simple_tf.envs.catalog import find_game
from simple_tf.evaluation.policy import PolicyEvaluator
from simple_tf.evaluation.protocol import protocol_for
from simple_tf.training import command_line, experiment  # noqa: F401  # Makes all known to gin.
from simple_tf.training.configuration import configure
from simple_tf.training.networks import build_policy
from simple_tf.training.schedule import Schedule

_GAME = flags.DEFINE_string("game", "pong", "An Atari game.")
_SEED = flags.DEFINE_integer("seed", 0, "Decides every random draw.")
_GIN_FILE = flags.DEFINE_multi_string("gin_file", ["cpu.gin"], "As for training.")
_GIN_BINDINGS = flags.DEFINE_multi_string("gin_bindings", [], "Further bindings.")

_STACK = 4
_SEEN_FRAMES = 1000
_BEFORE, _AFTER = slice(None, -1), slice(1, None)  # Of what is known before and after every step.


def bound(name: str, default: Any) -> Any:
    """Returns what gin binds to a parameter, or the parameter's default."""
    try:
        return gin.query_parameter(name)
    except ValueError:  # Not bound.
        return default


class Moment(NamedTuple):
    """Where a rollout can start.

    Attributes:
        state: the emulator's.
        observation: uint8 [K, H, W, C].
    """

    state: Any
    observation: np.ndarray


class Seat:
    """One emulator, and what the agent sees of it."""

    def __init__(self, game: AtariGame) -> None:
        self._game = game
        self._view = AgentView(game, max_steps=None)
        self.observation = np.zeros((_STACK, *game.frame_shape), np.uint8)
        self.over = True

    def start(self, seed: int) -> None:
        """Starts an episode."""
        self._view.start(seed, self.observation)
        self.over = False

    def moment(self) -> Moment:
        """Returns what it takes to go on from here, as often as one likes."""
        return Moment(self._game.snapshot(), self.observation.copy())

    def go_to(self, moment: Moment) -> None:
        """Goes on from an earlier moment."""
        self._game.restore(moment.state)
        self.observation[:] = moment.observation
        self.over = False

    def step(self, action: int) -> int:
        """Plays one step, nothing if the game is over; returns the clipped reward."""
        if self.over:
            return 0
        step = self._view.step(action, self.observation, self.observation)
        self.over = step.terminated
        return step.reward


class Moments:
    """All that has been played, and where rollouts start: shares as `StartSampler` has them.

    With `balanced`, gains and losses are exactly as many; there, to within a factor of two.

    Args:
        seed: of the draws.
    """

    def __init__(self, seed: int) -> None:
        self.all: list[Moment] = []
        self._before: dict[int, list[list[int]]] = {-1: [], 1: []}
        self._rng = np.random.default_rng(seed)
        self._share = bound("StartSampler.rewarded_share", 0.0)
        self._lead = bound("StartSampler.lead", 50)
        self._balanced = bound("StartSampler.balanced", False)

    def add(self, moment: Moment) -> int:
        """Returns the moment's number."""
        self.all.append(moment)
        return len(self.all) - 1

    def add_reward(self, reward: int, episode: Sequence[int]) -> None:
        """Notes a reward after the last of an episode's moments."""
        self._before[reward].append(list(episode[-self._lead :]))

    def draw(self, count: int) -> list[Moment]:
        """Draws as many moments, the share of those before rewards last."""
        reserved = round(self._share * count)
        leads = [self._draw_lead() for _ in range(reserved)]
        others = self._rng.integers(len(self.all), size=count - reserved)
        anywhere = self._rng.integers(len(self.all), size=reserved)
        chosen = [a if lead is None else lead for a, lead in zip(anywhere, leads, strict=True)]
        return [self.all[number] for number in (*others, *chosen)]

    def _draw_lead(self) -> int | None:
        kinds = [kind for kind in self._before.values() if kind]
        if not kinds:
            return None
        weights = np.array([1 if self._balanced else len(kind) for kind in kinds], float)
        kind = kinds[self._rng.choice(len(kinds), p=weights / weights.sum())]
        lead = kind[self._rng.integers(len(kind))]
        return lead[self._rng.integers(len(lead))]


class Policy:
    """A network that acts and learns.

    Args:
        source: the game.
        seed: of weights and draws.
    """

    def __init__(self, source: AtariSource, seed: int) -> None:
        game = source.make()
        shape = (_STACK, *game.frame_shape)
        self.num_actions = len(game.action_meanings)
        self.network = build_policy(shape, self.num_actions, seed)
        observation = tensor_spec.BoundedTensorSpec(shape, tf.uint8, 0, 255)
        action = tensor_spec.BoundedTensorSpec((), tf.int32, 0, self.num_actions - 1)
        learner = PPOLearner(self.network, policy_adam(), ts.time_step_spec(observation), action)
        self._learn = tf.function(
            lambda experience, seed: learner.learn(experience, tf.constant(-1), seed),
            autograph=False,
        )
        self._act = tf.function(self._choose, autograph=False)
        self._seed = seed
        self._draws = 0

    def act(self, seats: Sequence[Seat]) -> tuple[np.ndarray, ...]:
        """Returns observations, actions, their log-probabilities and values."""
        observations = np.stack([seat.observation for seat in seats])
        self._draws += 1
        chosen = self._act(observations, tf.constant([self._seed, self._draws]))
        return observations, *(values.numpy() for values in chosen)

    def learn(self, experience: Experience) -> dict[str, tf.Tensor]:
        """Applies one update."""
        self._draws += 1
        return self._learn(experience, tf.constant([self._seed, self._draws]))

    def _choose(self, observations: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, ...]:
        logits, values = self.network(observations)
        actions = sample_actions(logits, 1.0, seed)
        return actions, log_probability(logits, actions), values


def dream(
    policy: Policy, seats: Sequence[Seat], starts: Sequence[Moment], length: int
) -> Experience:
    """Plays rollouts from some moments; they end by being cut off, as in a world model.

    But for those in which the game is over before: nothing is learned from what would follow.
    """
    for seat, start in zip(seats, starts, strict=True):
        seat.go_to(start)
    rows: list[tuple[np.ndarray, ...]] = []
    earned: list[list[int]] = []
    over = [[False for _ in seats]]  # Before each step and after the last.
    for _ in range(length):
        rows.append(policy.act(seats))
        actions = rows[-1][1]
        earned.append([seat.step(a) for seat, a in zip(seats, actions, strict=True)])
        over.append([seat.over for seat in seats])
    observations, actions, log_probabilities, values = map(np.stack, zip(*rows, strict=True))
    rewards, gone = np.array(earned, np.float32), np.array(over)
    discounts, mask = (np.where(gone[at], 0.0, 1.0).astype(np.float32) for at in (_AFTER, _BEFORE))
    values = np.concatenate([values, policy.act(seats)[3][None]])
    ends = gone[_AFTER] | (np.arange(length)[:, None] == length - 1)
    arrays = (observations, actions, log_probabilities, values, rewards, discounts, ends, mask)
    return Experience(*map(tf.constant, arrays))


class Play:
    """The real game, whose moments are kept; unfinished games go on in the next iteration.

    Args:
        seats: the games.
        moments: where to keep them.
        seed: of the episodes.
    """

    def __init__(self, seats: Sequence[Seat], moments: Moments, seed: int) -> None:
        self._seats = seats
        self._moments = moments
        self._rng = np.random.default_rng(seed)
        self._episodes: list[list[int]] = [[] for _ in seats]

    def collect(self, choose: Any, interactions: int) -> list[int]:
        """Plays, and returns the rewards other than 0; `choose` maps seats to actions."""
        rewards = []
        for _ in range(interactions // len(self._seats)):
            for number, seat in enumerate(self._seats):
                if seat.over:
                    seat.start(int(self._rng.integers(1 << 30)))
                    self._episodes[number] = []
                self._episodes[number].append(self._moments.add(seat.moment()))
            actions = choose(self._seats)
            for seat, action, episode in zip(self._seats, actions, self._episodes, strict=True):
                if reward := seat.step(action):
                    self._moments.add_reward(reward, episode)
                    rewards.append(reward)
        return rewards


def score(source: AtariSource, policy: Policy, seed: int) -> str:
    """Returns the final evaluation, in words."""
    evaluation = PolicyEvaluator(source, protocol_for("final"), seed=seed, num_workers=1)
    scores = [each.raw_return for each in evaluation.evaluate(policy.network, quiet=True).episodes]
    error = np.std(scores, ddof=1) / len(scores) ** 0.5
    return f"{np.mean(scores):.2f}, standard error {error:.2f}, over {len(scores)} episodes"


def main(_: list[str]) -> int:
    configure(_GIN_FILE.value, _GIN_BINDINGS.value)
    source, seed, begin = find_game(_GAME.value), _SEED.value, time.perf_counter()
    if not isinstance(source, AtariSource):
        raise ValueError(f"{_GAME.value} is not an Atari game: its state cannot be restored.")
    schedule, policy, moments = Schedule(), Policy(source, seed), Moments(seed)
    length = gin.query_parameter("%ROLLOUT_LENGTH")
    dreamers = [Seat(source.make()) for _ in range(bound("SimulatedEnvironment.batch_size", 16))]
    slots = bound("CollectionPhase.num_slots", 1)
    play = Play([Seat(source.make()) for _ in range(slots)], moments, seed)
    at_random = RandomPolicy(policy.num_actions, seed, bound("CollectionPhase.random_hold", 1))
    rewards = play.collect(at_random, schedule.interactions(0))
    print(f"random play: {rewards.count(1)} gained, {rewards.count(-1)} lost", flush=True)
    shown = np.linspace(0, len(moments.all) - 1, _SEEN_FRAMES).astype(int)
    policy.network.adapt(np.stack([moments.all[number].observation[-1] for number in shown]))
    for iteration in range(1, schedule.iterations + 1):
        earned: list[float] = []
        for _update in range(schedule.policy_updates_of(iteration)):
            experience = dream(policy, dreamers, moments.draw(len(dreamers)), length)
            earned.append(float(tf.reduce_mean(tf.reduce_sum(experience.rewards, axis=0))))
            metrics = policy.learn(experience)
        rewards = play.collect(lambda seats: policy.act(seats)[1], schedule.interactions(iteration))
        few = max(len(earned) // 4, 1)
        print(
            f"iteration {iteration}: {rewards.count(1)} gained, {rewards.count(-1)} lost; dreamed "
            f"{np.mean(earned[:few]):.2f}, then {np.mean(earned[-few:]):.2f}; entropy "
            f"{float(metrics['entropy']):.2f}; {time.perf_counter() - begin:.0f} s",
            flush=True,
        )
    print(f"score: {score(source, policy, seed)}; {time.perf_counter() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    command_line.run(main)
