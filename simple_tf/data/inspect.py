r"""Shows what is in an episode store, and whether it is whole.

    python -m simple_tf.data.inspect --store_dir=DIR

Prints counts per iteration and writes a contact sheet. Exits with 1 if any file is damaged, or if
there is nothing to show.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import tqdm
from absl import app, flags

from simple_tf.data import png
from simple_tf.data.codec import StoredEpisode
from simple_tf.data.contact_sheet import contact_sheet
from simple_tf.data.errors import DamageWarning, StoreError
from simple_tf.data.split import split_iteration
from simple_tf.data.store import EpisodeStore

_STORE_DIR = flags.DEFINE_string("store_dir", None, "The store's directory.", required=True)
_CONTACT_SHEET = flags.DEFINE_string(
    "contact_sheet",
    None,
    "The PNG to write; by default STORE_DIR/contact_sheet.png; empty: none.",
)

_COLUMNS = (
    ("iteration", 9), ("episodes", 9), ("steps", 9), ("terminated", 11), ("truncated", 10),
    ("train", 8), ("dev", 7), ("raw return", 11), ("-1", 7), ("0", 9), ("+1", 7), ("MB", 8),
)  # fmt: skip


def describe(store: EpisodeStore) -> str:
    """What is in the store, as a table of text with a line per iteration."""
    about = store.description
    lines = [
        f"{store.directory}: {about.game}, frames {'x'.join(map(str, about.frame_shape))}, "
        f"{about.num_actions} actions ({', '.join(about.action_meanings)})",
        "settings: " + (", ".join(f"{k}={v}" for k, v in about.settings.items()) or "none"),
        "",
        _row([name for name, _ in _COLUMNS]),
    ]
    lines += [_row([i, *_numbers(store.episodes_of(i))]) for i in store.iterations]
    lines += [_row(["all", *_numbers(store.episodes)])] if len(store.iterations) > 1 else []
    lines += ["", "train, dev: frames; raw return: mean per episode; -1, 0, +1: steps by reward"]
    return "\n".join(lines)


def _row(cells: Sequence[object]) -> str:
    return " ".join(f"{cell!s:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))


def _numbers(episodes: Sequence[StoredEpisode]) -> list[object]:
    rewards = np.concatenate([episode.rewards for episode in episodes])
    return [
        len(episodes),
        len(rewards),
        sum(episode.terminated for episode in episodes),
        sum(episode.truncated for episode in episodes),
        *_split_frames(episodes),
        f"{np.mean([episode.raw_return for episode in episodes]):.2f}",
        *(int(np.sum(rewards == value)) for value in (-1, 0, 1)),
        f"{sum(episode.num_bytes for episode in episodes) / 1e6:.1f}",
    ]


def _split_frames(episodes: Sequence[StoredEpisode]) -> list[int]:
    frames = [0, 0]
    for iteration in {episode.iteration for episode in episodes}:
        lengths = [e.num_frames for e in episodes if e.iteration == iteration]
        frames[0] += sum(segment.num_frames for segment in split_iteration(lengths, "train"))
        frames[1] += sum(segment.num_frames for segment in split_iteration(lengths, "dev"))
    return frames


def _progress(paths: list[Path]) -> Iterable[Path]:
    """A bar for stores that take long to verify; silent when nobody watches."""
    return tqdm.tqdm(paths, desc="verifying", unit="file", delay=2, leave=False, disable=None)


def _report_damage(store: EpisodeStore) -> int:
    for error in store.damaged:
        print(f"DAMAGED {error}")
    if not store.damaged:
        print(f"integrity: all {len(store.episodes)} episode files are whole")
    return 1 if store.damaged else 0


def _write_contact_sheet(store: EpisodeStore, path: Path) -> int:
    try:
        path.write_bytes(png.encode_frame(contact_sheet(store.episodes)))
    except OSError as error:
        print(f"the contact sheet was not written: {error}", file=sys.stderr)
        return 1
    print(f"contact sheet: {path}")
    return 0


def inspect(directory: Path, sheet: Path | None) -> int:
    """Prints what is in a store and writes the contact sheet; returns the exit code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)  # Reported below, file by file.
            store = EpisodeStore.open(directory, on_damage="skip", progress=_progress)
    except StoreError as error:
        print(error, file=sys.stderr)
        return 1
    if not store.episodes:
        print(f"{directory} is an episode store with no readable episode", file=sys.stderr)
        return _report_damage(store) or 1
    print(describe(store))
    exit_code = _report_damage(store)
    if sheet is None:
        return exit_code
    return _write_contact_sheet(store, sheet) or exit_code


def main(argv: Sequence[str]) -> int:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument: {argv[1]}")
    directory = Path(_STORE_DIR.value)
    if _CONTACT_SHEET.value is None:
        return inspect(directory, directory / "contact_sheet.png")
    return inspect(directory, Path(_CONTACT_SHEET.value) if _CONTACT_SHEET.value else None)


if __name__ == "__main__":
    app.run(main)
