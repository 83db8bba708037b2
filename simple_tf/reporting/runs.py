"""Finds runs in folders and reads what a report needs of them, however damaged they are."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simple_tf.evaluation.card import Card, CardError, read_card
from simple_tf.reporting.configurations import (
    UNKNOWN,
    Settings,
    Start,
    read_settings,
    read_start,
    told_apart,
)
from simple_tf.training.diagnosis_file import RunDiagnosis, read_diagnosis
from simple_tf.training.metrics import read_metrics
from simple_tf.training.run_directory import RunDirectory, RunError

FINISHED = "finished"
UNFINISHED = "unfinished"
DAMAGED = "damaged"

_MAIN_CARD = re.compile(r"iteration_(\d+)")
_ITERATIONS = "Schedule.iterations"
_BUDGET = "ModelFreeSchedule.interactions"
_LEARNER = "ModelFreeExperiment.learner"
_EVALUATE_EVERY = "ModelFreeSchedule.evaluate_every"
# Any of these makes a folder look like a run.
_TRACES = ("run.json", "metrics.jsonl", "config.gin")


@dataclasses.dataclass(frozen=True)
class Run:
    """One run, as far as it can be read.

    Attributes:
        path: its directory.
        name: the directory, seen from the folder it was found in.
        game: name of the game; empty if unknown.
        seed: of the run; None if unknown.
        configuration: gin files and bindings it was started with, for people; see `told_apart`.
        bindings: every gin binding, name to value.
        cards: its evaluations, by file name.
        records: of `metrics.jsonl`.
        problems: what could not be read, one sentence each.
        start: how it was begun; None if unknown.
        init_from: the run whose policy it started from; None: from scratch.
        diagnosis: what limits it, if that was looked into.
    """

    path: Path
    name: str
    game: str
    seed: int | None
    configuration: str
    bindings: Mapping[str, str]
    cards: Mapping[str, Card]
    records: Sequence[Mapping[str, Any]]
    problems: tuple[str, ...]
    start: Start | None = None
    init_from: str | None = None
    diagnosis: RunDiagnosis | None = None

    @property
    def status(self) -> str:
        """Whether it came to its end, is half-finished, or cannot be read."""
        if self.seed is None or self.problems:
            return DAMAGED
        return FINISHED if self.final is not None else UNFINISHED

    @property
    def final(self) -> Card | None:
        """The final evaluation."""
        return self.cards.get("final")

    @property
    def random(self) -> Card | None:
        """The random player's evaluation by the same protocol."""
        return self.cards.get("random")

    @property
    def in_training(self) -> list[Card]:
        """The main evaluation after each iteration, in order."""
        names = sorted(name for name in self.cards if _MAIN_CARD.fullmatch(name))
        return [self.cards[name] for name in names]

    @property
    def score(self) -> Card | None:
        """The evaluation that counts: the final one, or else the latest so far."""
        return self.final or (self.in_training[-1] if self.in_training else None)

    @property
    def iterations(self) -> tuple[int, int | None]:
        """How many iterations were done, and how many were planned, if that is known."""
        done = max((int(record["iteration"]) for record in self.records), default=0)
        budget, every = self._bound(_BUDGET), self._bound(_EVALUATE_EVERY)
        if budget and every:
            return done, -(-budget // every)
        return done, self._bound(_ITERATIONS)

    @property
    def learner(self) -> str | None:
        """Which model-free learner it was, by the paper's name; None: SimPLe."""
        if _BUDGET not in self.bindings:
            return None
        return "rainbow" if "Rainbow" in self.bindings.get(_LEARNER, "") else "ppo"

    def _bound(self, name: str) -> int | None:
        """A whole number that is bound in gin, by itself or by a macro."""
        value = self.bindings.get(name, "")
        if value.startswith("%"):
            value = self.bindings.get(value.removeprefix("%"), "")
        with contextlib.suppress(ValueError):
            number = float(value)  # 1e5 is a whole number as well.
            return int(number) if number.is_integer() else None
        return None

    @property
    def seconds(self) -> float:
        """Time worked."""
        return max((float(record["seconds"]) for record in self.records), default=0.0)


def find_runs(folders: Sequence[Path]) -> list[Run]:
    """Reads every run in the folders, at any depth.

    Args:
        folders: run directories, or folders that hold some.

    Raises:
        RunError: if one of the folders does not exist.
    """
    found: dict[Path, Run] = {}
    for folder in folders:
        if not folder.is_dir():
            raise RunError(f"There is no folder {folder}.")
        for path in _run_paths(folder):
            found.setdefault(path.resolve(), _read_run(path, folder))
    return sorted(_named(list(found.values())), key=_place)


def _named(runs: Sequence[Run]) -> list[Run]:
    """Tells configurations apart, which takes all runs."""
    started = [(run.start, run.bindings) for run in runs if run.start is not None]
    used = [_read_settings(run.path) for run in runs if run.start is not None]
    remaining = iter(told_apart(started, used))
    return [
        run if run.start is None else dataclasses.replace(run, configuration=next(remaining))
        for run in runs
    ]


def _place(run: Run) -> tuple[str, str, int, str]:
    return run.game, run.configuration, -1 if run.seed is None else run.seed, run.name


def _run_paths(folder: Path) -> list[Path]:
    """Finds all runs inside, but in no folder whose name begins with an underscore."""
    paths = {trace.parent for name in _TRACES for trace in folder.rglob(name)}
    return sorted(
        path
        for path in paths
        if not any(part.startswith("_") for part in path.relative_to(folder).parts)
    )


def _read_run(path: Path, folder: Path) -> Run:
    directory = RunDirectory(path)
    problems: list[str] = []
    game, seed, init_from = "", None, None
    bindings: dict[str, str] = {}
    fields: dict[str, Any] = {}
    try:
        description, fields = directory.read()
        game, seed, bindings = description.game, description.seed, dict(description.bindings)
        init_from = description.init_from
    except RunError as error:
        problems.append(str(error))
    cards = _read_cards(directory.evaluations, problems)
    name = path.name if path == folder else str(path.relative_to(folder))
    return Run(
        path=path,
        name=name,
        game=game or _game_of(cards),
        seed=seed,
        configuration=UNKNOWN,  # Known when all are.
        start=read_start(fields),
        bindings=bindings,
        cards=cards,
        records=_read_records(directory, problems),
        diagnosis=_read_diagnosis(directory, problems),
        problems=tuple(problems),
        init_from=init_from,
    )


def _read_cards(folder: Path, problems: list[str]) -> dict[str, Card]:
    cards = {}
    for path in sorted(folder.glob("*.json")):
        try:
            cards[path.stem] = read_card(path)
        except CardError as error:
            problems.append(str(error))
    return cards


def _read_records(directory: RunDirectory, problems: list[str]) -> list[dict[str, Any]]:
    try:
        records = read_metrics(directory)
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{directory.metrics} cannot be read: {error}")
        return []
    whole = [record for record in records if _is_whole(record)]
    if len(whole) < len(records):
        count = len(records) - len(whole)
        lines = "line" if count == 1 else "lines"
        problems.append(f"{directory.metrics} has {count} damaged {lines}.")
    return whole


def _read_settings(path: Path) -> Settings:
    """What a run has used; nothing if that cannot be read."""
    try:
        return read_settings(RunDirectory(path).configuration.read_text())
    except (OSError, UnicodeDecodeError):
        return frozenset()


def _read_diagnosis(directory: RunDirectory, problems: list[str]) -> RunDiagnosis | None:
    path = directory.diagnosis / "diagnosis.json"
    try:
        return read_diagnosis(path) if path.exists() else None
    except RunError as error:
        problems.append(str(error))
        return None


def _is_whole(record: Any) -> bool:
    try:
        return isinstance(record["metrics"], dict) and all(
            isinstance(record[name], int | float) for name in ("iteration", "seconds")
        )
    except (KeyError, TypeError):
        return False


def _game_of(cards: Mapping[str, Card]) -> str:
    return next((card.game for card in cards.values()), "")
