"""How many interactions a model-free learner needs for what SimPLe scores: the paper's claim."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from simple_tf.evaluation.paper_scores import BASELINES, RANDOM, SD_LONG, load_paper_scores
from simple_tf.reporting.results import Result
from simple_tf.reporting.svg import Point


@dataclasses.dataclass(frozen=True)
class Crossing:
    """When a curve first reaches a score.

    Attributes:
        interactions: where it does; where it ends, if it never does.
        reached: whether it does.
    """

    interactions: float
    reached: bool


@dataclasses.dataclass(frozen=True)
class Efficiency:
    """One model-free learner on one game, beside SimPLe.

    Attributes:
        baseline: our runs of the learner.
        simple: our runs of SimPLe that it is compared with; None: there are none.
        score: what our SimPLe scored, in evaluations like the learner's; None: it has none.
        ours: when our learner reached that; None: no score, or no curve.
        paper: when the paper's learner reached the paper's SimPLe (SD long), by its few points.
    """

    baseline: Result
    simple: Result | None
    score: float | None
    ours: Crossing | None
    paper: Crossing | None


def efficiencies(results: Sequence[Result]) -> list[Efficiency]:
    """Compares every model-free result with every SimPLe result of the same game."""
    found = []
    for baseline in results:
        if not baseline.is_model_free:
            continue
        rivals = [r for r in results if r.game == baseline.game and not r.is_model_free]
        found += [_compare(baseline, rival) for rival in rivals]
        if not rivals:
            found.append(_compare(baseline, None))
    return found


def _compare(baseline: Result, simple: Result | None) -> Efficiency:
    score = None if simple is None else comparable_score(simple, baseline)
    points = curve(baseline)
    ours = None if score is None or not points else crossing(points, score)
    return Efficiency(baseline, simple, score, ours, paper_crossing(baseline))


def comparable_score(simple: Result, baseline: Result) -> float | None:
    """SimPLe's score after its last iteration, if episodes were cut at the same length."""
    latest = [run.in_training[-1] for run in simple.runs if run.in_training]
    caps = {card.max_steps for run in baseline.runs for card in run.in_training}
    if not latest or {card.max_steps for card in latest} != caps:
        return None
    return sum(card.statistics.mean for card in latest) / len(latest)


def curve(result: Result) -> list[Point]:
    """The learning curve, mean over the seeds, at the points that all of them have."""
    of_seeds = [
        {c.iteration: (c.interactions, c.statistics.mean) for c in run.in_training}
        for run in result.runs
    ]
    shared = set.intersection(*(set(points) for points in of_seeds)) if of_seeds else set()
    points = []
    for iteration in sorted(shared, key=lambda number: number or 0):
        places = [points[iteration] for points in of_seeds]
        if all(interactions is not None for interactions, _ in places):
            mean = [sum(numbers) / len(places) for numbers in zip(*places, strict=True)]
            points.append((float(mean[0]), float(mean[1])))
    return points


def crossing(points: Sequence[Point], score: float) -> Crossing:
    """When a curve first reaches a score, on the straight lines between its points."""
    before: Point | None = None
    for x, y in points:
        if y >= score:
            if before is None or y == before[1]:
                return Crossing(x, True)
            share = (score - before[1]) / (y - before[1])
            return Crossing(before[0] + share * (x - before[0]), True)
        before = x, y
    return Crossing(points[-1][0], False)


def paper_crossing(result: Result) -> Crossing | None:
    """When the paper's learner of that kind reached the paper's SimPLe; None: it does not say.

    The paper tells scores after 100K, 500K and 1M interactions, and random play's.
    """
    scores = load_paper_scores()
    target, start = scores.mean(result.game, SD_LONG), scores.mean(result.game, RANDOM)
    if target is None or start is None:
        return None
    points = [(0.0, start)]
    for method in BASELINES.values():
        score = scores.mean(result.game, method)
        if method.name == result.learner and score is not None:
            points.append((float(method.interactions), score))
    return crossing(points, target) if len(points) > 1 else None
