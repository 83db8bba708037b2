"""What a store is about, and the manifest file that says so to people and programs."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simple_tf.data import png
from simple_tf.data.errors import StoreError

FORMAT_VERSION = 1
MANIFEST_NAME = "manifest.json"


@dataclasses.dataclass(frozen=True)
class StoreDescription:
    """What every episode of a store has in common; fixed when the store is created.

    Attributes:
        game: Name of the game.
        frame_shape: [H, W, C] of the frames.
        action_meanings: A name for each action, in the order of their numbers.
        settings: The environment's settings; anything that JSON can hold.
    """

    game: str
    frame_shape: png.FrameShape
    action_meanings: tuple[str, ...]
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = tuple(int(size) for size in self.frame_shape)
        png.check_frame_shape(shape)
        object.__setattr__(self, "frame_shape", shape)
        object.__setattr__(self, "action_meanings", tuple(self.action_meanings))
        if not self.action_meanings:
            raise ValueError("a store needs at least one action")
        # As JSON will give them back (tuples become lists), so that comparing means something.
        object.__setattr__(self, "settings", json.loads(json.dumps(dict(self.settings))))

    @property
    def num_actions(self) -> int:
        return len(self.action_meanings)

    def to_json(self) -> dict[str, Any]:
        """The description as JSON-able fields."""
        return {
            "game": self.game,
            "frame_shape": list(self.frame_shape),
            "action_meanings": list(self.action_meanings),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> StoreDescription:
        """The inverse of `to_json`; raises KeyError, TypeError or ValueError for anything else."""
        return cls(
            game=fields["game"],
            frame_shape=tuple(fields["frame_shape"]),
            action_meanings=tuple(fields["action_meanings"]),
            settings=fields["settings"],
        )

    def differences(self, other: StoreDescription) -> list[str]:
        """One phrase for every field or setting that is not the same in `other`."""
        mine, theirs = _flat(self), _flat(other)
        return [
            f"{name}: {mine.get(name, 'not set')} in the store, {theirs.get(name, 'not set')} now"
            for name in sorted(mine.keys() | theirs.keys())
            if mine.get(name) != theirs.get(name)
        ]


def _flat(description: StoreDescription) -> dict[str, str]:
    fields = description.to_json()
    settings = fields.pop("settings")
    fields |= {f"settings.{name}": value for name, value in settings.items()}
    return {name: json.dumps(value, sort_keys=True) for name, value in fields.items()}


def write_manifest(
    directory: Path, description: StoreDescription, counts: Mapping[int, Mapping[str, int]]
) -> None:
    """Replaces the manifest in one step: a reader sees the old one or the new one.

    Args:
        directory: The store.
        description: What the store is about.
        counts: Per iteration, the number of episodes, steps and bytes.
    """
    fields = {
        "format": "simple_tf episode store",
        "format_version": FORMAT_VERSION,
        **description.to_json(),
        "num_actions": description.num_actions,
        "iterations": {str(iteration): dict(counts[iteration]) for iteration in sorted(counts)},
    }
    temporary = directory / f".{MANIFEST_NAME}.tmp"
    try:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(fields, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(directory / MANIFEST_NAME)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def read_manifest(directory: Path) -> tuple[StoreDescription, dict[int, int]] | None:
    """Reads the manifest.

    Returns:
        The description and the number of episodes per iteration, or None if the manifest is
        missing or damaged: the episode files can replace it.

    Raises:
        StoreError: The store was written by a later version of this package.
    """
    try:
        fields = json.loads((directory / MANIFEST_NAME).read_text(encoding="utf-8"))
        version = int(fields["format_version"])
        if version > FORMAT_VERSION:
            raise StoreError(
                f"{directory} has format version {version}, but this version of simple_tf reads "
                f"up to {FORMAT_VERSION}: use a newer one"
            )
        episodes = {int(key): int(value["episodes"]) for key, value in fields["iterations"].items()}
        return StoreDescription.from_json(fields), episodes
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None
