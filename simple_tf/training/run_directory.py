"""Where a run keeps what, and what it was made with."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from simple_tf import __version__
from simple_tf.cores import usable_cores
from simple_tf.training.run_lock import LOCK_NAME, InUseError, take_lock

RESUME = ("auto", "never")

FORMAT_VERSION = 1

# Packages whose version can change a result.
_PACKAGES = (
    "tensorflow",
    "tf-agents",
    "tensorflow-probability",
    "keras",
    "ale-py",
    "gymnasium",
    "numpy",
    "gin-config",
    "dm-reverb",
)


# What a process leaves that is killed before it has described its run.
_LEFT_BEFORE_A_RUN = {LOCK_NAME, ".run.json.tmp"}


class RunError(ValueError):
    """A run directory cannot be used as asked; the message says why and what to do."""


@dataclasses.dataclass(frozen=True)
class RunDescription:
    """What decides the result of a run.

    Attributes:
        game: name of the game.
        seed: of every random draw.
        bindings: gin bindings as parsed, name to value.
        init_from: the run whose policy it started from; None: from scratch.
    """

    game: str
    seed: int
    bindings: Mapping[str, str]
    init_from: str | None = None

    def differences(self, other: RunDescription) -> list[str]:
        """One phrase for whatever is not the same in `other`."""
        mine, theirs = self._flat(), other._flat()
        return [
            f"{name}: {mine.get(name, 'not set')} in the run, {theirs.get(name, 'not set')} now"
            for name in sorted(mine.keys() | theirs.keys())
            if _value(mine.get(name)) != _value(theirs.get(name))
        ]

    def _flat(self) -> dict[str, str]:
        start = {} if self.init_from is None else {"--init_from": self.init_from}
        return {"--game": self.game, "--seed": str(self.seed), **start, **self.bindings}


class RunDirectory:
    """The layout of a run's directory. Nothing is created until something is written there.

    Args:
        path: the directory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.description = self.path / "run.json"
        self.configuration = self.path / "config.gin"
        self.metrics = self.path / "metrics.jsonl"
        self.tensorboard = self.path / "tensorboard"
        self.episodes = self.path / "episodes"
        self.checkpoints = self.path / "checkpoints"
        self.replay = self.path / "replay"
        self.policies = self.path / "policies"
        self.evaluations = self.path / "evaluations"
        self.filmstrips = self.path / "filmstrips"
        self.videos = self.path / "videos"
        self.report = self.path / "report"
        self.diagnosis = self.path / "diagnosis"

    def policy(self, iteration: int) -> Path:
        """Where the policy that an iteration ended with is kept."""
        return self.policies / f"iteration_{iteration:03d}"

    def policy_iterations(self) -> list[int]:
        """The iterations whose policies are there, in order."""
        names = [path.parent.name for path in self.policies.glob("iteration_*/policy.json")]
        return sorted(int(name.removeprefix("iteration_")) for name in names)

    def evaluation(self, name: str) -> Path:
        """The file with one evaluation's scores."""
        return self.evaluations / f"{name}.json"

    def filmstrip(self, iteration: int) -> Path:
        """The picture of an iteration's world model."""
        return self.filmstrips / f"iteration_{iteration:03d}.png"

    def claim(
        self,
        description: RunDescription,
        resume: str = "auto",
        devices: Mapping[str, Any] = MappingProxyType({}),
    ) -> bool:
        """Takes the directory for a run, a new one or the same one again, until this process ends.

        Args:
            description: what the run is to be.
            resume: "auto" goes on with the same run; "never" refuses to touch any run.
            devices: what this start computes with; noted, but free to be different every time.

        Returns:
            Whether the run had been started before.

        Raises:
            RunError: the directory holds something else, or the run of another configuration, or
                another process is at work on it.
        """
        self._check_resumption(description, resume)  # Whatever is refused is left as it was.
        self._lock()
        if not self._check_resumption(description, resume):  # It may be another's by now.
            self._write(description, [], devices)
            return False
        existing, fields = self.read()
        self._write(existing, fields["starts"], devices)
        return True

    def check(self, description: RunDescription) -> bool:
        """Whether this run has been started here; writes nothing.

        Raises:
            RunError: the directory holds something else, or the run of another configuration.
        """
        if not self.description.exists():
            self._check_empty()
            return False
        existing, _ = self.read()
        differences = existing.differences(description)
        if differences:
            listing = "\n  ".join(differences)
            raise RunError(
                f"{self.path} holds a run with another configuration; give the same again to go "
                f"on with it, or choose another --output_dir. What differs:\n  {listing}"
            )
        self._check_whole()
        return True

    def read(self) -> tuple[RunDescription, dict[str, Any]]:
        """The description of an existing run, and everything that `run.json` says.

        Raises:
            RunError: there is no run, or its `run.json` cannot be read.
        """
        try:
            fields = json.loads(self.description.read_text(encoding="utf-8"))
            description = RunDescription(
                fields["game"], fields["seed"], fields["bindings"], fields.get("init_from")
            )
            return description, {"starts": [], **fields}
        except FileNotFoundError as error:
            raise RunError(f"There is no run in {self.path}: it has no run.json.") from error
        except NotADirectoryError as error:
            raise RunError(f"{self.path} is a file, not the directory of a run.") from error
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise RunError(
                f"{self.description} cannot be read ({error}); restore it from a copy."
            ) from error

    def _check_whole(self) -> None:
        """Raises a RunError where going on would mean beginning anew over the records of a run."""
        records = [*self.evaluations.glob("*.json"), *self.policies.glob("*")]
        if records and not any(self.checkpoints.glob("[0-9]*")):
            raise RunError(
                f"{self.path} holds the records of a run without its checkpoints: it cannot go on, "
                "and beginning anew would overwrite them. Choose another --output_dir, or copy the "
                f"checkpoints back to {self.checkpoints}."
            )

    def _check_resumption(self, description: RunDescription, resume: str) -> bool:
        started = self.check(description)
        if started and resume == "never":
            raise RunError(
                f"{self.path} holds a run already, and --resume=never was given; choose another "
                "--output_dir, or leave out --resume to go on with it."
            )
        return started

    def _lock(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            take_lock(self.path)
        except InUseError as error:
            raise RunError(
                f"{self.path} is in use: another process is at work on this run ({error}). Let it "
                "finish, stop it, or choose another --output_dir."
            ) from error

    def _check_empty(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"{self.path} is a file; --output_dir must be a directory.")
        found = {path.name for path in self.path.iterdir()} if self.path.exists() else set()
        names = sorted(found - _LEFT_BEFORE_A_RUN)
        if names:
            raise RunError(
                f"{self.path} is neither empty nor a run: it holds {names[0]}; choose another "
                "--output_dir."
            )

    def _write(
        self,
        description: RunDescription,
        starts: list[dict[str, Any]],
        devices: Mapping[str, Any],
    ) -> None:
        fields = {
            "format": "simple_tf run",
            "format_version": FORMAT_VERSION,
            "game": description.game,
            "seed": description.seed,
            "init_from": description.init_from,
            "bindings": dict(description.bindings),
            "starts": [*starts, {**_this_start(), "devices": dict(devices)}],
        }
        replace_text(self.description, json.dumps(fields, indent=2) + "\n")


def _value(text: str | None) -> str | float | None:
    """A binding's value as far as it can be compared: 1e5 and 100000 are the same."""
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def replace_text(path: Path, text: str) -> None:
    """Writes a small file in one step: a reader sees the old content or the new one."""
    temporary = path.with_name(f".{path.name}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def versions() -> dict[str, str]:
    """The versions of everything that can change a result."""
    found = {"simple_tf": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _this_start() -> dict[str, Any]:
    """When, how and on what this process was started."""
    return {
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": [Path(sys.executable).name, *sys.orig_argv[1:]],
        "versions": versions(),
        "commit": commit_of(Path(__file__)),
        "machine": {
            "processor": _processor(),
            "cores": usable_cores(),
            "system": platform.system(),
        },
    }


def commit_of(file: Path) -> str | None:
    """The commit that a file is of, with a plus sign if anything was changed since.

    None where there is no repository, or only one of something else: of a project, for example,
    into whose folder the package has been installed.
    """
    git = ["git", "-C", str(file.parent)]
    try:
        known, found, status = (
            subprocess.run([*git, *words], capture_output=True, text=True, check=False)
            for words in (
                ("ls-files", "--error-unmatch", file.name),
                ("rev-parse", "HEAD"),
                ("status", "--porcelain"),
            )
        )
    except OSError:
        return None
    if known.returncode or found.returncode:
        return None
    return found.stdout.strip() + ("+" if status.stdout.strip() else "")


def _processor() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
