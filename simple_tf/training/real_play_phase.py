"""PPO on the real play of an iteration: an option, which the original's code has switched on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import gin
import numpy as np
import tensorflow as tf

from simple_tf.agents.experience import Experience, log_probability
from simple_tf.agents.policy_network import NO_ITERATION
from simple_tf.agents.ppo import PPOTrainer
from simple_tf.data import codec
from simple_tf.data.codec import StoredEpisode
from simple_tf.data.store import EpisodeStore
from simple_tf.models.noise import fold_in
from simple_tf.seeding import derive_seed_pair
from simple_tf.training.phase import Advance
from simple_tf.training.schedule import Schedule

_ROWS_PER_CALL = 256


class Rows(NamedTuple):
    """Steps one after the other, as an agent in a TF-Agents environment would have seen them.

    After an episode's last step comes a row that shows its last frame and does nothing (`mask` 0):
    what a truncated episode would still have been worth is the value of that row.

    Attributes:
        stacks: int [N, K], which frames each observation consists of.
        actions: int32 [N].
        rewards: float32 [N].
        discounts: float32 [N], 0 where the game is over after the step.
        ends: bool [N].
        mask: float32 [N].
    """

    stacks: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    discounts: np.ndarray
    ends: np.ndarray
    mask: np.ndarray


@gin.configurable(denylist=["trainer", "store", "schedule", "num_input_frames", "seed"])
class RealPlayPhase:
    """See `Phase`. An update cuts consecutive steps into pieces, as if by several agents.

    The original updates after every 3,200 steps while it plays; here play ends first, and the old
    probabilities and values of all updates are those of the policy that played.

    Args:
        trainer: whose policy is updated, by its learner.
        store: the episodes.
        schedule: of the run.
        num_input_frames: K.
        enabled: whether to do this at all; the paper says that it hardly matters.
        num_agents: pieces per update.
        steps_per_agent: steps of a piece.
        seed: of minibatches.
    """

    name = "real_play"
    unit = "updates"
    headline = ("policy_loss",)
    # The old probabilities are computed at the start, before the first update.
    resumable = False

    def __init__(
        self,
        trainer: PPOTrainer,
        store: EpisodeStore,
        schedule: Schedule,
        num_input_frames: int,
        enabled: bool = False,
        num_agents: int = 16,
        steps_per_agent: int = 200,
        seed: int = 0,
    ) -> None:
        self._trainer = trainer
        self._store = store
        self._schedule = schedule
        self._num_input_frames = num_input_frames
        self._enabled = enabled
        self._num_agents = num_agents
        self._steps_per_agent = steps_per_agent
        self._seed = derive_seed_pair(seed, "real play")
        self._updates_done = 0
        self._learn = tf.function(
            trainer.learner.learn_from_all, autograph=False, reduce_retracing=True
        )
        self._judge = tf.function(self._judged, autograph=False, reduce_retracing=True)

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        if not self._enabled:
            return 0
        return self._schedule.interactions(iteration) // self._steps_per_update

    def global_step(self) -> int:
        """See `Phase`."""
        return self._updates_done

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        del step  # Always from the start.
        episodes = self._store.episodes_of(iteration)
        frames = np.concatenate([codec.read_frames(episode) for episode in episodes])
        rows = rows_of(episodes, self._num_input_frames)
        log_probabilities, values = self._describe(frames, rows)
        for number in range(self.size(iteration)):
            experience = self._experience(number, frames, rows, log_probabilities, values)
            seed = fold_in(tf.constant(self._seed), self._schedule.iterations * number + iteration)
            # The original names no iteration here, neither playing nor learning.
            metrics = self._learn(experience, tf.constant(NO_ITERATION), seed)
            self._updates_done = iteration * self.size(iteration) + number + 1
            yield Advance(number + 1, {name: float(value) for name, value in metrics.items()})

    @property
    def _steps_per_update(self) -> int:
        return self._num_agents * self._steps_per_agent

    def _describe(self, frames: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities and values [N] of all rows, under the policy as it is."""
        results = []
        for begin in range(0, len(rows.actions), _ROWS_PER_CALL):
            part = slice(begin, begin + _ROWS_PER_CALL)
            results.append(self._judge(frames[rows.stacks[part]], rows.actions[part]))
        log_probabilities, values = zip(*results, strict=True)
        return np.concatenate(log_probabilities), np.concatenate(values)

    def _judged(self, observations: tf.Tensor, actions: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        logits, values = self._trainer.network(observations, NO_ITERATION)
        return log_probability(logits, actions), values

    def _experience(
        self,
        number: int,
        frames: np.ndarray,
        rows: Rows,
        log_probabilities: np.ndarray,
        values: np.ndarray,
    ) -> Experience:
        """The rows of one update, [T, B]; agent b has T consecutive ones."""
        first = number * self._steps_per_update + self._steps_per_agent * np.arange(
            self._num_agents
        )
        chosen = first + np.arange(self._steps_per_agent + 1)[:, None]  # [T + 1, B]
        played = chosen[:-1]
        return Experience(
            observations=tf.constant(frames[rows.stacks[played]]),
            actions=tf.constant(rows.actions[played]),
            log_probabilities=tf.constant(log_probabilities[played]),
            values=tf.constant(values[chosen]),
            rewards=tf.constant(rows.rewards[played]),
            discounts=tf.constant(rows.discounts[played]),
            ends=tf.constant(rows.ends[played]),
            mask=tf.constant(rows.mask[played]),
        )


def rows_of(episodes: tuple[StoredEpisode, ...], num_input_frames: int) -> Rows:
    """Lays episodes out as rows; their frames are expected one after the other."""
    parts, first_frame = [], 0
    for episode in episodes:
        parts.append(_rows_of_one(episode, num_input_frames, first_frame))
        first_frame += episode.num_frames
    return Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _rows_of_one(episode: StoredEpisode, num_input_frames: int, first_frame: int) -> Rows:
    steps = episode.num_steps
    ages = np.arange(num_input_frames)[::-1]  # Oldest first.
    # Before an episode's beginning, its first frame stands in.
    stacks = first_frame + np.maximum(np.arange(steps + 1)[:, None] - ages, 0)
    is_last_step = np.arange(steps + 1) == steps - 1
    over = is_last_step & episode.terminated
    return Rows(
        stacks=stacks,
        actions=np.append(episode.actions, 0).astype(np.int32),
        rewards=np.append(episode.rewards, 0).astype(np.float32),
        discounts=np.where(over, 0.0, 1.0).astype(np.float32),
        ends=is_last_step,
        mask=np.append(np.ones(steps), 0.0).astype(np.float32),
    )
