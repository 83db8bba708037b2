"""N real games stepped together, on all cores."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from simple_tf.cores import usable_cores
from simple_tf.envs import worker
from simple_tf.envs.game import GameSource
from simple_tf.envs.shared_arrays import Layout, create_block, map_arrays
from simple_tf.envs.slot import BatchArrays, EpisodeRules


class BatchStep(NamedTuple):
    """What N slots show after a step. `step_type` has TF-Agents' values.

    The observations are views that stay valid until the next but one step; copy what you keep.
    """

    observations: np.ndarray  # uint8 [N, K, H, W, C], oldest frame first
    step_type: np.ndarray  # int32 [N]: 0 first, 1 in the middle, 2 last of its episode
    raw_reward: np.ndarray  # float32 [N], the game's own
    reward: np.ndarray  # float32 [N], in {-1, 0, 1}
    terminated: np.ndarray  # bool [N]: the game is over
    truncated: np.ndarray  # bool [N]: cut off, not over
    episode_seed: np.ndarray  # int64 [N]: replays the episode together with its actions


class WorkerError(RuntimeError):
    """A worker process failed or died."""


class _Players(Protocol):
    """Some slots of the batch, here or in another process."""

    def start(self, command: bytes) -> None: ...
    def finish(self) -> None: ...
    def close(self) -> None: ...


class GameBatch:
    """N independent games of one kind.

    Args:
      source: the game.
      num_slots: N, how many are played side by side.
      seed: decides every episode of the batch, see `slot.EpisodeRules`.
      stack: K, how many frames make an observation. The first frame fills the whole history.
      max_steps: episodes are truncated after so many agent steps; None: never.
      num_workers: processes to spread the slots over; 0 plays in this process. None: none for a
        single slot, otherwise one for each core.
      first_episodes: the number of each slot's first episode, to go on where another batch of the
        same seed has ended; empty: 0 for all.

    A step that an exception interrupts (Ctrl-C in a notebook) stays pending; `reset` starts anew.
    """

    def __init__(
        self,
        source: GameSource,
        num_slots: int = 1,
        seed: int = 0,
        stack: int = 4,
        max_steps: int | None = None,
        num_workers: int | None = None,
        first_episodes: Sequence[int] = (),
    ):
        self._players: list[_Players] = []
        for name, value in {"num_slots": num_slots, "stack": stack}.items():
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")
        self.source = source
        self.num_slots = num_slots
        game = source.make()
        self.frame_shape = game.frame_shape
        self.action_meanings = game.action_meanings
        game.close()
        if len(first_episodes) not in (0, num_slots):
            raise ValueError(f"Expected {num_slots} first episodes, not {len(first_episodes)}.")
        layout = _layout(num_slots, (stack, *self.frame_shape))
        rules = EpisodeRules(seed, max_steps, tuple(first_episodes))
        memory = create_block(layout)
        try:
            self._arrays = BatchArrays(**map_arrays(memory, layout))
            self._players = _start_players(source, rules, num_slots, layout, memory, num_workers)
        finally:
            os.close(memory)
        self._buffer = 0
        self._started = False
        self._pending = False

    @property
    def num_actions(self) -> int:
        """A, the number of actions."""
        return len(self.action_meanings)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """K, H, W, C."""
        return self._arrays.observations.shape[2:]

    def reset(self) -> BatchStep:
        """Starts the next episode in every slot; also ends a step that was interrupted."""
        if self._pending:
            self.receive()
        self._buffer = 1 - self._buffer
        self._command(worker.RESET_1 if self._buffer else worker.RESET_0)
        self._started = True
        return self.receive()

    def step(self, actions: np.ndarray, active: np.ndarray | None = None) -> BatchStep:
        """Plays one step in every active slot.

        A slot whose last step ended its episode starts the next one: its action is ignored, and
        the result is the first step of the new episode.

        Args:
          actions: int [N].
          active: bool [N], which slots to play; the others stay as they are. None: all.
        """
        self.send(actions, active)
        return self.receive()

    def send(self, actions: np.ndarray, active: np.ndarray | None = None) -> None:
        """Starts a step without waiting for it: see `step`. Must be followed by `receive`."""
        if not self._started:
            raise RuntimeError("GameBatch.reset() has to come before the first step.")
        if self._pending:
            raise RuntimeError(
                "The step before has not been received: it was interrupted, or send() was called "
                "twice. Call receive() to go on with it, or reset() to start anew."
            )
        actions = self._checked(actions)
        if active is not None and np.shape(active) != (self.num_slots,):
            raise ValueError(f"Expected {self.num_slots} flags, got shape {np.shape(active)}.")
        self._arrays.actions[:] = actions
        self._arrays.active[:] = True if active is None else active
        self._buffer = 1 - self._buffer
        self._command(worker.STEP_1 if self._buffer else worker.STEP_0)

    def receive(self) -> BatchStep:
        """Waits for the step that `send` has started."""
        if not self._pending:
            raise RuntimeError("There is no step to receive: call send() first.")
        for players in self._players:
            players.finish()
        self._pending = False
        arrays = self._arrays
        return BatchStep(
            arrays.observations[self._buffer],
            arrays.step_type.copy(),
            arrays.raw_reward.copy(),
            arrays.reward.copy(),
            arrays.terminated.copy(),
            arrays.truncated.copy(),
            arrays.episode_seed.copy(),
        )

    def close(self) -> None:
        """Ends the workers."""
        for players in self._players:
            players.close()
        self._players = []

    def __enter__(self) -> GameBatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _command(self, command: bytes) -> None:
        if not self._players:
            raise RuntimeError("This GameBatch is closed.")
        self._pending = True
        for players in self._players:
            players.start(command)

    def _checked(self, actions: np.ndarray) -> np.ndarray:
        actions = np.asarray(actions)
        if actions.shape != (self.num_slots,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"Expected {self.num_slots} integer actions, "
                f"got {actions.dtype} of shape {actions.shape}."
            )
        # Python's own minimum and maximum: for a few numbers, numpy's cost several times as much.
        listed = actions.tolist()
        if min(listed) < 0 or max(listed) >= self.num_actions:
            raise ValueError(
                f"Actions of {self.source.name} are 0 to {self.num_actions - 1}, got {actions}."
            )
        return actions


def _layout(num_slots: int, observation_shape: tuple[int, ...]) -> Layout:
    """Shapes and types of `slot.BatchArrays`."""
    slots = (num_slots,)
    return {
        "observations": ((2, num_slots, *observation_shape), "uint8"),
        "actions": (slots, "int32"),
        "active": (slots, "bool"),
        "step_type": (slots, "int32"),
        "raw_reward": (slots, "float32"),
        "reward": (slots, "float32"),
        "terminated": (slots, "bool"),
        "truncated": (slots, "bool"),
        "episode_seed": (slots, "int64"),
    }


def _start_players(
    source: GameSource,
    rules: EpisodeRules,
    num_slots: int,
    layout: Layout,
    memory: int,
    num_workers: int | None,
) -> list[_Players]:
    if num_workers is None:
        num_workers = 0 if num_slots == 1 else usable_cores()
    if num_workers == 0:
        task = worker.WorkerTask(source, rules, range(num_slots), layout)
        return [_LocalPlayers(task, BatchArrays(**map_arrays(memory, layout)))]
    num_workers = min(num_workers, num_slots)
    # Interleaved, so that every worker has its share when only the first slots are active.
    players = [
        _RemotePlayers(
            worker.WorkerTask(source, rules, range(first, num_slots, num_workers), layout), memory
        )
        for first in range(num_workers)
    ]
    try:
        for one in players:
            one.finish()
    except BaseException:
        for one in players:
            one.close()
        raise
    return list(players)


class _LocalPlayers:
    """Slots played in this process."""

    def __init__(self, task: worker.WorkerTask, arrays: BatchArrays):
        self._group = worker.SlotGroup(task, arrays)

    def start(self, command: bytes) -> None:
        self._group.run(command)

    def finish(self) -> None:
        pass

    def close(self) -> None:
        self._group.close()


class _RemotePlayers:
    """Slots played in a worker process; `finish` has to be called once after construction."""

    def __init__(self, task: worker.WorkerTask, memory: int):
        self._busy = True
        their_commands, self._commands = os.pipe()
        self._answers, their_answers = os.pipe()
        descriptors = (memory, their_commands, their_answers)
        self._process = subprocess.Popen(
            [sys.executable, "-m", worker.__name__, *map(str, descriptors)],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": _import_path(sys.path)},
        )
        os.close(their_commands)
        os.close(their_answers)
        worker.send_message(self._commands, pickle.dumps(task))

    def start(self, command: bytes) -> None:
        self._busy = True
        try:
            os.write(self._commands, command)
        except BrokenPipeError:
            raise self._death() from None

    def finish(self) -> None:
        if not self._busy:  # Finished already, by a call that was then interrupted.
            return
        try:
            answer = worker.receive_exactly(self._answers, 1)
            self._busy = False
            if answer == worker.FAILED:
                message, details = pickle.loads(worker.receive_message(self._answers))
                raise WorkerError(f"A game worker failed: {message}\nIn the worker: {details}")
        except EOFError:
            raise self._death() from None

    def close(self) -> None:
        os.close(self._commands)
        os.close(self._answers)
        self._process.wait()

    def _death(self) -> WorkerError:
        status = self._process.wait()
        return WorkerError(
            f"A game worker died with status {status} (a negative number is the signal that "
            "killed it; -9 often means that memory ran out)."
        )


def _import_path(entries: Sequence[str]) -> str:
    """The worker finds modules where this process does, e.g. the one that registers a game."""
    return os.pathsep.join(str(Path(entry).absolute()) for entry in entries)
