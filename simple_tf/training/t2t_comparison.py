"""Recordings of the original's tensors, and how far ours are from them."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Recording:
    """A file of recorded tensors.

    Args:
        path: an npz file.

    Raises:
        ValueError: if it is not one.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        try:
            with np.load(path) as file:
                self._arrays = {key: file[key] for key in file.files}
        except (OSError, EOFError, ValueError, AttributeError, TypeError) as error:
            raise ValueError(f"{self.path!r} cannot be read as an npz file: {error}") from error
        except (zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{self.path!r} is a damaged npz file: {error}") from error
        self.inputs: set[str] = set()

    @property
    def keys(self) -> list[str]:
        """Names of the recorded tensors, as stored."""
        return list(self._arrays)

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def __getitem__(self, key: str) -> np.ndarray:
        return self._arrays[key]

    def input(self, key: str) -> np.ndarray:
        """Returns a tensor that is fed to the network, not compared with it."""
        if key not in self._arrays:
            raise ValueError(f"The recording {self.path!r} lacks {key!r}, which it would be fed.")
        self.inputs.add(key)
        return self._arrays[key]


class Check(NamedTuple):
    """How far our tensors are from recorded ones.

    Attributes:
        name: key in the file; a series of numbered keys is one check, `name/00..12`.
        absolute: largest absolute difference.
        relative: that, divided by the largest magnitude in the recorded tensor.
    """

    name: str
    absolute: float
    relative: float

    def passes(self, tolerance: float) -> bool:
        """Whether the relative error is within the tolerance; NaN is not."""
        return bool(self.relative <= tolerance)


class Comparison:
    """Collects the errors of our tensors against a recording, key by key."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._errors: dict[str, tuple[float, float]] = {}
        # Found while layers are at work, where Keras would bury an exception: raised at the end.
        self._misfits: list[str] = []

    def close(self, key: str, ours: np.ndarray, part: int | None = None) -> None:
        """Compares numbers; keys that are not in the recording are passed over.

        Args:
            key: name of the recorded tensor.
            ours: our tensor; axes of length 1 may differ.
            part: index on the second axis of the recorded tensor; None: all of it.
        """
        if key not in self.recording:
            return
        whole = self.recording[key]
        theirs = self._aligned(key, np.asarray(ours), _part(whole, part))
        if theirs is not None:
            scale = np.abs(whole.astype(np.float64)).max(initial=0.0)
            error = np.abs(np.asarray(ours, np.float64) - theirs).max(initial=0.0)
            self._note(key, error, scale)

    def likeliest(self, key: str, logits: np.ndarray, part: int | None = None) -> None:
        """Compares recorded choices with the logits that we would choose by.

        The error is by how much our logit of the recorded choice falls short of our largest:
        0 where the choices agree, and no more than rounding where two are equally good.
        """
        if key in self.recording:
            self.choices(key, np.asarray(logits), _part(self.recording[key], part))

    def choices(self, key: str, logits: np.ndarray, chosen: np.ndarray) -> None:
        """As `likeliest`, for choices that the tensor called `key` encodes in its own way."""
        aligned = self._aligned(key, logits[..., 0], chosen)
        if aligned is None:
            return
        if aligned.min() < 0 or aligned.max() >= logits.shape[-1]:
            self._misfit(key, f"choices up to {aligned.max()}", f"{logits.shape[-1]} choices")
            return
        ours = np.take_along_axis(logits, aligned.astype(np.int64)[..., None], axis=-1)[..., 0]
        self._note(key, (logits.max(axis=-1) - ours).max(), np.abs(logits).max())

    def check_fit(self) -> None:
        """Raises ValueError if a recorded tensor had another shape than ours."""
        if self._misfits:
            raise ValueError(self._misfits[0])

    def checks(self) -> list[Check]:
        """Returns what was compared, in the order of the file; series as one."""
        checks = []
        for name, keys in _series(key for key in self.recording.keys if key in self._errors):
            errors = np.array([self._errors[key] for key in keys])
            relative = errors[:, 0] / np.where(errors[:, 1] > 0, errors[:, 1], 1.0)
            checks.append(Check(name, float(errors[:, 0].max()), float(relative.max())))
        return checks

    def unchecked(self) -> list[str]:
        """Returns the recorded tensors that nothing was compared with."""
        known = self.recording.inputs | set(self._errors)
        return [name for name, _ in _series(k for k in self.recording.keys if k not in known)]

    def _aligned(self, key: str, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray | None:
        """Returns the recorded tensor in the shape of ours, None if it does not fit."""
        if np.squeeze(ours).shape == np.squeeze(theirs).shape:
            return theirs.reshape(ours.shape)
        self._misfit(key, f"shape {theirs.shape}", f"shape {ours.shape}")
        return None

    def _misfit(self, key: str, recorded: str, ours: str) -> None:
        self._misfits.append(
            f"The recording {self.recording.path!r} was made with another network: its {key!r} has "
            f"{recorded}, this one gives {ours}."
        )

    def _note(self, key: str, error: float, scale: float) -> None:
        worst, largest = self._errors.get(key, (0.0, 0.0))
        # NumPy's maximum keeps NaN, Python's would lose it.
        self._errors[key] = (float(np.maximum(worst, error)), float(np.maximum(largest, scale)))


def _part(tensor: np.ndarray, part: int | None) -> np.ndarray:
    return tensor if part is None else tensor[:, part]


def _series(keys: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Groups keys that differ in a final number: `name/00..12` and its members."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(re.sub(r"/\d+$", "/", key), []).append(key)
    return [(_series_name(start, members), members) for start, members in groups.items()]


def _series_name(start: str, members: list[str]) -> str:
    if len(members) == 1:
        return members[0]
    numbers = sorted((member.removeprefix(start) for member in members), key=int)
    return f"{start}{numbers[0]}..{numbers[-1]}"
