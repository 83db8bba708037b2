"""Pictures and videos inside the page, so that it needs no file beside it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from simple_tf.reporting.markup import escape, figure, paragraph
from simple_tf.reporting.runs import Run
from simple_tf.training.run_directory import RunDirectory

# A page with larger files would take long to open; they are named instead.
_MOST_BYTES = 12_000_000
_TYPES = {".png": "image/png", ".gif": "image/gif", ".mp4": "video/mp4"}


def filmstrips(run: Run) -> list[str]:
    """Returns the pictures of the run's first and last world model."""
    paths = sorted(RunDirectory(run.path).filmstrips.glob("*.png"))
    chosen = paths if len(paths) < 2 else [paths[0], paths[-1]]
    return [
        figure(f'<div class="strip">{embed(path)}</div>', _filmstrip_caption(path, run))
        for path in chosen
    ]


def videos(run: Run) -> list[str]:
    """Returns the run's videos."""
    folder = RunDirectory(run.path).videos
    paths = sorted(path for path in folder.glob("*") if path.suffix in (".mp4", ".gif"))
    return [figure(embed(path), f"{_words(path)}, seed {run.seed}") for path in paths]


def embed(path: Path) -> str:
    """Returns an element with the file's content in it, or a sentence that says where it is."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return paragraph(f"{path.name} cannot be read: {error}", "note")
    if len(content) > _MOST_BYTES:
        return paragraph(f"{path} is too large to be shown here.", "note")
    data = f"data:{_TYPES[path.suffix]};base64,{base64.b64encode(content).decode('ascii')}"
    name = escape(_words(path))
    if path.suffix == ".mp4":
        return f'<video controls muted loop playsinline preload="metadata" src="{data}"></video>'
    gif = ' class="gif"' if path.suffix == ".gif" else ""
    return f'<img{gif} alt="{name}" src="{data}">'


def typical_run(runs: Sequence[Run]) -> Run:
    """Returns the run with the median score (the lower one of two): neither lucky nor unlucky."""
    ranked = sorted(runs, key=lambda run: run.score.statistics.mean if run.score else 0.0)
    return ranked[(len(ranked) - 1) // 2]


def _filmstrip_caption(path: Path, run: Run) -> str:
    iteration = path.stem.removeprefix("iteration_").lstrip("0") or "0"
    return f"The world model after iteration {iteration}, seed {run.seed}: model, game, difference."


def _words(path: Path) -> str:
    return path.stem.replace("_", " ")
