"""The protocol card: a score together with everything that was chosen to obtain it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "simple_tf evaluation 1"

POLICY = "policy"
RANDOM = "random"


class CardError(ValueError):
    """A file is not a whole protocol card; the message says what is wrong with it."""


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Of a number of scores; `std` is the sample standard deviation, None for a single score."""

    mean: float
    std: float | None
    median: float
    min: float
    max: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> Statistics:
        """Computes them."""
        values = np.asarray(scores, np.float64)
        std = float(values.std(ddof=1)) if len(values) > 1 else None
        middle = float(np.median(values))
        return cls(float(values.mean()), std, middle, float(values.min()), float(values.max()))


@dataclasses.dataclass(frozen=True)
class Card:
    """One evaluation, as it is written to disk.

    Attributes:
        game: its name.
        game_settings: how it was presented: emulator, frame skip, no-ops, sticky actions, …
        player: `policy` or `random`.
        checkpoint: where the policy came from; None for the random player.
        iteration: of the training loop, after which the policy was saved; None if there is none.
        interactions: real steps the policy had been trained with; None if unknown.
        temperature: of the policy; None for the random player.
        max_steps: the cap on an episode; None: none.
        seed: decides everything, together with the iteration and the protocol.
        returns: the score of every episode.
        lengths: agent steps of every episode.
        cut: for every episode, whether the cap ended it.
        versions: of the packages that matter.
        created: when, in ISO 8601.
        seconds: how long it took.
        epsilon: of an epsilon-greedy policy (Rainbow's), at temperature 1; None: it is none.
        precision: in which numbers the policy was computed.
    """

    game: str
    game_settings: Mapping[str, Any]
    player: str
    checkpoint: str | None
    iteration: int | None
    interactions: int | None
    temperature: float | None
    max_steps: int | None
    seed: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    cut: tuple[bool, ...]
    versions: Mapping[str, str]
    created: str
    seconds: float
    epsilon: float | None = None
    precision: str = "float32"

    def __post_init__(self) -> None:
        if not self.returns or {len(self.returns), len(self.lengths)} != {len(self.cut)}:
            raise CardError(
                f"A card needs a score, a length and a mark for each episode, not "
                f"{len(self.returns)}, {len(self.lengths)} and {len(self.cut)}."
            )

    @property
    def episodes(self) -> int:
        """How many were played."""
        return len(self.returns)

    @property
    def statistics(self) -> Statistics:
        """Over the episodes."""
        return Statistics.of(self.returns)

    @property
    def unfinished(self) -> int:
        """Episodes that the cap ended; their scores count as they were."""
        return sum(self.cut)

    def metrics(self) -> dict[str, float]:
        """The numbers to log."""
        numbers = self.statistics
        return {
            "mean_score": numbers.mean,
            "std_score": 0.0 if numbers.std is None else numbers.std,
            "median_score": numbers.median,
            "min_score": numbers.min,
            "max_score": numbers.max,
            "mean_steps": sum(self.lengths) / self.episodes,
            "unfinished": float(self.unfinished),
        }

    def to_json(self) -> str:
        """Returns the file's content: all attributes, and the statistics for people."""
        content = dataclasses.asdict(self)
        content = {"format": FORMAT, **content, "statistics": dataclasses.asdict(self.statistics)}
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Card:
        """Reads what `to_json` wrote.

        Raises:
            CardError: if it is something else, or not whole.
        """
        try:
            content = json.loads(text)
            if content.pop("format") != FORMAT:
                raise CardError("It is of another version of simple_tf.")
            content.pop("statistics")
            for name in ("returns", "lengths", "cut"):
                content[name] = tuple(content[name])
            return cls(**content)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CardError(f"It is not a whole protocol card ({error}).") from error


def write_card(path: Path, card: Card) -> Path:
    """Writes a card; the file appears when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(card.to_json())
    return partial.replace(path)


def read_card(path: Path) -> Card:
    """Reads a card.

    Raises:
        CardError: if the file is missing or damaged.
    """
    try:
        return Card.from_json(path.read_text())
    except (OSError, UnicodeDecodeError, CardError) as error:
        raise CardError(f"{path} cannot be read: {error}") from error


def describe(card: Card) -> str:
    """Returns the card as text for the screen."""
    numbers = card.statistics
    std = "" if numbers.std is None else f" ± {numbers.std:.4g} (standard deviation)"
    rows = {
        "score": f"{numbers.mean:.4g}{std}",
        "median, range": f"{numbers.median:.4g}, {numbers.min:.4g} to {numbers.max:.4g}",
        **protocol_rows(card),
    }
    width = max(map(len, rows))
    return "\n".join([card.game, *(f"  {name:{width}}  {text}" for name, text in rows.items())])


def protocol_rows(card: Card) -> dict[str, str]:
    """Returns the choices behind the score, in words."""
    return {
        "player": _player(card),
        "interactions": "unknown" if card.interactions is None else f"{card.interactions:,}",
        "episodes": f"{card.episodes}{_unfinished(card)}",
        "cap": "none" if card.max_steps is None else f"{card.max_steps:,} steps",
        "no-ops": _noops(card.game_settings),
        "sticky actions": _sticky(card.game_settings),
        "seed": str(card.seed),
        "mean length": f"{np.mean(card.lengths):,.0f} steps",
        "versions": ", ".join(f"{name} {version}" for name, version in card.versions.items()),
        "made": f"{card.created}, in {card.seconds:.1f} s",
    }


def _player(card: Card) -> str:
    if card.player == RANDOM:
        return "uniformly random actions"
    how = "greedy" if card.temperature == 0 else f"sampled at temperature {card.temperature:g}"
    if card.epsilon is not None and card.temperature:
        how = f"epsilon-greedy with {card.epsilon:g}, {how}"
    if card.precision != "float32":
        how = f"{how}, computed in {card.precision}"
    return f"{card.checkpoint}, {how}"


def _unfinished(card: Card) -> str:
    return f", {card.unfinished} of them cut at the cap" if card.unfinished else ", all finished"


def _noops(settings: Mapping[str, Any]) -> str:
    fewest, most = settings.get("noop_range", (0, 0))
    return f"{fewest} to {most} at the start" if most else "none"


def _sticky(settings: Mapping[str, Any]) -> str:
    probability = settings.get("sticky_probability", 0.0)
    return f"with probability {probability:g}" if probability else "none"
