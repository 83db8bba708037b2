"""Segments of real play by a policy, as long as the rollouts it was trained in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from simple_tf.data.reward_ages import reward_ages
from simple_tf.envs.batch import BatchStep, GameBatch
from simple_tf.envs.game import GameSource
from simple_tf.envs.slot import LAST
from simple_tf.evaluation.episodes import EvaluationStopped, Player
from simple_tf.seeding import derive_seed

# A return that was cut off counts if what is missing would have counted less than this.
_NEGLIGIBLE = 0.05


@dataclasses.dataclass(frozen=True)
class RecordedEpisode:
    """One episode with all its frames.

    Attributes:
        frames: uint8 [n + 1, H, W, C].
        actions: int32 [n].
        rewards: int32 [n] of -1, 0 and 1.
        raw_return: sum of the game's own rewards.
        terminated: whether the game was over at the end, not cut.
    """

    frames: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    raw_return: float
    terminated: bool

    def returns_to_go(self, discount: float) -> np.ndarray:
        """The discounted rewards after each frame, float64 [n + 1]; NaN where too much is cut."""
        steps = len(self.rewards)
        returns = np.zeros(steps + 1)
        for t in reversed(range(steps)):
            returns[t] = self.rewards[t] + discount * returns[t + 1]
        if not self.terminated:
            left = steps - np.arange(steps + 1)
            returns[discount**left > _NEGLIGIBLE] = np.nan
        return returns


@dataclasses.dataclass(frozen=True)
class Segments:
    """S pieces of T steps of real play, none overlapping, each with the K frames it starts from.

    Attributes:
        frames: uint8 [S, K + T, H, W, C].
        actions: int32 [S, K - 1 + T]: entry t leads from frame t to frame t + 1.
        rewards: of the T steps, int32 [S, T] of -1, 0 and 1.
        returns_to_go: what the policy earned after the segment, discounted, float64 [S]; NaN where
            the episode was cut too early to tell.
        ages: how many steps ago the last reward was at the newest frame of the history, int32
            [S].
    """

    frames: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    returns_to_go: np.ndarray
    ages: np.ndarray

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def horizon(self) -> int:
        """T."""
        return self.rewards.shape[1]

    @property
    def num_input_frames(self) -> int:
        """K."""
        return self.frames.shape[1] - self.horizon

    @property
    def history(self) -> np.ndarray:
        """What the model is shown, uint8 [S, K, H, W, C]."""
        return self.frames[:, : self.num_input_frames]

    @property
    def known_actions(self) -> np.ndarray:
        """The actions between the frames of the history, int32 [S, K - 1]."""
        return self.actions[:, : self.num_input_frames - 1]

    @property
    def played_actions(self) -> np.ndarray:
        """The actions of the T steps, int32 [S, T]."""
        return self.actions[:, self.num_input_frames - 1 :]

    @property
    def real(self) -> np.ndarray:
        """What the game showed after each step, uint8 [S, T, H, W, C]."""
        return self.frames[:, self.num_input_frames :]


def record_episodes(
    source: GameSource,
    player: Player,
    episodes: int,
    stack: int,
    max_steps: int,
    seed: int,
    num_workers: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[RecordedEpisode]:
    """Plays episodes side by side, each from its beginning to its end or the cap.

    Args:
        source: the game.
        player: chooses the actions.
        episodes: how many.
        stack: K, how many frames the player sees.
        max_steps: the cap.
        seed: decides the episodes.
        num_workers: see `GameBatch`.
        should_stop: asked before every step.

    Raises:
        EvaluationStopped: if `should_stop` said so.
    """
    with GameBatch(source, episodes, seed, stack, max_steps, num_workers) as batch:
        step = batch.reset()
        records = [_Record(frame) for frame in step.observations[:, -1]]
        active = np.ones(episodes, bool)
        while active.any():
            if should_stop():
                raise EvaluationStopped
            actions = np.zeros(episodes, np.int32)
            actions[active] = player(step.observations[active])
            step = batch.step(actions, active)
            for slot in np.flatnonzero(active).tolist():
                records[slot].add(int(actions[slot]), step, slot)
            active &= step.step_type != LAST
    return [record.finished() for record in records]


class _Record:
    """An episode while it is played."""

    def __init__(self, first_frame: np.ndarray) -> None:
        self._frames = [first_frame.copy()]
        self._steps: list[tuple[int, float, float]] = []
        self._terminated = False

    def add(self, action: int, after: BatchStep, slot: int) -> None:
        """Adds what one slot of a batch did."""
        self._frames.append(after.observations[slot, -1].copy())
        self._steps.append((action, float(after.reward[slot]), float(after.raw_reward[slot])))
        self._terminated = bool(after.terminated[slot])

    def finished(self) -> RecordedEpisode:
        actions, rewards, raw_rewards = np.array(self._steps).T
        return RecordedEpisode(
            frames=np.stack(self._frames),
            actions=actions.astype(np.int32),
            rewards=rewards.astype(np.int32),
            raw_return=float(raw_rewards.sum()),
            terminated=self._terminated,
        )


def cut_segments(
    episodes: Sequence[RecordedEpisode],
    num_input_frames: int,
    horizon: int,
    discount: float,
    most: int,
    seed: int,
) -> Segments:
    """Cuts episodes into consecutive segments, and takes some of them at random.

    Args:
        episodes: real play.
        num_input_frames: K.
        horizon: T.
        discount: of the returns to go.
        most: how many segments to take at most.
        seed: decides which.

    Raises:
        ValueError: no episode is long enough.
    """
    places = [
        (number, begin)
        for number, episode in enumerate(episodes)
        for begin in range(0, len(episode.actions) - num_input_frames - horizon + 2, horizon)
    ]
    if not places:
        longest = max(len(episode.actions) for episode in episodes)
        raise ValueError(
            f"The policy's longest episode has {longest} steps, too few for {num_input_frames} "
            f"frames to start from and {horizon} steps to compare; ask for a shorter --horizon."
        )
    rng = np.random.default_rng(derive_seed(seed, "segments"))
    chosen = sorted(rng.permutation(len(places))[:most].tolist())
    returns = [episode.returns_to_go(discount) for episode in episodes]
    length = num_input_frames + horizon
    pieces = []
    for number, begin in (places[index] for index in chosen):
        episode, end = episodes[number], begin + length - 1
        rewards = episode.rewards[end - horizon : end]
        piece = episode.frames[begin : end + 1], episode.actions[begin:end], rewards
        age = reward_ages(episode.rewards)[end - horizon]
        pieces.append((*piece, returns[number][end], age))
    return Segments(*(np.stack(column) for column in zip(*pieces, strict=True)))
