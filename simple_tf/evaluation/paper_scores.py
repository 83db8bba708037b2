"""The scores of the paper, appendix D: SimPLe's configurations, the baselines, random and human."""

from __future__ import annotations

import csv
import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("paper_scores.csv")

# The paper's mean is over so many training runs.
NUM_RUNS = 5


class Method(NamedTuple):
    """A column of the paper's tables: who played, after how many interactions."""

    name: str
    interactions: int


SD = Method("sd", 100_000)
SD_LONG = Method("sd_long", 100_000)
DETERMINISTIC = Method("deterministic", 100_000)
RECURRENT = Method("deterministic_recurrent", 100_000)
RANDOM = Method("random", 0)
HUMAN = Method("human", 0)

# The model-free learners that the paper compares with.
BASELINES = {
    f"{title} {label}": Method(name, interactions)
    for title, name in (("Rainbow", "rainbow"), ("PPO", "ppo"))
    for label, interactions in (("100K", 100_000), ("500K", 500_000), ("1M", 1_000_000))
}

# The paper's own configurations, all with 100K interactions.
CONFIGURATIONS = {
    "SD long": SD_LONG,
    "SD": SD,
    "deterministic": DETERMINISTIC,
    "recurrent": RECURRENT,
    "SD gamma 0.90": Method("sd_gamma90", 100_000),
    "SD gamma 0.95": Method("sd_gamma95", 100_000),
    "SD 100 steps": Method("sd_100_steps", 100_000),
    "SD 25 steps": Method("sd_25_steps", 100_000),
}

# What is shown beside our scores.
COLUMNS = {
    **{title: CONFIGURATIONS[title] for title in ("SD long", "SD", "deterministic", "recurrent")},
    **BASELINES,
    "random": RANDOM,
    "human": HUMAN,
}


@dataclasses.dataclass(frozen=True)
class PaperScore:
    """One cell of the paper's tables; what the paper does not say is None."""

    mean: float
    std: float | None = None
    median: float | None = None
    best: float | None = None


class PaperScores:
    """All cells, by game and method."""

    def __init__(self, cells: Mapping[tuple[str, Method], PaperScore]) -> None:
        self._cells = dict(cells)

    @property
    def games(self) -> list[str]:
        """All games of the paper, sorted."""
        return sorted({game for game, _ in self._cells})

    def find(self, game: str, method: Method) -> PaperScore | None:
        """Returns a cell, or None where the paper has none."""
        return self._cells.get((game, method))

    def mean(self, game: str, method: Method) -> float | None:
        """Returns a mean score, or None where the paper has none."""
        cell = self.find(game, method)
        return None if cell is None else cell.mean


@functools.cache
def load_paper_scores() -> PaperScores:
    """Reads the scores that ship with the package."""
    cells: dict[tuple[str, Method], dict[str, float]] = {}
    with _FILE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = row["game"], Method(row["method"], int(row["interactions"]))
            cells.setdefault(place, {})[row["statistic"]] = float(row["score"])
    return PaperScores({place: PaperScore(**cell) for place, cell in cells.items()})
