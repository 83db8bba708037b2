"""Many runs described in one small file: every game with every configuration and every seed.

[sweep]
games = pong freeway
seeds = 0 1 2
output_dir = runs/discounts
flags =                          # Optional: further flags of every run.

[sd]                             # A configuration; its name is part of the runs' names.
gin_files = sd.gin

[sd_gamma95]
gin_files = sd.gin
gin_bindings =                   # Optional, one on a line.
    PPOLearner.discount = 0.95

[ppo]                            # What its files say is learned decides which program runs it.
gin_files = ppo.gin
"""

from __future__ import annotations

import configparser
import dataclasses
import itertools
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from simple_tf.training.program import program_of

_SWEEP = "sweep"
_SWEEP_KEYS = {"games", "seeds", "output_dir", "flags"}
_CONFIGURATION_KEYS = {"gin_files", "gin_bindings"}
_NAME = re.compile(r"[A-Za-z0-9_.]+")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")


class SweepError(ValueError):
    """A sweep's description is wrong; the message says where."""


@dataclasses.dataclass(frozen=True)
class Configuration:
    """What a run's program is told besides game and seed.

    Attributes:
        name: part of the names of its runs.
        gin_files: paths, or names of shipped files.
        gin_bindings: further lines of gin.
    """

    name: str
    gin_files: tuple[str, ...]
    gin_bindings: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The module that runs it, see `program_of`."""
        return program_of(self.gin_files, self.gin_bindings)


@dataclasses.dataclass(frozen=True)
class Task:
    """One run of a sweep."""

    game: str
    configuration: Configuration
    seed: int
    output_dir: Path
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """GAME-CONFIGURATION-SEED, fit for a directory."""
        game = _NOT_IN_NAMES.sub("_", self.game)
        return f"{game}-{self.configuration.name}-{self.seed}"

    @property
    def run_dir(self) -> Path:
        """The run's directory; started again, the run goes on in it."""
        return self.output_dir / self.name

    def command(self, python: str | None = None) -> list[str]:
        """The command that starts the run, and goes on with it.

        Args:
            python: the interpreter; default: this one.
        """
        configuration = self.configuration
        return [
            *(python or sys.executable, "-m", configuration.program),
            *(f"--gin_file={path}" for path in configuration.gin_files),
            *(f"--gin_bindings={line}" for line in configuration.gin_bindings),
            *(f"--game={self.game}", f"--seed={self.seed}", f"--output_dir={self.run_dir}"),
            *self.flags,
        ]


@dataclasses.dataclass(frozen=True)
class Sweep:
    """All runs that a description asks for.

    Attributes:
        games: names of games.
        seeds: of the runs.
        configurations: in the order of the file.
        output_dir: the runs' directories are inside.
        flags: further flags of every run.
    """

    games: tuple[str, ...]
    seeds: tuple[int, ...]
    configurations: tuple[Configuration, ...]
    output_dir: Path
    flags: tuple[str, ...] = ()

    def tasks(self) -> list[Task]:
        """All runs. The first seed of everything comes first: half a sweep is worth something."""
        return [
            Task(game, configuration, seed, self.output_dir, self.flags)
            for seed, configuration, game in itertools.product(
                self.seeds, self.configurations, self.games
            )
        ]

    def task(self, index: int) -> Task:
        """One of them, counted from 0."""
        tasks = self.tasks()
        if not 0 <= index < len(tasks):
            raise SweepError(f"There is no task {index}: the sweep has 0 to {len(tasks) - 1}.")
        return tasks[index]


def read_sweep(
    path: Path, output_dir: Path | None = None, further_flags: Sequence[str] = ()
) -> Sweep:
    """Reads a description.

    Args:
        path: the file.
        output_dir: instead of the one in the file.
        further_flags: in addition to the flags in the file.

    Raises:
        SweepError: the file cannot be read, or something in it is wrong or missing.
    """
    sections = _read_sections(path)
    fields = sections.pop(_SWEEP, None)
    if fields is None:
        raise SweepError(f"{path} has no section [{_SWEEP}].")
    _check_keys(f"{path}, [{_SWEEP}]", fields, _SWEEP_KEYS, {"games", "seeds", "output_dir"})
    if not sections:
        raise SweepError(f"{path} has no configuration: add a section such as [sd].")
    return Sweep(
        games=_unique(path, "games", fields["games"].split()),
        seeds=_unique(path, "seeds", _seeds(path, fields["seeds"])),
        configurations=tuple(_configuration(path, *section) for section in sections.items()),
        output_dir=output_dir or Path(fields["output_dir"]),
        flags=(*shlex.split(fields.get("flags", "")), *further_flags),
    )


def _read_sections(path: Path) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(
        delimiters=("=",),
        comment_prefixes=("#",),
        inline_comment_prefixes=("#",),
        interpolation=None,  # gin's macros begin with a per cent sign.
        default_section="",
    )
    try:
        parser.read_string(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise SweepError(f"The sweep {path} cannot be read: {error.strerror}.") from error
    except (configparser.Error, UnicodeDecodeError) as error:
        raise SweepError(f"The sweep is wrong: {' '.join(str(error).split())}") from error
    return {name: dict(parser[name]) for name in parser.sections()}


def _configuration(path: Path, name: str, fields: Mapping[str, str]) -> Configuration:
    if not _NAME.fullmatch(name):
        raise SweepError(f"{path}: [{name}] is no name for a directory; use letters, digits, _.")
    _check_keys(f"{path}, [{name}]", fields, _CONFIGURATION_KEYS, {"gin_files"})
    lines = [line.strip() for line in fields.get("gin_bindings", "").splitlines()]
    return Configuration(name, tuple(fields["gin_files"].split()), tuple(filter(None, lines)))


def _check_keys(place: str, fields: Mapping[str, str], known: set[str], needed: set[str]) -> None:
    for name in fields:
        if name not in known:
            raise SweepError(f"{place}: {name} is none of {', '.join(sorted(known))}.")
    for name in sorted(needed):
        if not fields.get(name, "").strip():
            raise SweepError(f"{place}: {name} is missing.")


def _seeds(path: Path, text: str) -> Iterable[int]:
    for word in text.split():
        first, dots, last = word.partition("..")
        if not first.isdecimal() or (dots and not last.isdecimal()):
            raise SweepError(f"{path}: seeds are whole numbers (0 1 2) or ranges (0..4): {word}.")
        yield from range(int(first), int(last if dots else first) + 1)


def _unique(path: Path, name: str, values: Iterable) -> tuple:
    """The values as a tuple; two runs of one name would overwrite each other."""
    counts = Counter(values)
    twice = [str(value) for value, count in counts.items() if count > 1]
    if twice:
        raise SweepError(f"{path}: {', '.join(twice)} is named twice in {name}.")
    if not counts:
        raise SweepError(f"{path}: there are no {name}.")
    return tuple(counts)
