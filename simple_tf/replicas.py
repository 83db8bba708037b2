"""One computation split over replicas, such that their number does not change what is computed.

A replica is one device's copy of the work (`tf.distribute`). A batch is always the global one; the
replicas have equal parts of its rows, in order. What is drawn for a row, and what is computed over
all rows, is the same however many replicas there are. With one replica, or outside of a strategy,
every function here returns what it is given: there is no second path for a single device.

A replica may compute its rows in parts (`parts.py`), each of which then draws as a replica does.

Inside the functions that a strategy runs, sums over the replicas may not stand in a loop or a
condition (TensorFlow cannot trace them there): loops around them belong outside of `run`.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

_part_of_replica: contextvars.ContextVar[tuple[int | tf.Tensor, int]] = contextvars.ContextVar(
    "part_of_replica", default=(0, 1)
)


@contextlib.contextmanager
def tracing_part(part: int | tf.Tensor, parts: int) -> Iterator[None]:
    """What is traced inside is about one of the equal parts of this replica's rows, from 0."""
    token = _part_of_replica.set((part, parts))
    try:
        yield
    finally:
        _part_of_replica.reset(token)


def this_replica() -> tuple[int | tf.Tensor, int]:
    """The number of the replica that is being traced, from 0, and how many there are.

    In a part of a replica: the part's among those of all replicas, and how many these are.
    """
    replica, replicas = _whole_replica()
    part, parts = _part_of_replica.get()
    return replica * parts + part, replicas * parts


def rows_per_replica(batch_size: int, name: str) -> int:
    """The rows of a batch that each replica of the current strategy has.

    Args:
        batch_size: rows of the global batch.
        name: what the number is called, for the error.

    Raises:
        ValueError: the replicas cannot have equal parts.
    """
    count = tf.distribute.get_strategy().num_replicas_in_sync
    if batch_size % count:
        raise ValueError(
            f"{name} is {batch_size}, which {count} replicas cannot share equally; choose a "
            "multiple, or fewer devices."
        )
    return batch_size // count


def own_rows(values: tf.Tensor, axis: int = 0) -> tf.Tensor:
    """Returns this replica's part of a global batch."""
    index, count = this_replica()
    return values if count == 1 else _part(values, index, count, axis)


def own_rows_of_process(values: tf.Tensor) -> tf.Tensor:
    """Returns this replica's part of the rows that its process has read for all its replicas."""
    index, _ = _whole_replica()
    local = _replicas_of_process(tf.distribute.get_strategy())
    return values if local == 1 else _part(values, index % local, local, 0)


def drawn_rows(draw: Callable[[tf.Tensor], tf.Tensor], shape: Any) -> tf.Tensor:
    """Random numbers for this replica's rows, the same as if one replica had drawn all.

    Everything is drawn on every replica, which is meant for draws that are small beside what is
    done with them.

    Args:
        draw: draws a tensor of a given shape.
        shape: of this replica's part, rows first.
    """
    index, count = this_replica()
    if count == 1:
        return draw(shape)
    shape = tf.convert_to_tensor(shape, tf.int32)
    everything = draw(tf.concat([shape[:1] * count, shape[1:]], axis=0))
    return _part(everything, index, count, 0)


def drawn_gumbels(shape: Any, seed: tf.Tensor) -> tf.Tensor:
    """Draws from the Gumbel distribution: the argmax of logits + these is a draw from softmax."""
    uniform = drawn_rows(lambda full: tf.random.stateless_uniform(full, seed), shape)
    return -tf.math.log(-tf.math.log(uniform))


def total(values: Any) -> Any:
    """Sums a nest of tensors over the replicas."""
    if _part_of_replica.get()[1] > 1:
        raise RuntimeError("A part of a batch cannot sum over all of it.")
    if this_replica()[1] == 1:
        return values
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, values)


def mean(values: Any) -> Any:
    """Means of a nest of tensors over the replicas."""
    _, count = this_replica()
    if count == 1:
        return values
    return tf.nest.map_structure(lambda value: value / count, total(values))


def first(strategy: tf.distribute.Strategy, values: Any) -> Any:
    """What the first replica of this process has returned; for values that are all the same."""
    local = strategy.experimental_local_results
    return tf.nest.map_structure(lambda value: local(value)[0], values)


def position_of_process(strategy: tf.distribute.Strategy) -> tuple[int, int]:
    """The number of this process among those of the strategy, from 0, and how many there are."""
    local = _replicas_of_process(strategy)
    if strategy.num_replicas_in_sync == local:
        return 0, 1
    index = on_replicas(strategy, lambda: tf.convert_to_tensor(this_replica()[0]))()
    return int(index) // local, strategy.num_replicas_in_sync // local


def on_replicas(
    strategy: tf.distribute.Strategy, function: Callable[..., Any]
) -> Callable[..., Any]:
    """Returns a function that runs another on all replicas, to be called from outside of them.

    It takes tensors, and returns what the first replica of this process returns. Build it once:
    it compiles.
    """
    if strategy.num_replicas_in_sync == 1:
        return function
    compiled = tf.function(
        lambda *args: first(strategy, strategy.run(function, args=args)), autograph=False
    )
    # Called directly, TensorFlow would warn that functions made in one place trace so often.
    return lambda *args: compiled.get_concrete_function(*args)(*args)


class ReplicaVariable(tf.__internal__.tracking.Trackable):
    """State that every replica has its own part of; a checkpoint holds it as if there were one.

    A run saved on some number of replicas therefore goes on with another. Reading and assigning
    are for the replicas themselves, also inside of loops.

    Args:
        shape: of one replica's part.
        dtype: its type.
        split: whether the parts are rows of one batch; otherwise all replicas have the same.
    """

    def __init__(self, shape: Sequence[int], dtype: tf.DType, split: bool = True) -> None:
        self.dtype = tf.as_dtype(dtype)
        self.shape = tf.TensorShape(shape)
        self._split = split
        strategy = tf.distribute.get_strategy()
        self._gather = on_replicas(strategy, self._whole)
        self._scatter = on_replicas(strategy, self._assign_own)
        # Bytes cannot be sent between workers, which creating a variable does.
        stored = tf.int32 if self.dtype == tf.uint8 else self.dtype
        self._variable = tf.Variable(
            tf.zeros(shape, stored),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )

    def read_value(self) -> tf.Tensor:
        """Returns this replica's part."""
        return tf.cast(self._variable.read_value(), self.dtype)

    def assign(self, value: tf.Tensor) -> None:
        """Replaces this replica's part."""
        self._variable.assign(tf.cast(value, self._variable.dtype))

    def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
        """See `Trackable`. With several processes, all of them have to save at the same time."""
        return {_VALUE: tf.cast(self._gather(), self.dtype)}

    def _restore_from_tensors(self, restored_tensors: dict[str, tf.Tensor]) -> None:
        """See `Trackable`."""
        self._scatter(restored_tensors[_VALUE])

    def _assign_own(self, whole: tf.Tensor) -> None:
        self.assign(own_rows(whole) if self._split else whole)

    def _whole(self) -> tf.Tensor:
        """The parts of all replicas, or the one that they have in common."""
        part = self._variable.read_value()
        _, count = this_replica()
        if count == 1 or not self._split:
            return part
        return tf.distribute.get_replica_context().all_gather(part, axis=0)


class ByteVariable(tf.__internal__.tracking.Trackable):
    """Bytes that all replicas have in common.

    TensorFlow cannot send bytes between workers, which creating a variable does: inside they are
    larger numbers, but not in a checkpoint.

    Args:
        value: uint8, the first value.
    """

    def __init__(self, value: np.ndarray) -> None:
        self._variable = tf.Variable(value.astype(np.int32), trainable=False)

    def read_value(self) -> tf.Tensor:
        """Returns the bytes."""
        return tf.cast(self._variable.read_value(), tf.uint8)

    def assign(self, value: np.ndarray | tf.Tensor) -> None:
        """Replaces all of them."""
        self._variable.assign(tf.cast(value, tf.int32))

    def numpy(self) -> np.ndarray:
        """Returns the bytes outside of TensorFlow."""
        return self._variable.numpy().astype(np.uint8)

    def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
        """See `Trackable`."""
        return {_VALUE: self.read_value()}

    def _restore_from_tensors(self, restored_tensors: dict[str, tf.Tensor]) -> None:
        """See `Trackable`."""
        self.assign(restored_tensors[_VALUE])


# The name under which TensorFlow saves a variable's value.
_VALUE = "VARIABLE_VALUE"


def _whole_replica() -> tuple[int | tf.Tensor, int]:
    """As `this_replica`, with all of its parts."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return 0, 1
    return context.replica_id_in_sync_group, context.num_replicas_in_sync


def _replicas_of_process(strategy: tf.distribute.Strategy) -> int:
    alone = strategy.num_replicas_in_sync == 1
    return 1 if alone else len(strategy.extended.worker_devices)


def _part(values: tf.Tensor, index: int | tf.Tensor, count: int, axis: int) -> tf.Tensor:
    """Part number `index` of `count` equal ones."""
    size = values.shape[axis]
    if size is not None and size % count:
        raise ValueError(f"{size} rows cannot be shared equally by {count} replicas.")
    length = tf.shape(values)[axis] // count if size is None else size // count
    chosen = index * length + tf.range(length)
    return tf.gather(values, chosen, axis=axis)
