"""The paper's claim with our own runs: SimPLe, PPO and Rainbow after as many interactions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from simple_tf.reporting.numbers import count_text, game_text, score_text
from simple_tf.reporting.results import Result
from simple_tf.reporting.tables import markdown_table, ours_text

LEARNERS = {"SimPLe": None, "PPO": "ppo", "Rainbow": "rainbow"}
HEADER = ("game", "interactions", *LEARNERS, "random")
NOT_RUN = "not run"
TIE = "tie"
NOTE = (
    "Final evaluations of our own runs: mean over seeds, ± standard deviation over seeds where "
    "there are at least 3. Runs are compared if all that they have played agrees within 10 %. "
    "SimPLe's last collection is played after all training: nothing is trained on it, but where "
    "policies are selected it may decide that an earlier one is the final one."
)

# Budgets that differ by less than this are the same.
_TOLERANCE = 0.1


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One game and one budget.

    Attributes:
        game: name of the game.
        interactions: that were played with the real game.
        learners: our results of each, by the names of `LEARNERS`; none where nothing was run.
    """

    game: str
    interactions: int
    learners: Mapping[str, tuple[Result, ...]]

    def holds(self, result: Result) -> bool:
        """Whether a result is in this row."""
        return any(result is other for group in self.learners.values() for other in group)

    @property
    def best(self) -> str | None:
        """Who has the highest mean, or `TIE`; None where one of them has not come to its end."""
        means = {
            name: [result.statistics.mean for result in results if result.is_final]
            for name, results in self.learners.items()
        }
        if not all(means.values()):
            return None
        highest = max(map(max, means.values()))
        first = [name for name in LEARNERS if max(means[name]) == highest]
        return first[0] if len(first) == 1 else TIE


def comparisons(results: Sequence[Result]) -> list[Comparison]:
    """Puts results with the same game and budget side by side; nothing without model-free ones.

    Every configuration of SimPLe has a row of its own. Runs that started from the policy of another
    run are left out: part of their interactions are its.
    """
    fresh = [result for result in results if result.runs[0].init_from is None]
    baselines = [result for result in fresh if result.is_model_free]
    if not baselines:
        return []
    rows = [_beside(result, fresh) for result in fresh if not result.is_model_free]
    for baseline in baselines:
        if not any(row.holds(baseline) for row in rows):
            rows.append(_beside(baseline, fresh))
    return sorted(rows, key=lambda row: (row.game, row.interactions))


def played(result: Result) -> int:
    """Interactions of a result's runs, those after the last policy was saved included."""
    counts = [
        int(record.get("interactions", 0)) for run in result.runs for record in run.records
    ] or [0]
    return max(*counts, result.interactions or 0)


def summary(rows: Sequence[Comparison]) -> str:
    """Returns who is best how often."""
    judged = [row.best for row in rows if row.best]
    if not judged:
        return "No game has been run with all three yet."
    wins = ", ".join(f"{name} in {judged.count(name)}" for name in LEARNERS)
    ties = f", {judged.count(TIE)} tied" if TIE in judged else ""
    number = f"{len(judged)} comparison{'s' * (len(judged) > 1)}"
    return f"Of {number} with all three, the highest mean (of one seed, too) has: {wins}{ties}."


def cells(row: Comparison) -> list[str]:
    """Returns a row of the table, as plain text."""
    everything = [result for results in row.learners.values() for result in results]
    random = [r.random_score for r in everything if r.random_score is not None]
    return [
        game_text(row.game),
        count_text(row.interactions),
        *("; ".join(map(_cell, row.learners[name])) or NOT_RUN for name in LEARNERS),
        score_text(sum(random) / len(random) if random else None),
    ]


def to_markdown(results: Sequence[Result]) -> str:
    """Returns the table for a README; nothing where there is no model-free run."""
    rows = comparisons(results)
    if not rows:
        return ""
    table = markdown_table(HEADER, [cells(row) for row in rows])
    return f"{table}\n\n{summary(rows)} {NOTE}"


def _beside(anchor: Result, results: Sequence[Result]) -> Comparison:
    """What is to be compared with a result; other configurations of SimPLe are not."""

    def fits(result: Result, learner: str | None) -> bool:
        if result.learner != learner or result.game != anchor.game:
            return False
        return result is anchor if learner is None else _same(result, anchor)

    found = {
        name: tuple(result for result in results if fits(result, learner))
        for name, learner in LEARNERS.items()
    }
    return Comparison(anchor.game, played(anchor), found)


def _same(first: Result, second: Result) -> bool:
    counts = played(first), played(second)
    return min(counts) >= (1.0 - _TOLERANCE) * max(counts)


def _cell(result: Result) -> str:
    seeds = f"{len(result.runs)} seed{'s' * (len(result.runs) > 1)}"
    return f"{ours_text(result)} ({result.configuration}, {seeds})"
