"""The store of everything that was ever played. Episodes are added, and never changed.

    DIR/manifest.json
    DIR/iteration_003/episode_00017.tfrecord

The episode files are the truth. Each is written under a temporary name, flushed to the disk and
renamed, so it is there whole or not at all, whenever the process dies. The manifest repeats what
they say, for people, and can be lost.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import tensorflow as tf

from simple_tf.data import codec, layout
from simple_tf.data.codec import StoredEpisode
from simple_tf.data.description import (
    MANIFEST_NAME,
    StoreDescription,
    read_manifest,
    write_manifest,
)
from simple_tf.data.episode import Episode
from simple_tf.data.errors import DamageError, DamageWarning, StoreError
from simple_tf.data.layout import Key
from simple_tf.file_system import is_full_disk

OnDamage = Literal["refuse", "skip"]
Progress = Callable[[list[Path]], Iterable[Path]]


class EpisodeStore:
    """Episodes on disk, by (iteration, index). Open it with `create_or_open` or `open`.

    Several processes may append (each append takes a lock) while others read; a reader calls
    `refresh` to see new episodes.
    """

    def __init__(
        self,
        directory: Path,
        description: StoreDescription,
        on_damage: OnDamage,
        progress: Progress = iter,
    ):
        """Use `create_or_open` or `open` instead."""
        if on_damage not in ("refuse", "skip"):
            raise ValueError(f'on_damage must be "refuse" or "skip", not {on_damage!r}')
        self._directory = directory
        self._description = description
        self._on_damage = on_damage
        self._episodes: dict[Key, StoredEpisode] = {}
        self._stamps: dict[Path, tuple[int, int]] = {}  # Of the files, when they were read.
        self._damaged: dict[Path, DamageError] = {}
        self.refresh(progress)

    @classmethod
    def create_or_open(
        cls,
        directory: str | os.PathLike[str],
        description: StoreDescription,
        on_damage: OnDamage = "refuse",
    ) -> EpisodeStore:
        """Opens a store to append to it, and creates it if there is none.

        Args:
            directory: Where the store is or shall be.
            description: What the store is about; an existing one must be about the same.
            on_damage: "refuse" raises DamageError if any file is damaged; "skip" warns and goes on
                without those files.

        Raises:
            StoreError: The directory holds something else, or a store about something else.
        """
        path = Path(directory)
        layout.check_can_hold_store(path)
        existing = _find_description(path)
        if existing is not None and existing != description:
            raise StoreError(
                f"the store {path} was made with other settings "
                f"({'; '.join(existing.differences(description))}): "
                "use those again, or another directory"
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
            with layout.lock(path):
                layout.remove_leftovers(path)
                store = cls(path, description, on_damage)
                store._write_manifest()
        except OSError as error:
            raise StoreError(f"could not write to the store {path}: {_explain(error)}") from error
        return store

    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str],
        on_damage: OnDamage = "refuse",
        progress: Progress = iter,
    ) -> EpisodeStore:
        """Opens an existing store as it is, without changing anything in its directory.

        Args:
            directory: Where the store is.
            on_damage: As for `create_or_open`.
            progress: Wraps the list of files while they are verified, for example `tqdm.tqdm`.

        Raises:
            StoreError: There is no store, or (DamageError) some of its files are damaged.
        """
        path = Path(directory)
        if not path.is_dir():
            raise StoreError(f"there is no directory {path}")
        description = _find_description(path)
        if description is None:
            raise StoreError(f"{path} is not an episode store: no readable {MANIFEST_NAME} in it")
        return cls(path, description, on_damage, progress)

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def description(self) -> StoreDescription:
        return self._description

    @property
    def episodes(self) -> tuple[StoredEpisode, ...]:
        """All episodes in the order of their keys, without frames."""
        return tuple(self._episodes[key] for key in sorted(self._episodes))

    @property
    def iterations(self) -> tuple[int, ...]:
        """The iterations that have episodes, in order."""
        return tuple(sorted({iteration for iteration, _ in self._episodes}))

    @property
    def damaged(self) -> tuple[DamageError, ...]:
        """What is wrong with the files that were left out (`on_damage="skip"`)."""
        return tuple(self._damaged.values())

    def get(self, key: Key) -> StoredEpisode | None:
        """The episode (iteration, index), without frames; None if there is none."""
        return self._episodes.get(key)

    def episodes_of(self, iteration: int) -> tuple[StoredEpisode, ...]:
        """The episodes of one iteration, in the order they were played."""
        return tuple(episode for episode in self.episodes if episode.iteration == iteration)

    def num_steps(self, iteration: int | None = None) -> int:
        """Real interactions stored in one iteration, or in all."""
        chosen = self.episodes if iteration is None else self.episodes_of(iteration)
        return sum(episode.num_steps for episode in chosen)

    def append(self, episode: Episode) -> StoredEpisode:
        """Adds an episode; when this returns, it survives a crash of the process or machine.

        Raises:
            ValueError: The episode does not fit the store's description.
            StoreError: Its key is taken, or the disk is full or fails. The store is unchanged
                then, and the same episode can be appended again.
        """
        self._check_fits(episode)
        path = layout.episode_path(self._directory, episode.key)
        with layout.lock(self._directory):
            if path.exists():
                raise StoreError(f"{path} exists already: an episode is never written twice")
            self._episodes[episode.key] = stored = self._write(path, episode)
            self._stamps[path] = _stamp(path)
            self._try_to_write_manifest()
        return stored

    def discard_from(self, iteration: int) -> int:
        """Removes the episodes of an iteration and of all later ones.

        Only for play that nothing has been learned from, and that is to be played anew.

        Args:
            iteration: The first to go.

        Returns:
            How many interactions are gone.
        """
        with layout.lock(self._directory):
            gone = [self._episodes.pop(key) for key in list(self._episodes) if key[0] >= iteration]
            # First the manifest, or nothing: a store with more files than it counts is whole.
            self._write_manifest()
            for episode in gone:
                episode.path.unlink(missing_ok=True)
        return sum(episode.num_steps for episode in gone)

    def refresh(self, progress: Progress = iter) -> None:
        """Picks up episodes that were added, or played anew, since; only such files are read.

        Args:
            progress: Wraps the list of new files while they are verified.

        Raises:
            DamageError: A new file is damaged, or a known one has vanished (with
                `on_damage="skip"` these are left out with a DamageWarning instead).
        """
        # First the manifest, then the files: a writer in between can only make more files.
        manifest = read_manifest(self._directory)
        found = layout.find_episode_files(self._directory)
        damage = self._forget_vanished(found) | self._miscounted(found, manifest)
        self._forget_replaced()
        known = self._damaged.keys() | {episode.path for episode in self._episodes.values()}
        new = [path for path in found if path not in known]
        results = codec.read_episodes(new, self._description)
        stamps = {path: _stamp(path) for path in new}
        for path, result in zip(progress(new), results, strict=True):
            if isinstance(result, StoredEpisode) and result.key == layout.key_of(path):
                self._episodes[result.key] = result
                self._stamps[path] = stamps[path]
            else:
                damage[path] = _as_damage(path, result)
        self._handle(damage)

    def _forget_vanished(self, found: list[Path]) -> dict[Path, DamageError]:
        gone = {e.path: e.key for e in self._episodes.values() if e.path not in set(found)}
        for key in gone.values():
            del self._episodes[key]
        return {path: DamageError(f"{path}: the file is gone") for path in gone}

    def _forget_replaced(self) -> None:
        """Forgets episodes whose files are others by now, so that they are read again."""
        for key, episode in list(self._episodes.items()):
            if _stamp(episode.path) != self._stamps[episode.path]:
                del self._episodes[key]

    def _miscounted(
        self, found: list[Path], manifest: tuple[StoreDescription, dict[int, int]] | None
    ) -> dict[Path, DamageError]:
        """Iterations with fewer files than the manifest once counted."""
        damage = {}
        for iteration, count in (manifest[1] if manifest else {}).items():
            directory = layout.iteration_directory(self._directory, iteration)
            here = sum(path.parent == directory for path in found)
            if here < count and directory not in self._damaged:
                message = f"{directory}: {here} episode files, but the manifest counts {count}"
                damage[directory] = DamageError(message)
        return damage

    def _handle(self, damage: dict[Path, DamageError]) -> None:
        if not damage:
            return
        listing = "\n  ".join(str(error) for error in damage.values())
        if self._on_damage == "refuse":
            raise DamageError(
                f"the store {self._directory} is damaged; restore it from a copy, or open it with "
                f'on_damage="skip" to go on without these:\n  {listing}'
            )
        self._damaged |= damage
        warnings.warn(f"left out of {self._directory}:\n  {listing}", DamageWarning, stacklevel=3)

    def _check_fits(self, episode: Episode) -> None:
        if episode.frame_shape != self._description.frame_shape:
            raise ValueError(
                f"the store {self._directory} holds frames of shape "
                f"{list(self._description.frame_shape)}, not {list(episode.frame_shape)}"
            )
        codec.check_actions(episode, self._description)
        codec.check_frames(episode.png_frames, episode.num_steps, episode.frame_shape)

    def _write(self, path: Path, episode: Episode) -> StoredEpisode:
        """Writes under a temporary name beside `path`, then renames: all or nothing."""
        temporary = layout.temporary_path(path)
        try:
            path.parent.mkdir(exist_ok=True)
            stored = codec.write_episode(temporary, episode, self._description)
            temporary.rename(path)
            layout.sync_directory(path.parent)
            layout.sync_directory(self._directory)
        except (OSError, tf.errors.OpError) as error:
            temporary.unlink(missing_ok=True)
            path.unlink(missing_ok=True)  # Renamed, but not known to be on the disk.
            raise StoreError(f"could not write {path}: {_explain(error)}") from error
        return dataclasses.replace(stored, path=path)

    def _try_to_write_manifest(self) -> None:
        """The episode is safe by now: a manifest that lags behind is no reason to fail."""
        try:
            self._write_manifest()
        except OSError as error:
            warnings.warn(f"the manifest was not updated: {_explain(error)}", stacklevel=3)

    def _write_manifest(self) -> None:
        counts: dict[int, Counter[str]] = collections.defaultdict(Counter)
        for episode in self._episodes.values():
            sizes = {"episodes": 1, "steps": episode.num_steps, "bytes": episode.num_bytes}
            counts[episode.iteration].update(sizes)
        write_manifest(self._directory, self._description, counts)


def _find_description(directory: Path) -> StoreDescription | None:
    """From the manifest or, without a good one, from the first episode that can be read."""
    manifest = read_manifest(directory)
    if manifest is not None:
        return manifest[0]
    for path in layout.find_episode_files(directory):
        try:
            return codec.read_description(path)
        except DamageError:
            continue
    return None


def _stamp(path: Path) -> tuple[int, int]:
    """Tells a file from another one of the same name."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns


def _as_damage(path: Path, result: StoredEpisode | DamageError) -> DamageError:
    if isinstance(result, DamageError):
        return result
    return DamageError(
        f"{path}: by its content it is episode {result.index} of iteration {result.iteration}"
    )


def _explain(error: OSError | tf.errors.OpError) -> str:
    if is_full_disk(error):
        return "the disk is full; free some space and try again"
    return error.message if isinstance(error, tf.errors.OpError) else str(error)
