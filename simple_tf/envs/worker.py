"""A process that plays some of a batch's slots; started by `batch.GameBatch`, not by people.

Emulators hold Python's global lock, so only processes put all cores to use. The process is started
as its own program rather than through `multiprocessing`, which would import the main module again
and with it TensorFlow; this module and all that it imports stay free of TensorFlow.

Protocol, over two pipes: the parent first sends a pickled `WorkerTask`; then one byte per command
(`RESET_0`, `RESET_1`, `STEP_0`, `STEP_1`: what to do and into which observation buffer), and the
worker answers each with `DONE`, or `FAILED` and the error's text. A closed pipe ends the worker.
"""

from __future__ import annotations

import dataclasses
import os
import pickle
import signal
import struct
import sys
import traceback
from collections.abc import Sequence

from simple_tf.envs.game import GameSource
from simple_tf.envs.shared_arrays import Layout, map_arrays
from simple_tf.envs.slot import BatchArrays, EpisodeRules, Slot

RESET_0, RESET_1, STEP_0, STEP_1 = b"r", b"R", b"s", b"S"
DONE, FAILED = b"d", b"f"

_LENGTH = struct.Struct("<Q")


@dataclasses.dataclass(frozen=True)
class WorkerTask:
    """What a worker has to know: the game, which slots of the batch, and the shared arrays."""

    source: GameSource
    rules: EpisodeRules
    slots: Sequence[int]
    layout: Layout


class SlotGroup:
    """Some slots of a batch, played one after the other in this process."""

    def __init__(self, task: WorkerTask, arrays: BatchArrays):
        self._slots = [Slot(task.source.make(), task.rules, i, arrays) for i in task.slots]

    def run(self, command: bytes) -> None:
        """Carries out one of the four commands."""
        buffer = 1 if command in (RESET_1, STEP_1) else 0
        for slot in self._slots:
            if command in (STEP_0, STEP_1):
                slot.advance(buffer)
            else:
                slot.restart(buffer)

    def close(self) -> None:
        """Frees the games."""
        for slot in self._slots:
            slot.close()


def send_message(descriptor: int, message: bytes) -> None:
    """Writes a message with its length in front."""
    with os.fdopen(os.dup(descriptor), "wb") as pipe:
        pipe.write(_LENGTH.pack(len(message)) + message)


def receive_message(descriptor: int) -> bytes:
    """Reads what `send_message` wrote."""
    (length,) = _LENGTH.unpack(receive_exactly(descriptor, _LENGTH.size))
    return receive_exactly(descriptor, length)


def receive_exactly(descriptor: int, length: int) -> bytes:
    """Reads so many bytes; raises EOFError if the other side has closed the pipe."""
    parts = []
    while length:
        part = os.read(descriptor, length)
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def main(memory: int, commands: int, answers: int) -> None:
    """Serves until the command pipe is closed."""
    # Ctrl-C, and SIGTERM from a scheduler, reach the whole process group; the parent decides
    # when to stop, and its closed pipe tells.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        task = pickle.loads(receive_message(commands))
        group = SlotGroup(task, BatchArrays(**map_arrays(memory, task.layout)))
        os.write(answers, DONE)
        while True:
            group.run(receive_exactly(commands, 1))
            os.write(answers, DONE)
    except (EOFError, BrokenPipeError):
        return
    except Exception as error:
        os.write(answers, FAILED)
        send_message(answers, pickle.dumps((str(error), traceback.format_exc().strip())))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
