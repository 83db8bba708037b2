"""One played episode in memory, and the recorder that builds it step by step."""

from __future__ import annotations

import dataclasses

import numpy as np

from simple_tf.data import png

_COLUMN_TYPES: dict[str, type[np.generic]] = {
    "actions": np.int32,
    "raw_rewards": np.float32,
    "rewards": np.int8,
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class EpisodeColumns:
    """Everything about an episode of T steps except its T+1 frames.

    Step t is (frame t, actions[t]) -> (rewards[t], frame t+1).

    Attributes:
        iteration: Outer-loop iteration it was played in.
        index: Its number within the iteration; (iteration, index) is its key.
        seed: The seed it was played with; with the actions it gives the same frames again.
        terminated: The game was over.
        truncated: It was cut (step cap, or the interaction budget ended).
        actions: int32 [T].
        raw_rewards: float32 [T], as the game gave them.
        rewards: int8 [T] in {-1, 0, 1}, as models and policies see them.
    """

    iteration: int
    index: int
    seed: int
    terminated: bool
    truncated: bool
    actions: np.ndarray
    raw_rewards: np.ndarray
    rewards: np.ndarray

    def __post_init__(self) -> None:
        for name, dtype in _COLUMN_TYPES.items():
            object.__setattr__(self, name, _exact_column(name, getattr(self, name), dtype))
        _check_columns(self)

    @property
    def key(self) -> tuple[int, int]:
        return self.iteration, self.index

    @property
    def num_steps(self) -> int:
        return len(self.actions)

    @property
    def num_frames(self) -> int:
        return self.num_steps + 1

    @property
    def raw_return(self) -> float:
        return float(np.sum(self.raw_rewards, dtype=np.float64))

    def same_play(self, other: EpisodeColumns) -> bool:
        """Whether another episode has the same seed, actions and rewards, and the same end."""
        mine = (self.seed, self.terminated, self.truncated)
        return mine == (other.seed, other.terminated, other.truncated) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in _COLUMN_TYPES
        )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Episode(EpisodeColumns):
    """A whole episode; the frames stay PNG-encoded, about 1/30 of their size.

    Attributes:
        frame_shape: [H, W, C] of every frame.
        png_frames: T+1 encoded frames.
    """

    frame_shape: png.FrameShape
    png_frames: tuple[bytes, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.png_frames) != self.num_frames:
            raise ValueError(
                f"an episode of {self.num_steps} steps has {self.num_frames} frames, "
                f"not {len(self.png_frames)}"
            )

    def decode_frames(self) -> np.ndarray:
        """All frames, uint8 [T+1, H, W, C]."""
        return np.stack([png.decode_frame(data, self.frame_shape) for data in self.png_frames])


class EpisodeRecorder:
    """Collects an episode while it is played. Each frame is encoded at once, to stay small."""

    def __init__(
        self,
        iteration: int,
        index: int,
        seed: int,
        first_frame: np.ndarray,
    ):
        """Starts an episode at `first_frame`, uint8 [H, W, C]; see `EpisodeColumns`."""
        self._origin = {
            "iteration": iteration,
            "index": index,
            "seed": seed,
        }
        self._frame_shape = first_frame.shape
        self._png_frames = [png.encode_frame(first_frame)]
        self._actions: list[int] = []
        self._raw_rewards: list[float] = []
        self._rewards: list[int] = []

    @property
    def num_steps(self) -> int:
        """Steps recorded so far."""
        return len(self._actions)

    def add(self, action: int, raw_reward: float, reward: int, frame: np.ndarray) -> None:
        """Records one step: the action taken, what it earned, and the frame it led to."""
        if frame.shape != self._frame_shape:
            raise ValueError(
                f"the episode began with frames of shape {list(self._frame_shape)}, "
                f"but step {self.num_steps} led to one of shape {list(frame.shape)}"
            )
        self._png_frames.append(png.encode_frame(frame))
        self._actions.append(action)
        self._raw_rewards.append(raw_reward)
        self._rewards.append(reward)

    def finish(self, terminated: bool, truncated: bool) -> Episode:
        """The episode as recorded; an episode the budget cut short is `truncated`."""
        return Episode(
            **self._origin,
            terminated=terminated,
            truncated=truncated,
            actions=np.array(self._actions),
            raw_rewards=np.array(self._raw_rewards),
            rewards=np.array(self._rewards),
            frame_shape=self._frame_shape,
            png_frames=tuple(self._png_frames),
        )


def _exact_column(name: str, values: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    """A read-only vector of `dtype`. Integers that do not fit are an error, never wrapped."""
    given = np.asarray(values)
    if given.ndim != 1:
        raise ValueError(f"{name} must be a vector, not of shape {list(given.shape)}")
    with np.errstate(invalid="ignore"):  # What does not fit is reported just below.
        column = given.astype(dtype)
    if np.issubdtype(dtype, np.integer) and not np.array_equal(column, given):
        raise ValueError(f"{name} holds values that are not {np.dtype(dtype).name} integers")
    column.setflags(write=False)
    return column


def _check_columns(episode: EpisodeColumns) -> None:
    lengths = [len(episode.actions), len(episode.raw_rewards), len(episode.rewards)]
    if min(lengths) != max(lengths) or min(lengths) < 1:
        raise ValueError(
            "an episode needs one action, raw reward and reward for each of its steps (at least "
            f"one), but got {lengths[0]}, {lengths[1]} and {lengths[2]}"
        )
    if min(episode.iteration, episode.index) < 0:
        raise ValueError("iteration and index of an episode must not be negative")
    if not -(2**63) <= episode.seed < 2**63:
        raise ValueError(f"an episode's seed must fit in 64 bits, but it is {episode.seed}")
    if not (episode.terminated or episode.truncated):
        raise ValueError("an episode must be terminated or truncated (cut short counts as such)")
    if episode.actions.min() < 0:
        raise ValueError(f"actions must not be negative, but one is {episode.actions.min()}")
    if np.abs(episode.rewards.astype(np.int32)).max() > 1:
        raise ValueError("rewards must be -1, 0 or 1; the game's own go into raw_rewards")
    if not np.isfinite(episode.raw_rewards).all():
        raise ValueError("raw rewards must be finite numbers")
