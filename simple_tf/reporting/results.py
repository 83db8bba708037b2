"""From runs to results: per game and configuration, over the seeds, beside the paper's."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from simple_tf.evaluation.card import Card, Statistics
from simple_tf.evaluation.normalization import human_normalized
from simple_tf.evaluation.paper_scores import (
    BASELINES,
    HUMAN,
    NUM_RUNS,
    RANDOM,
    SD_LONG,
    Method,
    PaperScore,
    load_paper_scores,
)
from simple_tf.reporting.runs import Run

# Below this many seeds, a mean over seeds says nothing about the method.
MIN_SEEDS = 3

ABOVE = "above the paper's spread"
WITHIN = "within the paper's spread"
BELOW = "below the paper's spread"
TOO_FEW = "too few seeds to compare"
CUT_SHORT = "episodes cut short: not comparable"
UNFINISHED = "not finished yet"
NOT_IN_PAPER = "not in the paper"

# The paper's cap. Episodes that a smaller one has cut are worth less, or, if points are lost
# towards their end, more.
_PAPER_CAP = 50_000

# Student's t, 97.5 %, for 1, 2, 3, … degrees of freedom; from there on, a series is exact enough.
_T_VALUES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclasses.dataclass(frozen=True)
class Result:
    """One game with one configuration.

    Attributes:
        game: name of the game.
        configuration: for people.
        runs: those with a score, one for each seed.
    """

    game: str
    configuration: str
    runs: tuple[Run, ...]

    @property
    def cards(self) -> list[Card]:
        """The evaluation of each run that counts."""
        return [run.score for run in self.runs if run.score is not None]

    @property
    def scores(self) -> list[float]:
        """The mean score of each run."""
        return [card.statistics.mean for card in self.cards]

    @property
    def statistics(self) -> Statistics:
        """Over the runs."""
        return Statistics.of(self.scores)

    @property
    def best(self) -> float:
        """The best run's score."""
        return max(self.scores)

    @property
    def enough_seeds(self) -> bool:
        """Whether there are enough runs to say something about the method."""
        return len(self.scores) >= MIN_SEEDS

    @property
    def is_final(self) -> bool:
        """Whether its runs have come to their end: all, or none of them."""
        return all(run.final is not None for run in self.runs)

    @property
    def interactions(self) -> int | None:
        """Real steps that the policies were trained with; None if unknown or not the same."""
        used = {card.interactions for card in self.cards}
        return used.pop() if len(used) == 1 else None

    @property
    def cut_short(self) -> bool:
        """Whether some episodes were ended by a smaller cap than the paper's."""
        caps = [card.max_steps for card in self.cards if card.unfinished]
        return any(cap is not None and cap < _PAPER_CAP for cap in caps)

    @property
    def learner(self) -> str | None:
        """The model-free learner, by the paper's name; None: SimPLe."""
        return self.runs[0].learner

    @property
    def is_model_free(self) -> bool:
        """Whether it is a baseline, or came after SimPLe."""
        return self.learner is not None

    @property
    def counterpart(self) -> Method | None:
        """What the paper has of this kind: SD long, or a learner after as many interactions."""
        if self.learner is None:
            return SD_LONG
        if self.runs[0].init_from is not None or self.interactions is None:
            return None
        near = [
            method
            for method in BASELINES.values()
            if method.name == self.learner
            and 0.9 * method.interactions <= self.interactions <= 1.1 * method.interactions
        ]
        return near[0] if near else None

    def paper(self, method: Method | None = None) -> PaperScore | None:
        """Returns the paper's score of this game; by default of the counterpart."""
        method = method or self.counterpart
        return None if method is None else load_paper_scores().find(self.game, method)

    @property
    def random_score(self) -> float | None:
        """The random player's score by the same protocol, or else the paper's; None: unknown."""
        own = [run.random.statistics.mean for run in self.runs if run.random is not None]
        if own:
            return sum(own) / len(own)
        return None if self.cut_short else load_paper_scores().mean(self.game, RANDOM)

    @property
    def normalized(self) -> list[float] | None:
        """Each run's score on the scale where the paper's random is 0 and its human 1.

        None where the paper lacks one of them, a run has not come to its end, or episodes were cut
        short.
        """
        scores = load_paper_scores()
        random, human = scores.mean(self.game, RANDOM), scores.mean(self.game, HUMAN)
        if random is None or human is None or self.cut_short or not self.is_final:
            return None
        return [human_normalized(score, random, human) for score in self.scores]

    def verdict(self) -> str:
        """Compares the mean over seeds with the counterpart's mean and standard deviation."""
        paper = self.paper()
        if paper is None or paper.std is None:
            return NOT_IN_PAPER
        if not self.is_final:
            return UNFINISHED
        if self.cut_short:
            return CUT_SHORT
        if not self.enough_seeds:
            return TOO_FEW
        distance = self.statistics.mean - paper.mean
        if abs(distance) <= paper.std:
            return WITHIN
        return ABOVE if distance > 0 else BELOW

    def better_than_random(self) -> bool | None:
        """Whether the mean over all episodes is above random play's, beyond chance; None: unknown.

        Welch's test at 5 % over episodes where there is a random evaluation of our own; otherwise
        the paper's random score has to lie below the interval of our mean.
        """
        if not self.is_final:
            return None
        ours = [score for card in self.cards for score in card.returns]
        random = [score for run in self.runs if run.random for score in run.random.returns]
        if not random:
            known = load_paper_scores().mean(self.game, RANDOM)
            # The paper's random player played to the end.
            if known is None or self.cut_short:
                return None
            random = [known, known]
        low, _ = difference_interval(
            Statistics.of(ours), len(ours), Statistics.of(random), len(random)
        )
        return low > 0

    def difference_from_paper(self) -> tuple[float, float] | None:
        """Returns Welch's 95 % interval of our mean minus the paper's; None as for `verdict`."""
        paper = self.paper()
        if paper is None or paper.std is None or not self.enough_seeds:
            return None
        if self.cut_short or not self.is_final:
            return None
        theirs = Statistics(paper.mean, paper.std, paper.mean, paper.mean, paper.mean)
        return difference_interval(self.statistics, len(self.scores), theirs, NUM_RUNS)


def difference_interval(
    first: Statistics, first_count: int, second: Statistics, second_count: int
) -> tuple[float, float]:
    """Returns Welch's 95 % interval of the difference of two means, infinite if unknown."""
    difference = first.mean - second.mean
    if first.std is None or second.std is None:
        return -math.inf, math.inf
    parts = [first.std**2 / first_count, second.std**2 / second_count]
    if not any(parts):
        return difference, difference
    freedom = sum(parts) ** 2 / sum(
        part**2 / max(count - 1, 1)
        for part, count in zip(parts, (first_count, second_count), strict=True)
    )
    margin = _t_value(freedom) * math.sqrt(sum(parts))
    return difference - margin, difference + margin


def collect_results(runs: Sequence[Run]) -> list[Result]:
    """Groups runs by game and configuration.

    Of equal seeds only the first counts, and where a run has come to its end only those that have:
    scores on the way there are of shorter episodes.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.score is not None and run.seed is not None:
            groups.setdefault((run.game, run.configuration), []).append(run)
    return [
        Result(game, configuration, _counted(group))
        for (game, configuration), group in sorted(groups.items())
    ]


def _counted(group: Sequence[Run]) -> tuple[Run, ...]:
    """Those of equal configuration that count, in order of their seeds."""
    finished = [run for run in group if run.final is not None]
    by_seed: dict[int, Run] = {}
    for run in finished or group:
        by_seed.setdefault(run.seed or 0, run)
    return tuple(by_seed[seed] for seed in sorted(by_seed))


def uncounted(runs: Sequence[Run], results: Sequence[Result]) -> dict[str, str]:
    """Returns the runs that no result counts, by name, and why."""
    counted = {run.path for result in results for run in result.runs}
    reasons = {}
    for run in runs:
        if run.path in counted:
            continue
        if run.seed is None:
            reasons[run.name] = "cannot be read"
        elif run.score is None:
            reasons[run.name] = "has not been evaluated yet"
        elif run.final is None:
            reasons[run.name] = "has not come to its end, as others like it have"
        else:
            reasons[run.name] = "has the same game, configuration and seed as another"
    return reasons


def by_configuration(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Groups results over games."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.configuration, []).append(result)
    return groups


def _t_value(freedom: float) -> float:
    index = max(int(freedom), 1) - 1
    if index < len(_T_VALUES):
        return _T_VALUES[index]
    return 1.96 + 2.372 / freedom + 2.82 / freedom**2
