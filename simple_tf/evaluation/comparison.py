"""Simulated rollouts beside what really happened, and what can be counted about them."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Comparison:
    """B rollouts of T steps, simulated and real, under the same actions from the same start.

    Attributes:
        start: the last real frame that the model was shown, uint8 [B, H, W, C].
        simulated: frames of the model, uint8 [B, T, H, W, C].
        real: frames of the game, uint8 [B, T, H, W, C].
        simulated_rewards: [B, T] of -1, 0 and 1; for pictures they may also be fractions.
        real_rewards: the game's clipped rewards, int32 [B, T].
    """

    start: np.ndarray
    simulated: np.ndarray
    real: np.ndarray
    simulated_rewards: np.ndarray
    real_rewards: np.ndarray

    def __post_init__(self) -> None:
        batch, steps = self.real.shape[:2]
        frames = {self.simulated.shape, self.real.shape, (batch, steps, *self.start.shape[1:])}
        rewards = {self.simulated_rewards.shape, self.real_rewards.shape}
        if len(frames) != 1 or rewards != {(batch, steps)}:
            raise ValueError(
                f"A comparison needs frames and rewards of the same rollouts and steps, not "
                f"simulated {self.simulated.shape} and {self.simulated_rewards.shape}, "
                f"real {self.real.shape} and {self.real_rewards.shape}."
            )

    @property
    def num_rollouts(self) -> int:
        """B."""
        return self.real.shape[0]

    @property
    def horizon(self) -> int:
        """T."""
        return self.real.shape[1]


@dataclasses.dataclass(frozen=True)
class Scores:
    """Counts over rollouts as functions of the step; entry t - 1 belongs to step t = 1..T.

    `docs/world_model_evaluation.md` has the definitions and how to read them.

    Attributes:
        num_rollouts: rollouts counted.
        reward_accuracy: share of rollouts whose cumulative reward so far equals the real one.
        pixel_accuracy: share of pixels with exactly the real colour.
        changed_pixel_accuracy: the same among pixels whose real colour is not that of the start
            frame; NaN where there are none.
        perfect_frames: share of frames with every pixel right.
        no_reward_accuracy: `reward_accuracy` of a model that never gives a reward.
        frozen_pixel_accuracy: `pixel_accuracy` of a model that repeats the start frame.
    """

    num_rollouts: int
    reward_accuracy: np.ndarray
    pixel_accuracy: np.ndarray
    changed_pixel_accuracy: np.ndarray
    perfect_frames: np.ndarray
    no_reward_accuracy: np.ndarray
    frozen_pixel_accuracy: np.ndarray

    @property
    def horizon(self) -> int:
        """T."""
        return len(self.reward_accuracy)

    def at(self, step: int) -> dict[str, float]:
        """Returns every score after `step` steps, 1 to T, by the names of the attributes."""
        if not 1 <= step <= self.horizon:
            raise ValueError(f"Step {step} is outside 1..{self.horizon}, the steps evaluated.")
        return {name: float(curve[step - 1]) for name, curve in self.curves().items()}

    def curves(self) -> dict[str, np.ndarray]:
        """Returns all curves by the names of the attributes, float64 [T] each."""
        fields = [field.name for field in dataclasses.fields(self)]
        return {name: getattr(self, name) for name in fields if name != "num_rollouts"}


class ScoreCounter:
    """Adds up comparisons, so that only one batch of frames is in memory at a time."""

    def __init__(self) -> None:
        self._rollouts = 0
        self._totals: dict[str, np.ndarray] = {}

    def add(self, comparison: Comparison) -> None:
        """Counts the rollouts of a comparison; all must have the same horizon."""
        self._rollouts += comparison.num_rollouts
        for name, count in _counts(comparison).items():
            self._totals[name] = self._totals.get(name, 0) + count

    def scores(self) -> Scores:
        """Returns the shares over all rollouts so far."""
        if not self._rollouts:
            raise ValueError("There are no rollouts to score: add a comparison first.")
        totals = self._totals
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN on purpose: nothing changed.
            changed = totals["changed_right"] / totals["changed"]
        return Scores(
            num_rollouts=self._rollouts,
            reward_accuracy=totals["reward_right"] / self._rollouts,
            pixel_accuracy=totals["right"] / totals["pixels"],
            changed_pixel_accuracy=changed,
            perfect_frames=totals["perfect"] / self._rollouts,
            no_reward_accuracy=totals["no_reward"] / self._rollouts,
            frozen_pixel_accuracy=totals["unchanged"] / totals["pixels"],
        )


def _counts(comparison: Comparison) -> dict[str, np.ndarray]:
    """Returns what is counted per step, int64 [T] each."""
    simulated_sum = comparison.simulated_rewards.cumsum(axis=1)
    real_sum = comparison.real_rewards.cumsum(axis=1)
    right = (comparison.simulated == comparison.real).all(axis=-1)  # [B, T, H, W]
    changed = (comparison.real != comparison.start[:, None]).any(axis=-1)
    pixels_of_frame = right[0, 0].size
    over_frames = {"right": right, "changed": changed, "changed_right": right & changed}
    counts = {name: mask.sum(axis=(0, 2, 3)) for name, mask in over_frames.items()}
    counts["pixels"] = np.full(comparison.horizon, comparison.num_rollouts * pixels_of_frame)
    counts["unchanged"] = counts["pixels"] - counts["changed"]
    counts["perfect"] = right.all(axis=(2, 3)).sum(axis=0)
    counts["reward_right"] = (simulated_sum == real_sum).sum(axis=0)
    counts["no_reward"] = (real_sum == 0).sum(axis=0)
    return counts
