"""What limits a run: numbers about its model and policy on the policy's own real play.

`docs/diagnosis.md` has the definitions and how to read them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from simple_tf.evaluation.dreams import Dreamer, Dreams, Judgement
from simple_tf.evaluation.motion_quality import MotionQuality, motion_quality
from simple_tf.evaluation.novelty import Novelty
from simple_tf.evaluation.reward_quality import (
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
    """

    reward: int
    at_sight: RewardCounts
    dreamed: RewardCounts
    by_depth: tuple[tuple[int, int, RewardCounts], ...]
    bins: tuple[ReliabilityBin, ...]


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
        returns: of segments.
        rewards: for each reward that occurs in real play or in a dream.
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
    """
    followed, acted = dreamer.follow(segments), dreamer.act(segments)
    at_sight = given_rewards(dreamer.foresee(segments), reward_kind)
    judged = dreamer.judge(segments.frames)
    judged_acting = dreamer.judge(np.concatenate([segments.history, acted.frames], axis=1))
    judged_following = dreamer.judge(np.concatenate([segments.history, followed.frames], axis=1))
    return Measurements(
        num_segments=len(segments),
        horizon=segments.horizon,
        rewards_in_data=rewards_in_data,
        steps_in_data=steps_in_data,
        reward_kind=reward_kind,
        returns=_returns(segments, followed, acted, reward_kind),
        rewards=_rewards(segments, followed.probabilities, at_sight, reward_kind),
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
    segments: Segments, probabilities: np.ndarray, at_sight: np.ndarray, kind: str
) -> tuple[RewardClass, ...]:
    real = segments.rewards + NO_REWARD
    given = given_rewards(probabilities, kind)
    bands = depth_bands(segments.horizon)
    return tuple(
        RewardClass(
            reward=reward_class - NO_REWARD,
            at_sight=count_rewards(real, at_sight, reward_class),
            dreamed=count_rewards(real, given, reward_class),
            by_depth=tuple(
                (first, last, count_rewards(real, given, reward_class, first, last))
                for first, last in bands
            ),
            bins=tuple(reliability(real, probabilities, reward_class)),
        )
        for reward_class in range(probabilities.shape[-1])
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


def to_json(measurements: Measurements) -> dict[str, Any]:
    """Returns the measurements as fields that JSON can hold."""
    fields = dataclasses.asdict(measurements)
    fields["rewards_in_data"] = {str(k): v for k, v in measurements.rewards_in_data.items()}
    return fields


def from_json(fields: Mapping[str, Any]) -> Measurements:
    """The inverse of `to_json`; raises KeyError, TypeError or ValueError for anything else."""
    parts = dict(fields)
    parts["rewards_in_data"] = {int(k): int(v) for k, v in fields["rewards_in_data"].items()}
    parts["returns"] = _returns_from_json(fields["returns"])
    parts["rewards"] = tuple(_class_from_json(row) for row in fields["rewards"])
    parts["motion"] = MotionQuality(**_tuples(fields["motion"]))
    parts["entropy"] = Entropy(**_tuples(fields["entropy"]))
    if fields["value"] is not None:
        parts["value"] = BootstrapValue(**_with_means(_tuples(fields["value"])))
    if fields["novelty"] is not None:
        parts["novelty"] = Novelty(**_tuples(fields["novelty"]))
    return Measurements(**parts)


def _returns_from_json(fields: Mapping[str, Any]) -> Returns:
    curves = {name: tuple(curve) for name, curve in fields["curves"].items()}
    means = {name: value for name, value in fields.items() if name != "curves"}
    return Returns(**_with_means(means), curves=curves)


def _class_from_json(fields: Mapping[str, Any]) -> RewardClass:
    return RewardClass(
        reward=int(fields["reward"]),
        at_sight=RewardCounts(**fields["at_sight"]),
        dreamed=RewardCounts(**fields["dreamed"]),
        by_depth=tuple((a, b, RewardCounts(**counts)) for a, b, counts in fields["by_depth"]),
        bins=tuple(ReliabilityBin(**row) for row in fields["bins"]),
    )


def _with_means(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {k: Mean(**v) if isinstance(v, Mapping) else v for k, v in fields.items()}


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of JSON as tuples, one level deep and in pairs."""
    return {
        name: tuple(tuple(x) if isinstance(x, list) else x for x in value)
        if isinstance(value, list)
        else value
        for name, value in fields.items()
    }
