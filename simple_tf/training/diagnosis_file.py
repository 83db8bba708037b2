"""What was found about a run, and the file that keeps it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simple_tf.evaluation import diagnosis_json
from simple_tf.evaluation.diagnosis import Measurements
from simple_tf.evaluation.gaps import Gap, find_gaps, largest, verdict
from simple_tf.training.run_directory import RunError, replace_text

FORMAT = "simple_tf diagnosis"
FORMAT_VERSION = 1


@dataclasses.dataclass(frozen=True)
class DiagnosisSize:
    """How much is played and dreamed.

    Attributes:
        episodes: real episodes, side by side.
        max_steps: each is cut after so many steps.
        segments: most segments to compare.
        horizon: steps of a segment; None: the run's rollout length.
        batch_size: rollouts side by side.
    """

    episodes: int = 8
    max_steps: int = 1000
    segments: int = 128
    horizon: int | None = None
    batch_size: int = 32

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if value is not None and value < 1:
                raise ValueError(f"--{name} must be at least 1, not {value}.")


@dataclasses.dataclass(frozen=True)
class RunDiagnosis:
    """What was found about a run.

    Attributes:
        game: its game.
        seed: the run's.
        iteration: the training iteration whose policy this is.
        scores: of the policy's real episodes, at temperature 1, cut at `max_steps`.
        size: how much was played.
        measured: the numbers.
        created: when.
        versions: of what the numbers may depend on.
    """

    game: str
    seed: int
    iteration: int
    scores: tuple[float, ...]
    size: DiagnosisSize
    measured: Measurements
    created: str
    versions: Mapping[str, str]

    @property
    def gaps(self) -> list[Gap]:
        """All gaps, causes first."""
        return find_gaps(self.measured)

    @property
    def largest(self) -> Gap | None:
        """The gap to mend first."""
        return largest(self.gaps)

    @property
    def verdict(self) -> str:
        """What limits the run, in one sentence."""
        return verdict(self.gaps)

    def to_json(self) -> dict[str, Any]:
        """The diagnosis as fields that JSON can hold; gaps and verdict are for readers."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        own |= {"size": dataclasses.asdict(self.size), "versions": dict(self.versions)}
        own["measured"] = diagnosis_json.to_json(self.measured)
        gaps = [{**dataclasses.asdict(gap), "severity": gap.severity} for gap in self.gaps]
        head = {"format": FORMAT, "format_version": FORMAT_VERSION, "verdict": self.verdict}
        return {**head, "gaps": gaps, **own}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> RunDiagnosis:
        """The inverse of `to_json`; raises KeyError, TypeError or ValueError for anything else."""
        if fields["format"] != FORMAT or fields["format_version"] > FORMAT_VERSION:
            raise ValueError("not a diagnosis of this version of simple_tf")
        own = {f.name: fields[f.name] for f in dataclasses.fields(cls)}
        own |= {"scores": tuple(own["scores"]), "size": DiagnosisSize(**own["size"])}
        own["measured"] = diagnosis_json.from_json(own["measured"])
        return cls(**own)


def write_diagnosis(path: Path, found: RunDiagnosis) -> None:
    """Writes a diagnosis as JSON."""
    replace_text(path, json.dumps(found.to_json(), indent=1) + "\n")


def read_diagnosis(path: Path) -> RunDiagnosis:
    """Reads a diagnosis.

    Raises:
        RunError: it cannot be read.
    """
    try:
        return RunDiagnosis.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} cannot be read ({error}); diagnose the run again.") from error
