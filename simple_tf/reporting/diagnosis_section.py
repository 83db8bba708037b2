"""What limits each run, with the curves behind it."""

from __future__ import annotations

from collections.abc import Sequence

from simple_tf.evaluation.diagnosis import Measurements, RewardClass
from simple_tf.evaluation.gaps import Gap
from simple_tf.evaluation.novelty import EXPECTED_SHARE
from simple_tf.reporting.charts import Series, line_chart
from simple_tf.reporting.markup import (
    card,
    definitions,
    details,
    figure,
    grid,
    paragraph,
    section,
    table,
)
from simple_tf.reporting.numbers import NONE, count_text, game_text, score_text
from simple_tf.reporting.runs import Run
from simple_tf.reporting.svg import Point
from simple_tf.training.diagnosis_file import RunDiagnosis

_SHARES = (0.0, 1.0)
_COLUMNS = ("gap", "error", "threshold", "severity", "what was found")


def diagnoses(runs: Sequence[Run]) -> str:
    """Returns a section about the runs that have been diagnosed; nothing if none has."""
    found = [(run.name, run.diagnosis) for run in runs if run.diagnosis is not None]
    if not found:
        return ""
    parts = [diagnosis_boxes(one, f"{name}: ") for name, one in found]
    return section("What limits these runs", "diagnosis", *parts)


def diagnosis_boxes(found: RunDiagnosis, prefix: str = "") -> str:
    """Returns verdict, gaps and charts of one run."""
    return "".join(
        [
            paragraph(f"{prefix}{found.verdict}", "lead"),
            table(_COLUMNS, [gap_row(gap) for gap in found.gaps], ["", "", "", "", "text wrap"]),
            paragraph(
                "Severity: the part of the way from the threshold to 1 that the error has gone. "
                "The largest is named; of equal ones the first, since causes come first.",
                "note",
            ),
            grid((card(chart) for chart in _charts(found.measured) if chart), "wide"),
            details("How this was measured", definitions(_circumstances(found))),
        ]
    )


def gap_row(gap: Gap) -> list[str]:
    """Returns a gap as cells: name, error, threshold, severity, finding."""
    error = NONE if gap.error is None else f"{gap.error:.2f}"
    severity = NONE if gap.error is None else f"{gap.severity:.2f}"
    return [gap.name, error, f"{gap.threshold:.2f}", severity, gap.finding]


def _circumstances(found: RunDiagnosis) -> dict[str, str]:
    measured, size = found.measured, found.size
    scores = ", ".join(score_text(score) for score in found.scores)
    return {
        "game, seed": f"{game_text(found.game)}, {found.seed}",
        "policy": f"of iteration {found.iteration}, temperature 1",
        "trained on": f"{count_text(measured.steps_in_data)} interactions",
        "real episodes": f"{len(found.scores)}, cut at {size.max_steps:,} steps; scores {scores}",
        "segments": f"{measured.num_segments} of {measured.horizon} steps",
        "dreams pay": f"the {measured.reward_kind} reward",
        "made": f"{found.created}, simple_tf {found.versions.get('simple_tf', 'unknown')}",
    }


def _charts(measured: Measurements) -> list[str]:
    return [
        _returns(measured),
        _recall(measured),
        _reliability(measured.rewards),
        _motion(measured),
        _entropy(measured),
        _novelty(measured),
        _value(measured),
    ]


def _returns(measured: Measurements) -> str:
    names = {
        "real": "the game",
        "followed": "the model, same actions",
        "acted": "the model, the policy acts",
    }
    series = [
        Series(text, _over_steps(measured.returns.curves[name]), dashed=name == "acted")
        for name, text in names.items()
    ]
    chart = line_chart("Real and dreamed return", series, "step", "mean sum of rewards")
    note = f"From the same {measured.num_segments} starts."
    return "<h3>Real and dreamed return</h3>" + figure(chart, note)


def _recall(measured: Measurements) -> str:
    """Recall and precision of every reward by depth, the depth at the end of each band."""
    series = []
    for one in measured.rewards:
        for name in ("recall", "precision"):
            points = [
                (float(last), float(value))
                for _, last, counts in one.by_depth
                if (value := getattr(counts, name)) is not None and counts.real
            ]
            series.append(Series(f"{_kind(one)}: {name}", points, dashed=name == "precision"))
    if not any(one.points for one in series):
        return ""
    chart = line_chart("Rewards by depth", series, "step", "share", y_range=_SHARES)
    return "<h3>Rewards by depth of the dream</h3>" + figure(
        chart,
        "Recall: real rewards that the model gives within one step. Precision: given ones that are "
        "real. Each point stands for the steps since the one before.",
    )


def _reliability(rewards: Sequence[RewardClass]) -> str:
    series = [
        Series(_kind(one), [(row.predicted, row.observed) for row in one.bins])
        for one in rewards
        if len(one.bins) > 1
    ]
    if not series:
        return ""
    series.append(Series("as often as predicted", [(0.0, 0.0), (1.0, 1.0)], dashed=True))
    chart = line_chart(
        "Calibration of rewards", series, "predicted probability", "came true", y_range=_SHARES
    )
    note = "Steps of dreams under the real actions, by the predicted probability of each reward."
    return "<h3>Calibration of rewards</h3>" + figure(chart, note)


def _kind(one: RewardClass) -> str:
    return f"{one.reward:+d}{' (held-out data)' if one.held_out else ''}"


def _motion(measured: Measurements) -> str:
    motion = measured.motion
    series = [
        Series("changed pixels right", _over_steps(motion.changed_right)),
        Series("visible mass of what moves", _over_steps(motion.visible_mass)),
    ]
    if not any(one.points for one in series):
        return ""
    chart = line_chart("What moves", series, "step", "share of the game's", {"the game": 1.0})
    return "<h3>What moves</h3>" + figure(
        chart,
        "Of the pixels that the game has changed since the start, the share shown right; and how "
        "much frames differ from the background, the game's being 1: below it, things fade.",
    )


def _entropy(measured: Measurements) -> str:
    entropy = measured.entropy
    series = [
        Series("in the game", _over_steps(entropy.real, 0)),
        Series("in dreams", _over_steps(entropy.dreamed, 0)),
    ]
    levels, room = {"does not care": entropy.highest}, (0.0, 1.15 * entropy.highest)
    chart = line_chart("Entropy", series, "step", "nats", levels, room)
    return "<h3>Entropy of the policy</h3>" + figure(chart, "How undecided the policy is.")


def _novelty(measured: Measurements) -> str:
    novelty = measured.novelty
    if novelty is None:
        return ""
    series = [
        Series("states of this policy", _distribution(novelty.visited)),
        Series("held-out data", _distribution(novelty.held_out)),
    ]
    chart = line_chart("States never seen", series, "distance", "share closer", y_range=_SHARES)
    return "<h3>States never seen</h3>" + figure(
        chart,
        f"Distance to the nearest state trained on; {novelty.new_share:.0%} of the policy's states "
        f"are beyond {novelty.limit:.3g}, as {EXPECTED_SHARE:.0%} of the held-out ones are.",
    )


def _value(measured: Measurements) -> str:
    value = measured.value
    if value is None:
        return ""
    low, high = (pick(x for pair in value.bins for x in pair) for pick in (min, max))
    series = [
        Series("fifths of the segments", list(value.bins)),
        Series("as expected", [(low, low), (high, high)], dashed=True),
    ]
    chart = line_chart("Value where rollouts end", series, "value", "earned after it")
    return "<h3>Value where rollouts end</h3>" + figure(
        chart,
        f"Against the discounted rewards that followed, {value.segments} segments; at the dream's "
        f"last frame the value is {value.dreamed_excess.mean:+.2f} off that at the game's.",
    )


def _over_steps(curve: Sequence[float | None], first: int = 1) -> list[Point]:
    return [(float(t), value) for t, value in enumerate(curve, first) if value is not None]


def _distribution(quantiles: Sequence[float]) -> list[Point]:
    last = len(quantiles) - 1
    return [(distance, number / last) for number, distance in enumerate(quantiles)]
