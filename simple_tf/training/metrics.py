"""Numbers and pictures of a run: `metrics.jsonl` for programs, TensorBoard for people."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from simple_tf.training.run_directory import RunDirectory

Numbers = Mapping[str, float]


class MetricsLog:
    """Appends records to `metrics.jsonl` and to TensorBoard's event files.

    A record is one line: `iteration`, `phase`, `step` (within the phase), `interactions` (so far),
    `seconds` (of work so far, over all starts), `time` (Unix), and `metrics`, a flat dictionary.

    Args:
        run: where to write.
        lines_to_keep: after a resumption, how many lines belong to the restored state; later ones
            are of work that is now done again, and are removed. None: keep all.
    """

    def __init__(self, run: RunDirectory, lines_to_keep: int | None = None) -> None:
        if lines_to_keep is not None:
            _keep_lines(run, lines_to_keep)
        self.num_lines = _count_lines(run)
        run.path.mkdir(parents=True, exist_ok=True)
        self._file = run.metrics.open("a", encoding="utf-8")
        self._writer = tf.summary.create_file_writer(str(run.tensorboard))

    def write(self, place: Mapping[str, Any], metrics: Numbers, tensorboard_step: int) -> None:
        """Adds one record.

        Args:
            place: `iteration`, `phase`, `step`, `interactions`, `seconds`.
            metrics: names with their phase in front (`world_model/loss`); NaN becomes null.
            tensorboard_step: the horizontal axis there.
        """
        values = {name: _plain(value) for name, value in metrics.items()}
        record = {**place, "time": round(time.time(), 3), "metrics": values}
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        self.num_lines += 1
        with self._writer.as_default(step=tensorboard_step):
            for name, value in values.items():
                if value is not None:
                    tf.summary.scalar(name, value)

    def write_image(self, name: str, image: np.ndarray, tensorboard_step: int) -> None:
        """Shows one picture, uint8 [H, W, C], in TensorBoard."""
        with self._writer.as_default(step=tensorboard_step):
            tf.summary.image(name, image[None])

    def write_histogram(self, name: str, values: np.ndarray, tensorboard_step: int) -> None:
        """Shows the distribution of some values in TensorBoard."""
        with self._writer.as_default(step=tensorboard_step):
            tf.summary.histogram(name, values)

    def flush(self) -> None:
        """Makes everything written so far survive a crash."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._writer.flush()

    def close(self) -> None:
        """Ends the log."""
        self._file.close()
        self._writer.close()


class SilentLog:
    """Takes what `MetricsLog` takes and keeps nothing: for workers other than the chief."""

    num_lines = 0

    def write(self, place: Mapping[str, Any], metrics: Numbers, tensorboard_step: int) -> None:
        """See `MetricsLog`."""

    def write_image(self, name: str, image: np.ndarray, tensorboard_step: int) -> None:
        """See `MetricsLog`."""

    def write_histogram(self, name: str, values: np.ndarray, tensorboard_step: int) -> None:
        """See `MetricsLog`."""

    def flush(self) -> None:
        """See `MetricsLog`."""

    def close(self) -> None:
        """See `MetricsLog`."""


class RunningMean:
    """Means of metrics over several pieces of work, weighted by their sizes; NaN is left out."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}

    def add(self, metrics: Numbers, weight: float) -> None:
        """Adds the metrics of a piece of work."""
        for name, value in metrics.items():
            self._sums.setdefault(name, 0.0)
            self._weights.setdefault(name, 0.0)
            if not math.isnan(value):
                self._sums[name] += weight * value
                self._weights[name] += weight

    def take(self) -> dict[str, float]:
        """Returns the means, and starts anew."""
        means = {
            name: total / self._weights[name] if self._weights[name] else math.nan
            for name, total in self._sums.items()
        }
        self._sums, self._weights = {}, {}
        return means


def read_metrics(run: RunDirectory) -> list[dict[str, Any]]:
    """All records of a run; a last line that was cut off by a crash is left out."""
    records = []
    if run.metrics.exists():
        for line in run.metrics.read_text(encoding="utf-8").splitlines():
            try:
                records.append(json.loads(line))
            except ValueError:
                continue
    return records


def _plain(value: float) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def _count_lines(run: RunDirectory) -> int:
    return run.metrics.read_bytes().count(b"\n") if run.metrics.exists() else 0


def _keep_lines(run: RunDirectory, count: int) -> None:
    """Cuts the file after `count` whole lines, in place: what is before is not rewritten."""
    if not run.metrics.exists():
        return
    with run.metrics.open("rb+") as file:
        length = 0
        for number, line in enumerate(file):
            if number == count or not line.endswith(b"\n"):
                break
            length += len(line)
        file.truncate(length)
