"""Which of the measured gaps is the largest, by a rule that anybody can check.

Every gap has an error from 0 (none) to 1 (nothing is right) and a threshold, up to which it is
nothing to worry about. Its severity is the part of the way from the threshold to 1 that the error
has gone. The largest severity is named; of equal ones the first in the order below, which goes from
causes to effects: a model cannot learn what the data has not, nor a policy what the model has not.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from simple_tf.evaluation.diagnosis import Measurements, RewardClass
from simple_tf.evaluation.novelty import EXPECTED_SHARE
from simple_tf.evaluation.reward_quality import FEWEST_EVENTS, RewardCounts

# With so many rewards in the data, or in real play, half of the error is gone.
_ENOUGH_REWARDS = 10
_TOO_FEW = f"neither real play nor held-out data has {FEWEST_EVENTS} rewards of a kind"

Judgement = tuple[float | None, str]
"""An error from 0 to 1, or None where nothing can be said; and what was found, as a clause."""


@dataclasses.dataclass(frozen=True)
class Gap:
    """One thing that may limit a run.

    Attributes:
        name: short.
        error: from 0 to 1; None: not judged.
        threshold: up to which it is no gap.
        finding: what was measured, in words.
        advice: what to try.
    """

    name: str
    error: float | None
    threshold: float
    finding: str
    advice: str

    @property
    def severity(self) -> float:
        """0: at most the threshold, or not judged; 1: nothing is right."""
        if self.error is None:
            return 0.0
        return max(self.error - self.threshold, 0.0) / (1.0 - self.threshold)


def find_gaps(measured: Measurements) -> list[Gap]:
    """Returns all gaps in the order from causes to effects, open or not."""
    return [
        Gap(name, *_rounded(judge(measured), threshold), advice)
        for name, threshold, judge, advice in _RULES
    ]


def largest(gaps: Sequence[Gap]) -> Gap | None:
    """Returns the gap with the largest severity, the first of equal ones; None if there is none."""
    worst = max(gaps, key=lambda gap: gap.severity)
    return worst if worst.severity > 0 else None


def verdict(gaps: Sequence[Gap]) -> str:
    """Returns the one sentence that a user wants."""
    worst = largest(gaps)
    if worst is None:
        return (
            "No gap is above its threshold: on this policy's own play the model, the value and "
            "the dreamed returns hold; try more interactions, more policy updates or another seed."
        )
    return f"The largest gap is {worst.name}: {worst.finding}; try {worst.advice}."


def _rounded(judged: Judgement, threshold: float) -> tuple[float | None, float, str]:
    error, finding = judged
    return (None if error is None else min(max(error, 0.0), 1.0)), threshold, finding


def _data(measured: Measurements) -> Judgement:
    number = sum(measured.rewards_in_data.values())
    finding = f"the {measured.steps_in_data:,} steps trained on hold {number:,} rewards"
    return 1.0 / (1.0 + number / _ENOUGH_REWARDS), finding


def _at_sight(measured: Measurements) -> Judgement:
    """1 minus the mean F1 of the rewards that occur often enough."""
    judged = _frequent(measured)
    if not judged:
        return None, _TOO_FEW
    scores = [one.at_sight.f1 or 0.0 for one in judged]
    found = _found(judged, lambda one: one.at_sight)
    finding = f"from the real frames before it the model finds {found}"
    return 1.0 - sum(scores) / len(scores), finding


def _in_dreams(measured: Measurements) -> Judgement:
    """The part of the F1 at sight that is lost on the way: what is never found is no loss here."""
    judged = _frequent(measured)
    at_sight = sum(one.at_sight.f1 or 0.0 for one in judged)
    if not at_sight:
        return None, "the model finds none at sight" if judged else _TOO_FEW
    kept = sum(one.dreamed.f1 or 0.0 for one in judged) / at_sight
    found = _found(judged, lambda one: one.dreamed)
    finding = f"within {measured.horizon} steps under the real actions the model finds {found}"
    return 1.0 - kept, finding


def _frequent(measured: Measurements) -> list[RewardClass]:
    return [one for one in measured.rewards if one.at_sight.real >= FEWEST_EVENTS]


def _found(rewards: Sequence[RewardClass], counts_of: Callable[[RewardClass], RewardCounts]) -> str:
    return " and ".join(_quality(counts_of(one), one) for one in rewards)


def _quality(counts: RewardCounts, one: RewardClass) -> str:
    precision, where = counts.precision, " in held-out data" if one.held_out else ""
    true = "" if precision is None else f" ({precision:.0%} of those it gives are real)"
    return f"{counts.recall or 0.0:.0%} of the rewards {one.reward:+d}{where}{true}"


def _pixels(measured: Measurements) -> Judgement:
    share = measured.motion.mean_changed_right
    if share is None:
        return None, "nothing moved"
    mass = measured.motion.visible_mass[-1]
    fading = "" if mass is None else f", and what moves ends with {mass:.0%} of its mass"
    return 1.0 - share, f"of the pixels that change the model shows {share:.0%} right{fading}"


def _novelty(measured: Measurements) -> Judgement:
    if measured.novelty is None:
        return None, "there is no held-out play to compare with"
    share = measured.novelty.new_share
    excess = (share - EXPECTED_SHARE) / (1.0 - EXPECTED_SHARE)
    return excess, f"{share:.0%} of the states that the policy meets are unlike any in the data"


def _met(measured: Measurements) -> Judgement:
    number, steps = measured.rewards_met, measured.num_segments * measured.horizon
    finding = f"in {steps:,} steps of the game the policy meets {number:,} rewards"
    return 1.0 / (1.0 + number / _ENOUGH_REWARDS), finding


def _returns(measured: Measurements) -> Judgement:
    """Only what dreams pay too much: what they fail to pay is a matter of the rewards."""
    returns = measured.returns
    finding = (
        f"the policy earns {returns.acted.mean:.2f} per rollout in its dreams, "
        f"{returns.real.mean:.2f} in the game from the same states"
    )
    excess = returns.acted_excess
    return _beyond_chance(excess.mean, excess.error, returns.real.std), finding


def _value(measured: Measurements) -> Judgement:
    value = measured.value
    if value is None:
        return None, "all episodes were cut too early to know what came after"
    finding = (
        f"where rollouts end the policy expects {value.predicted.mean:.2f} to come, and "
        f"{value.earned.mean:.2f} comes"
    )
    return _beyond_chance(abs(value.excess.mean), value.excess.error, value.earned.std), finding


def _beyond_chance(difference: float, error: float, spread: float) -> float:
    """A difference beyond two standard errors, against the spread, or a reward if that is less."""
    size = max(difference - 2.0 * error, 0.0)
    return size / (size + max(spread, 1.0))


def _shift(measured: Measurements) -> Judgement:
    entropy = measured.entropy
    real, dreamed = _mean(entropy.real), _mean(entropy.dreamed)
    finding = f"its entropy is {real:.2f} nats in the game and {dreamed:.2f} in dreams"
    return abs(real - dreamed) / max(entropy.highest, 1e-9), finding


def _indecision(measured: Measurements) -> Judgement:
    entropy = measured.entropy
    share = _mean(entropy.real) / max(entropy.highest, 1e-9)
    return share, f"its entropy in the game is {share:.0%} of that of a player who does not care"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_RULES: tuple[tuple[str, float, Callable[[Measurements], Judgement], str], ...] = (
    (
        "the rewards in the data",
        0.5,
        _data,
        "random actions that are held (CollectionPhase.random_hold), or more random play first",
    ),
    (
        "the rewards at sight",
        0.3,
        _at_sight,
        "more windows with a reward (WorldModelPhase.rewarded_share) or more world-model steps",
    ),
    (
        "the picture of what moves",
        0.3,
        _pixels,
        "more world-model steps, a larger model, or longer training windows",
    ),
    (
        "the rewards in dreams",
        0.4,
        _in_dreams,
        "shorter rollouts (ROLLOUT_LENGTH), or longer training windows "
        "(WorldModelPhase.num_target_frames)",
    ),
    (
        "states never seen",
        0.3,
        _novelty,
        "smaller and more iterations, so that data of the newer policies comes earlier",
    ),
    (
        "the rewards that the policy meets",
        0.5,
        _met,
        "dreams that start shortly before rewards (StartSampler.rewarded_share), or a larger "
        "PPOLearner.entropy_coefficient",
    ),
    (
        "the dreamed return",
        0.25,
        _returns,
        "fewer policy updates per iteration, or shorter rollouts: the policy exploits the model",
    ),
    (
        "the value at the end of rollouts",
        0.3,
        _value,
        "longer rollouts, a smaller PPOLearner.discount, or more policy updates",
    ),
    (
        "a policy that behaves otherwise in dreams",
        0.15,
        _shift,
        "longer training windows: the policy sees frames in dreams that the game never shows",
    ),
    (
        "an undecided policy",
        0.9,
        _indecision,
        "more policy updates, or a smaller PPOLearner.entropy_coefficient",
    ),
)
