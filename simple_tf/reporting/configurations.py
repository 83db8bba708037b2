"""Names for configurations of runs: gin files, bindings, and which contents a file had."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

UNKNOWN = "unknown"

# Statements of gin.
Settings = frozenset[str]


@dataclasses.dataclass(frozen=True)
class Start:
    """How a run was begun.

    Attributes:
        files: names of its gin files, without folder and ending.
        bindings: of the command line, as they were written.
        after: the run whose policy it started from, if there is one.
        time: when, as ISO 8601; empty if unknown.
        commit: of the code; empty if unknown.
    """

    files: tuple[str, ...]
    bindings: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    time: str = ""
    commit: str = ""

    def label(self, of: str = "") -> str:
        """Files and bindings, for people; `of` tells which contents the files had."""
        files = ", ".join(self.files) + (f" ({of})" if of else "")
        return ", ".join([files, *(f"after {run}" for run in self.after), *self.bindings])

    @property
    def plain(self) -> str:
        """The name without bindings."""
        return dataclasses.replace(self, bindings=()).label()

    @property
    def version(self) -> str:
        """What tells the files' contents: the commit or else the day."""
        return self.commit[:7] or self.time[:10] or UNKNOWN

    @property
    def overridden(self) -> set[str]:
        """What the command line decides, whatever the files say."""
        return {binding.partition("=")[0].strip() for binding in self.bindings}


def read_start(fields: Mapping[str, Any]) -> Start | None:
    """Reads how a run was begun from the fields of its `run.json`; None if that is not there."""
    try:
        first = fields["starts"][0]
        command = [str(word) for word in first["command"]]
    except (KeyError, IndexError, TypeError):
        return None
    return Start(
        files=tuple(Path(name).stem for name in _values(command, "gin_file")) or ("default",),
        bindings=tuple(_values(command, "gin_bindings")),
        after=tuple(Path(run).name for run in _values(command, "init_from")),
        time=str(first.get("time") or ""),
        commit=str(first.get("commit") or ""),
    )


def told_apart(
    starts: Sequence[tuple[Start, Mapping[str, str]]], used: Sequence[Settings] | None = None
) -> list[str]:
    """Names configurations such that what is called the same was the same.

    A gin file may have changed between two runs. If what it bound differs, the runs of all but its
    newest contents are named with the commit of the first of them. What was bound on the command
    line is a part of the name, unless the file has all of it by now: settings often are tried by
    bindings before they are the file's.

    Args:
        starts: how each run was begun, and all of its gin bindings.
        used: the settings that each run has used, those that nothing bound included; empty where
            they are not known.

    Returns:
        One name for each.
    """
    by_files: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, (start, _) in enumerate(starts):
        by_files[start.files].append(number)
    names = [start.label() for start, _ in starts]
    for numbers in by_files.values():
        *older, _ = _versions([starts[number] for number in numbers])
        seen: Counter[str] = Counter()
        for version in older:
            tag = starts[numbers[version[0]]][0].version
            seen[tag] += 1
            of = tag if seen[tag] == 1 else f"{tag}, {seen[tag]}"
            for place in version:
                names[numbers[place]] = starts[numbers[place]][0].label(of)
    return names if used is None else _by_what_was_used(names, [start for start, _ in starts], used)


def read_settings(text: str) -> Settings:
    """Reads what a run's `config.gin` says, in whatever order."""
    lines = text.replace("\\\n", " ").splitlines()
    return frozenset(
        " ".join(line.split()) for line in lines if line.strip() and not line.startswith("#")
    )


def _by_what_was_used(
    names: Sequence[str], starts: Sequence[Start], used: Sequence[Settings]
) -> list[str]:
    """Gives runs with bindings the plain name of their files, if that has come to the same."""
    plain = {
        (start.files, settings)
        for name, start, settings in zip(names, starts, used, strict=True)
        if settings and not start.bindings and name == start.label()
    }
    return [
        start.plain if (start.files, settings) in plain else name
        for name, start, settings in zip(names, starts, used, strict=True)
    ]


def _versions(starts: Sequence[tuple[Start, Mapping[str, str]]]) -> list[list[int]]:
    """Splits runs of the same files by what these bound, the newest last; each in order of time."""
    versions: list[list[int]] = []
    for number in sorted(range(len(starts)), key=lambda number: starts[number][0].time):
        alike = (
            version
            for version in versions
            if all(_same_contents(starts[number], starts[other]) for other in version)
        )
        version = next(alike, None)
        if version is None:
            versions.append([number])
        else:
            version.append(number)
    return sorted(versions, key=lambda numbers: starts[numbers[-1]][0].time)


def _same_contents(
    one: tuple[Start, Mapping[str, str]], other: tuple[Start, Mapping[str, str]]
) -> bool:
    """Whether the files may have been the same: nothing differs but what a command line decided."""
    decided = one[0].overridden | other[0].overridden
    first, second = (
        {name: value for name, value in bound.items() if name not in decided}
        for _, bound in (one, other)
    )
    return first == second


def _values(command: Sequence[str], flag: str) -> list[str]:
    """Values of a repeated flag, written as --flag=value or --flag value."""
    text = "\n".join(command)
    found = re.findall(rf"^--?{flag}[=\n](.*)$", text, re.MULTILINE)
    return [value.strip() for value in found]
