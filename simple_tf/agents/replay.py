"""Prioritised replay on a Reverb server: written step by step, sampled ahead of the learner."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import errno
import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from simple_tf.data.untuned import untuned

_TABLE = "replay"
_UNFINISHED = ".unfinished"
_MOST_ON_THEIR_WAY = 32  # Items that are written, but not yet on the server.


class ReplayError(RuntimeError):
    """Replay is not possible; the message says why and what to do."""


@dataclasses.dataclass(frozen=True)
class ReplaySpec:
    """What one item of the replay is: n steps from one observation to another.

    Attributes:
        frame_shape: (height, width, channels).
        stack: K, frames of an observation.
        num_steps: n.
        capacity: most items; the oldest go first.
        batch_size: B, items of a sample.
        prioritized: whether items are drawn by their priorities, or all alike.
    """

    frame_shape: tuple[int, int, int]
    stack: int
    num_steps: int
    capacity: int
    batch_size: int
    prioritized: bool = True

    @property
    def signature(self) -> dict[str, tf.TensorSpec]:
        """Of an item."""
        n = self.num_steps
        return {
            "frames": tf.TensorSpec((self.stack + n, *self.frame_shape), tf.uint8),
            "action": tf.TensorSpec((), tf.int32),
            "rewards": tf.TensorSpec((n,), tf.float32),
            "discounts": tf.TensorSpec((n,), tf.float32),
        }


class Sample(NamedTuple):
    """B items.

    Attributes:
        keys: uint64 [B], to name them again.
        probabilities: float64 [B], with which they were drawn.
        frames: uint8 [B, K + n, H, W, C]: the first K are the observation before the n steps, the
            last K the one after them.
        actions: int32 [B], the first of the n.
        rewards: [B, n].
        discounts: [B, n].
    """

    keys: tf.Tensor
    probabilities: tf.Tensor
    frames: tf.Tensor
    actions: tf.Tensor
    rewards: tf.Tensor
    discounts: tf.Tensor


class Replay(tf.train.experimental.PythonState):
    """A Reverb server in this process, with one writer and one reader; part of a checkpoint.

    The server starts when it is first needed. In a checkpoint is the name of a folder with all
    items and their priorities, which Reverb has written. Where that folder is gone, replay starts
    empty.

    Args:
        spec: of the items.
        folder: for what is saved.
        saves_to_keep: how many.
        batches_ahead: how many samples wait for the learner.
    """

    def __init__(
        self, spec: ReplaySpec, folder: Path, saves_to_keep: int = 4, batches_ahead: int = 2
    ) -> None:
        self._reverb = import_reverb()
        self.spec = spec
        self._folder = folder
        self._saves_to_keep = saves_to_keep
        self._batches_ahead = batches_ahead
        self._server: Any = None
        self._own_client: Any = None
        self._writer: Any = None
        self._samples: Iterator[Any] | None = None
        # Priorities are set in the background: the learner need not wait until they are.
        self._background = concurrent.futures.ThreadPoolExecutor(1)
        self._pending: concurrent.futures.Future[None] | None = None
        self._created = 0
        self.size = 0

    @property
    def writer(self) -> Any:
        """Reverb's `TrajectoryWriter`."""
        if self._writer is None:
            length = self.spec.stack + self.spec.num_steps + 1
            self._writer = self._client().trajectory_writer(num_keep_alive_refs=length)
        return self._writer

    def create_item(self, priority: float, trajectory: dict[str, Any]) -> None:
        """Adds an item of what the writer has been given."""
        self.writer.create_item(_TABLE, priority, trajectory)
        self.size = min(self.size + 1, self.spec.capacity)
        self._created += 1
        if self._created % _MOST_ON_THEIR_WAY == 0:
            self.writer.flush(block_until_num_items=_MOST_ON_THEIR_WAY // 2)

    def flush(self) -> None:
        """Waits until everything written can be sampled, and all priorities are set."""
        self.writer.flush()
        if self._pending is not None:
            self._pending.result()

    def sample(self) -> Sample:
        """Returns the next sample; the one after it is already being made."""
        if self._samples is None:
            self._samples = self._first_samples()
        info, data = next(self._samples)
        return Sample(
            info.key,
            info.probability,
            data["frames"],
            data["action"],
            data["rewards"],
            data["discounts"],
        )

    def set_priorities(self, keys: np.ndarray, priorities: np.ndarray) -> None:
        """Changes the priorities of items; those that are gone are passed over."""
        if self._pending is not None:
            self._pending.result()  # Raises what went wrong there.
        changes = dict(zip(keys.tolist(), priorities.tolist(), strict=True))
        client = self._client()
        self._pending = self._background.submit(client.mutate_priorities, _TABLE, changes)

    def serialize(self) -> str:
        """See `PythonState`: writes everything, returns the folder's name."""
        self.flush()
        saves = self._saves()
        name = f"{int(saves[-1].name) + 1 if saves else 1:06d}"
        try:
            with _quiet():
                written = self._client().checkpoint()
        except Exception as error:  # Reverb has no errors of its own for a disk.
            number = errno.ENOSPC if "No space left" in str(error) else errno.EIO
            raise OSError(number, f"The replay could not be saved: {error}") from error
        # Out of Reverb's sight: it keeps one only, and the run may still need the one before.
        Path(written).rename(self._folder / name)
        for old in self._saves()[: -self._saves_to_keep]:
            shutil.rmtree(old, ignore_errors=True)
        return name

    def deserialize(self, string_value: str | bytes) -> None:
        """See `PythonState`."""
        name = string_value.decode() if isinstance(string_value, bytes) else string_value
        self.close()
        for save in self._saves():
            if save.name > name:  # It belongs to no checkpoint.
                shutil.rmtree(save, ignore_errors=True)
        saved = self._folder / name
        if not (saved / "DONE").exists():
            logging.warning("The replay %s is gone; it is filled again.", saved)
            return
        self._start(load_from=saved)
        self.size = self._client().server_info()[_TABLE].current_size

    def close(self) -> None:
        """Ends the server."""
        if self._pending is not None:
            self._pending.result()
        self._samples = self._pending = None
        if self._writer is not None:
            self._writer.close()
        if self._server is not None:
            with _quiet():
                self._server.stop()
        self._writer = self._server = None
        self.size = 0

    def _client(self) -> Any:
        if self._server is None:
            self._start()
        return self._own_client

    def _start(self, load_from: Path | None = None) -> None:
        """Starts the server, empty or with what was saved."""
        unfinished = self._folder / _UNFINISHED
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        checkpointer = self._reverb.platform.checkpointers_lib.DefaultCheckpointer(
            str(unfinished), fallback_checkpoint_path=str(load_from) if load_from else None
        )
        with _quiet():
            self._server = self._reverb.Server([self._table()], checkpointer=checkpointer)
        self._own_client = self._reverb.Client(self._address())

    def _address(self) -> str:
        return f"localhost:{self._server.port}"

    def _table(self) -> Any:
        reverb, spec = self._reverb, self.spec
        by_priority = reverb.selectors.Prioritized(1.0)
        return reverb.Table(
            _TABLE,
            sampler=by_priority if spec.prioritized else reverb.selectors.Uniform(),
            remover=reverb.selectors.Fifo(),
            max_size=spec.capacity,
            rate_limiter=reverb.rate_limiters.MinSize(1),
            signature=spec.signature,
        )

    def _dataset(self) -> tf.data.Dataset:
        size = self.spec.batch_size
        samples = self._reverb.TrajectoryDataset.from_table_signature(
            self._address(),
            _TABLE,
            max_in_flight_samples_per_worker=size,
            num_workers_per_iterator=1,
        )
        batches = samples.batch(size, drop_remainder=True).prefetch(self._batches_ahead)
        return untuned(batches)

    def _first_samples(self) -> Iterator[Any]:
        self.flush()
        with _quiet():
            samples = iter(self._dataset())
            first = next(samples)
        return itertools.chain([first], samples)

    def _saves(self) -> list[Path]:
        """Oldest first."""
        return sorted(self._folder.glob("[0-9]*"))


def import_reverb() -> Any:
    """Returns the module.

    Raises:
        ReplayError: it is not installed.
    """
    try:
        import reverb
    except ImportError as error:
        raise ReplayError(
            "Rainbow keeps its replay on Reverb, which is not installed here "
            f"({error}): pip install '.[baselines]' in the checkout. It exists for Linux on x86-64."
        ) from error
    return reverb


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Reverb tells of every start and save on standard error, in the middle of our lines."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
