"""Quantities that change with the global step."""

from __future__ import annotations

import math

import gin
import tensorflow as tf

_START = 0.01


def rising_linearly(step: tf.Tensor, steps: int) -> tf.Tensor:
    """Returns 0.01 at step 0, rising linearly to 1 at `steps`."""
    progress = tf.minimum(tf.cast(step, tf.float32) / float(max(steps, 1)), 1.0)
    return progress * (1.0 - _START) + _START


def rising_exponentially(step: tf.Tensor, steps: int) -> tf.Tensor:
    """Returns 0.01 at step 0, rising exponentially to 1 at `steps`."""
    remaining = tf.maximum(float(steps) - tf.cast(step, tf.float32), 0.0)
    return tf.exp(math.log(_START) / max(steps, 1) * remaining)


@gin.configurable
class ScheduledSampling:
    """Probability that a predicted frame, not the true one, is the next input in training.

    Args:
        mode: `ground_truth` (never), `prediction` (always), `exponential` (from 0.01 to
            `max_probability` over `steps`), or `linear` (the original's SD setting: a linear
            rise over `steps` times an exponential one over a quarter of them).
        steps: length of the rise.
        max_probability: final probability.
    """

    MODES = ("ground_truth", "prediction", "exponential", "linear")

    def __init__(
        self, mode: str = "prediction", steps: int = 10_000, max_probability: float = 1.0
    ) -> None:
        if mode not in self.MODES:
            raise ValueError(f"Unknown scheduled sampling mode {mode!r}; choose from {self.MODES}.")
        self.mode = mode
        self.steps = steps
        self.max_probability = max_probability

    def probability(self, step: tf.Tensor) -> tf.Tensor:
        """Returns the probability of feeding the prediction at a global step."""
        if self.mode == "ground_truth":
            return tf.constant(0.0)
        if self.mode == "prediction":
            return tf.constant(1.0)
        rise = rising_exponentially(step, self.steps)
        if self.mode == "linear":
            rise = rising_exponentially(step, self.steps // 4) * rising_linearly(step, self.steps)
        return rise * self.max_probability


@gin.configurable
class WarmupSchedule(tf.keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up from 0, then a constant or a reciprocal square root of the step.

    Args:
        constant: the learning rate, or with `rsqrt_decay` its multiple of 1 / sqrt(step).
        warmup_steps: length of the warm-up; with `rsqrt_decay` also where the decay starts.
        rsqrt_decay: whether to divide by sqrt(max(step, warmup_steps)).
        bump: factor from `bump_step` on; the original multiplies the deterministic model's
            rate by 3 after the first iteration, whose length in steps is known beforehand.
        bump_step: first step with the factor.
    """

    def __init__(
        self,
        constant: float = 0.002,
        warmup_steps: int = 2_000,
        rsqrt_decay: bool = False,
        bump: float = 1.0,
        bump_step: int = 0,
    ) -> None:
        super().__init__()
        self.constant = constant
        self.warmup_steps = warmup_steps
        self.rsqrt_decay = rsqrt_decay
        self.bump = bump
        self.bump_step = bump_step

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Returns the learning rate of a step (the first step is 0)."""
        step = tf.cast(step, tf.float32)
        rate = self.constant * tf.minimum(1.0, step / float(max(self.warmup_steps, 1)))
        if self.rsqrt_decay:
            rate *= tf.math.rsqrt(tf.maximum(step, float(max(self.warmup_steps, 1))))
        return tf.where(step >= self.bump_step, rate * self.bump, rate)

    def get_config(self) -> dict[str, float | int | bool]:
        """See the base class."""
        return {
            "constant": self.constant,
            "warmup_steps": self.warmup_steps,
            "rsqrt_decay": self.rsqrt_decay,
            "bump": self.bump,
            "bump_step": self.bump_step,
        }


@gin.configurable
class FallingSchedule(tf.keras.optimizers.schedules.LearningRateSchedule):
    """A rate that falls in a straight line, and starts anew with every iteration of the loop.

    What a model has learned of rare events is drowned by the noise of large steps until the rate
    is small; what an iteration has brought is learned while it is large.

    Args:
        initial: the rate at the beginning of an iteration.
        last: the share of it that is left at the end.
        later: the share of it that iterations after the first begin with. What a model knows about
            rare events is lost again when large steps return.
        steps: training steps of an iteration, as `Schedule.world_model_steps`.
        first_multiplier: how many times as long the first iteration is, as in
            `Schedule.world_model_multipliers`.
    """

    def __init__(
        self,
        initial: float = 1e-3,
        last: float = 0.05,
        steps: int = gin.REQUIRED,
        first_multiplier: int = 1,
        later: float = 1.0,
    ) -> None:
        super().__init__()
        if not 0.0 < last <= later <= 1.0:
            raise ValueError("FallingSchedule needs 0 < last <= later <= 1.")
        if steps < 1 or first_multiplier < 1:
            raise ValueError(
                "FallingSchedule needs at least 1 step and a multiplier of at least 1."
            )
        self.initial = initial
        self.last = last
        self.steps = steps
        self.first_multiplier = first_multiplier
        self.later = later

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Returns the learning rate of a step (the first step is 0)."""
        step = tf.cast(step, tf.float32)
        first = float(self.steps * self.first_multiplier)
        later = tf.math.floormod(step - first, float(self.steps)) / float(self.steps)
        done = tf.where(step < first, step / first, later)
        begin = tf.where(step < first, 1.0, self.later)
        return self.initial * (begin - (begin - self.last) * done)

    def get_config(self) -> dict[str, float | int]:
        """See the base class."""
        return {
            "initial": self.initial,
            "last": self.last,
            "steps": self.steps,
            "first_multiplier": self.first_multiplier,
            "later": self.later,
        }
