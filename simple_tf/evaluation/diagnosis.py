"""What limits a run: numbers about its model and policy on the policy's own real play.

`docs/diagnosis.md` has the definitions and how to read them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from simple_tf.evaluation.dreams import Dreamer, Dreams, Judgement
from simple_tf.evaluation.motion_quality import MotionQuality, motion_quality
from simple_tf.evaluation.novelty import Novelty
from simple_tf.evaluation.reward_quality import (
    FEWEST_EVENTS,
    NO_REWARD,
    ReliabilityBin,
    RewardCounts,
    count_rewards,
    depth_bands,
    given_rewards,
    reliability,
    reward_sums,
)
from simple_tf.evaluation.segments import Segments

_VALUE_BINS = 5


@dataclasses.dataclass(frozen=True)
class Mean:
    """A mean over segments, its standard error, and the standard deviation."""

    mean: float
    error: float
    std: float


@dataclasses.dataclass(frozen=True)
class Returns:
    """Sums of rewards of a segment: real, dreamed under the same actions, dreamed freely.

    Attributes:
        real: in the game.
        followed: in the model, under the actions that were really played.
        acted: in the model, under actions that the policy chose there.
        followed_excess: followed minus real, segment by segment.
        acted_excess: acted minus real, segment by segment.
        curves: mean sum after each step, by `real`, `followed` and `acted`.
    """

    real: Mean
    followed: Mean
    acted: Mean
    followed_excess: Mean
    acted_excess: Mean
    curves: Mapping[str, tuple[float, ...]]


@dataclasses.dataclass(frozen=True)
class RewardClass:
    """One kind of reward, -1 or 1.

    Attributes:
        reward: which.
        at_sight: predicted from the real frames just before each step.
        dreamed: predicted in dreams under the real actions, all steps.
        by_depth: the same for the steps from a first to a last one, counted from 1.
        bins: probabilities in these dreams, and how often they came true.
        held_out: whether all this is about held-out data with rewards, because the policy's own
            play has too few of this kind.
    """

    reward: int
    at_sight: RewardCounts
    dreamed: RewardCounts
    by_depth: tuple[tuple[int, int, RewardCounts], ...]
    bins: tuple[ReliabilityBin, ...]
    held_out: bool = False


@dataclasses.dataclass(frozen=True)
class Entropy:
    """How undecided the policy is, in nats, after each step; entry 0 is at the start.

    Attributes:
        highest: of a policy that does not care.
        real: in the game.
        dreamed: in dreams where it acts itself.
    """

    highest: float
    real: tuple[float, ...]
    dreamed: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class BootstrapValue:
    """The value that ends a rollout, beside what the policy then really earned, discounted.

    Attributes:
        segments: how many could be judged; of the others too much was cut off.
        predicted: values at the real last frame.
        earned: what was earned.
        excess: predicted minus earned; its error is over segments.
        dreamed_excess: value at the dream's last frame minus that at the real one.
        bins: mean value and mean earned, by fifths of the values.
    """

    segments: int
    predicted: Mean
    earned: Mean
    excess: Mean
    dreamed_excess: Mean
    bins: tuple[tuple[float, float], ...]


@dataclasses.dataclass(frozen=True)
class Measurements:
    """Everything that was measured.

    Attributes:
        num_segments: S.
        horizon: T, steps of a segment.
        rewards_in_data: how often the training data has each reward, by -1 and 1.
        steps_in_data: steps of the training data.
        reward_kind: what dreams pay, see `SimulatedEnvironment`.
        rewards_met: rewards of either kind in the segments of real play.
        returns: of segments.
        rewards: how well each kind is predicted.
        motion: how what moves is drawn.
        entropy: of the policy.
        value: at the bootstrap; None if no segment could be judged.
        novelty: of the policy's states; None if there is no held-out play to compare with.
    """

    num_segments: int
    horizon: int
    rewards_in_data: Mapping[int, int]
    steps_in_data: int
    reward_kind: str
    rewards_met: int
    returns: Returns
    rewards: tuple[RewardClass, ...]
    motion: MotionQuality
    entropy: Entropy
    value: BootstrapValue | None
    novelty: Novelty | None


def measure(
    segments: Segments,
    dreamer: Dreamer,
    num_actions: int,
    reward_kind: str,
    rewards_in_data: Mapping[int, int],
    steps_in_data: int,
    novelty: Novelty | None,
    held_out: Segments | None = None,
) -> Measurements:
    """Compares dreams with segments of real play.

    Args:
        segments: the policy's own real play.
        dreamer: the model and the policy.
        num_actions: A.
        reward_kind: "expected" or "likeliest".
        rewards_in_data: see `Measurements`.
        steps_in_data: see `Measurements`.
        novelty: see `Measurements`.
        held_out: segments of held-out data with rewards, for those that the policy does not meet.
    """
    followed, acted = dreamer.follow(segments), dreamer.act(segments)
    judged = dreamer.judge(segments.frames)
    judged_acting = dreamer.judge(np.concatenate([segments.history, acted.frames], axis=1))
    judged_following = dreamer.judge(np.concatenate([segments.history, followed.frames], axis=1))
    return Measurements(
        num_segments=len(segments),
        horizon=segments.horizon,
        rewards_in_data=rewards_in_data,
        steps_in_data=steps_in_data,
        reward_kind=reward_kind,
        rewards_met=int((segments.rewards != 0).sum()),
        returns=_returns(segments, followed, acted, reward_kind),
        rewards=_rewards(dreamer, segments, followed, held_out, reward_kind),
        motion=motion_quality(segments, followed.frames),
        entropy=Entropy(
            math.log(num_actions), _curve(judged.entropies), _curve(judged_acting.entropies)
        ),
        value=_value(segments, judged, judged_following),
        novelty=novelty,
    )


def _returns(segments: Segments, followed: Dreams, acted: Dreams, kind: str) -> Returns:
    sums = {"real": segments.rewards.astype(np.float64)}
    for name, dreams in (("followed", followed), ("acted", acted)):
        sums[name] = reward_sums(given_rewards(dreams.probabilities, kind))
    totals = {name: rewards.sum(axis=1) for name, rewards in sums.items()}
    return Returns(
        real=mean_of(totals["real"]),
        followed=mean_of(totals["followed"]),
        acted=mean_of(totals["acted"]),
        followed_excess=mean_of(totals["followed"] - totals["real"]),
        acted_excess=mean_of(totals["acted"] - totals["real"]),
        curves={name: _curve(rewards.cumsum(axis=1)) for name, rewards in sums.items()},
    )


def _rewards(
    dreamer: Dreamer, segments: Segments, followed: Dreams, held_out: Segments | None, kind: str
) -> tuple[RewardClass, ...]:
    """Judges each kind of reward on the policy's play, or on held-out data where that has few."""
    own = _judged_rewards(segments, followed, dreamer.foresee(segments), kind)
    if held_out is None or all(one.at_sight.real >= FEWEST_EVENTS for one in own):
        return own
    other = _judged_rewards(held_out, dreamer.follow(held_out), dreamer.foresee(held_out), kind)
    return tuple(
        mine if mine.at_sight.real >= FEWEST_EVENTS else dataclasses.replace(its, held_out=True)
        for mine, its in zip(own, other, strict=True)
    )


def _judged_rewards(
    segments: Segments, followed: Dreams, foreseen: np.ndarray, kind: str
) -> tuple[RewardClass, ...]:
    real, bands = segments.rewards + NO_REWARD, depth_bands(segments.horizon)
    given, at_sight = given_rewards(followed.probabilities, kind), given_rewards(foreseen, kind)
    return tuple(
        RewardClass(
            reward=reward_class - NO_REWARD,
            at_sight=count_rewards(real, at_sight, reward_class),
            dreamed=count_rewards(real, given, reward_class),
            by_depth=tuple(
                (first, last, count_rewards(real, given, reward_class, first, last))
                for first, last in bands
            ),
            bins=tuple(reliability(real, followed.probabilities, reward_class)),
        )
        for reward_class in range(given.shape[-1])
        if reward_class != NO_REWARD
    )


def _value(segments: Segments, real: Judgement, followed: Judgement) -> BootstrapValue | None:
    known = np.isfinite(segments.returns_to_go)
    if not known.any():
        return None
    predicted, earned = real.values[known, -1].astype(np.float64), segments.returns_to_go[known]
    order = np.argsort(predicted, kind="stable")
    fifths = [part for part in np.array_split(order, _VALUE_BINS) if len(part)]
    return BootstrapValue(
        segments=int(known.sum()),
        predicted=mean_of(predicted),
        earned=mean_of(earned),
        excess=mean_of(predicted - earned),
        dreamed_excess=mean_of(followed.values[:, -1] - real.values[:, -1]),
        bins=tuple((float(predicted[p].mean()), float(earned[p].mean())) for p in fifths),
    )


def mean_of(values: np.ndarray) -> Mean:
    """Returns mean, standard error and standard deviation of some numbers, float [N]."""
    std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Mean(float(values.mean()), std / math.sqrt(len(values)), std)


def _curve(values: np.ndarray) -> tuple[float, ...]:
    return tuple(values.mean(axis=0, dtype=np.float64).tolist())
