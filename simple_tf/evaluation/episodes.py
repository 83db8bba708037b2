"""Plays a number of episodes that is fixed in advance, so that every one counts exactly once.

Whoever plays until N episodes have ended over-represents short ones: they end first. Here each slot
of a batch is given its share before anything is played, and plays it to the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from simple_tf.envs.batch import BatchStep, GameBatch
from simple_tf.envs.slot import FIRST, LAST

Player = Callable[[np.ndarray], np.ndarray]
"""From observations, uint8 [N, K, H, W, C], to actions, int [N]."""


@dataclasses.dataclass(frozen=True)
class PlayedEpisode:
    """One episode of an evaluation.

    Attributes:
        raw_return: sum of the game's own rewards: the score.
        num_steps: agent steps, no-ops at the start not counted.
        cut: whether it was ended by the cap, or by a time limit of the game's own; not over.
        seed: replays the episode together with the actions.
        actions: int16 [num_steps].
    """

    raw_return: float
    num_steps: int
    cut: bool
    seed: int
    actions: np.ndarray = dataclasses.field(repr=False, compare=False)


class EvaluationStopped(Exception):  # noqa: N818 (it is no error)
    """An evaluation was asked to stop; the episodes that happened to end first are no sample."""


class Quota:
    """The share of a batch's slots in a number of episodes, and the episodes played so far.

    Args:
        batch: where to play; starts new episodes.
        num_episodes: how many, at least one for each slot.
    """

    def __init__(self, batch: GameBatch, num_episodes: int) -> None:
        slots = batch.num_slots
        if num_episodes < slots:
            raise ValueError(f"{num_episodes} episodes cannot be shared among {slots} slots.")
        self._batch = batch
        shares = [len(range(slot, num_episodes, slots)) for slot in range(slots)]
        self._left = np.array(shares)  # Episodes of each slot that have not ended, int [N].
        self._played: list[list[PlayedEpisode]] = [[] for _ in range(slots)]
        self._returns = np.zeros(slots)
        self._actions: list[list[int]] = [[] for _ in range(slots)]
        self._sent: np.ndarray | None = None
        self._step: BatchStep = batch.reset()

    @property
    def unfinished(self) -> bool:
        """Whether there is anything left to play."""
        return bool(self._left.any())

    @property
    def episodes(self) -> list[PlayedEpisode]:
        """Those that have ended: the first of every slot, then the second of every slot, …"""
        rounds = max(map(len, self._played))
        return [own[i] for i in range(rounds) for own in self._played if i < len(own)]

    def steps_so_far(self) -> list[int]:
        """Steps of the episode that each unfinished slot is playing."""
        return [len(self._actions[slot]) for slot in np.flatnonzero(self._left).tolist()]

    def num_waiting(self) -> int:
        """Episodes that have not begun yet."""
        return int(np.maximum(self._left - 1, 0).sum())

    def send(self, player: Player) -> None:
        """Asks the player for actions and starts a step of the unfinished slots."""
        active = self._left > 0
        observations = self._step.observations
        actions = np.zeros(self._batch.num_slots, np.int32)
        # A copy of the unfinished ones is cheaper than choosing actions for the others.
        actions[active] = player(observations if active.all() else observations[active])
        self._batch.send(actions, active)
        self._sent = actions

    def receive(self) -> int:
        """Waits for the step, if one is under way; returns how many agent steps were played."""
        if self._sent is None:
            return 0
        actions, self._sent = self._sent, None
        self._step = step = self._batch.receive()
        played = (self._left > 0) & (step.step_type != FIRST)
        self._returns[played] += step.raw_reward[played]
        for slot in np.flatnonzero(played).tolist():
            self._actions[slot].append(int(actions[slot]))
        for slot in np.flatnonzero(played & (step.step_type == LAST)).tolist():
            self._finish(slot)
        return int(played.sum())

    def _finish(self, slot: int) -> None:
        actions = np.array(self._actions[slot], np.int16)
        cut, seed = bool(self._step.truncated[slot]), int(self._step.episode_seed[slot])
        episode = PlayedEpisode(float(self._returns[slot]), len(actions), cut, seed, actions)
        self._played[slot].append(episode)
        self._left[slot] -= 1
        self._returns[slot] = 0.0
        self._actions[slot] = []


def play_all(
    quotas: Sequence[Quota],
    player: Player,
    report: Callable[[int], object] = lambda played: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> None:
    """Plays until every quota is finished.

    With two quotas the player thinks about one while the games of the other are being played.

    Args:
        quotas: what to play.
        player: chooses the actions of all.
        report: called with the number of agent steps just played.
        should_stop: asked before every step.

    Raises:
        EvaluationStopped: if `should_stop` said so.
    """
    while any(quota.unfinished for quota in quotas):
        for quota in quotas:
            if should_stop():
                raise EvaluationStopped
            report(quota.receive())
            if quota.unfinished:
                quota.send(player)
