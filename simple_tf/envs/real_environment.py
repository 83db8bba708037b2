"""Real games inside TensorFlow's graphs: played in groups, saved and restored with a checkpoint.

While the policy thinks about one group, the games of the others are being played: see
`agents.interleaved`. As a TF-Agents environment, all groups together are one batch.
"""

from __future__ import annotations

import json
import threading
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from tf_agents.environments import tf_environment
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from simple_tf.envs.batch import GameBatch
from simple_tf.envs.game import GameSource
from simple_tf.envs.resumable_batch import BatchState, FinishedEpisodes, ResumableBatch
from simple_tf.seeding import derive_seed


class GameGroup(tf.train.experimental.PythonState):
    """Some games behind traceable functions; their places are part of a checkpoint.

    Args:
        games: the games.
    """

    def __init__(self, games: ResumableBatch) -> None:
        self.games = games
        # TensorFlow may call from several threads at once, and two must not start the games.
        self._lock = threading.Lock()
        shape = (games.num_slots, *games.batch.observation_shape)
        self._outputs = (tf.int32, tf.float32, tf.float32, tf.uint8)
        self._shapes = [shape[:1], shape[:1], shape[:1], shape]

    def receive(self) -> ts.TimeStep:
        """Waits for the step under way, if there is one; what the games show now, [N, ...]."""
        return self._time_step(tf.numpy_function(self._current, [], self._outputs))

    def send(self, actions: tf.Tensor) -> tf.Tensor:
        """Starts a step without waiting for it.

        Args:
            actions: int32 [N]; ignored where an episode has ended and the next one begins.

        Returns:
            The actions, once they are sent: a loop that does not wait for them may end too early.
        """
        return tf.numpy_function(self._send, [actions], tf.int32)

    def reset(self) -> ts.TimeStep:
        """Starts new episodes in all games."""
        return self._time_step(tf.numpy_function(self._restart, [], self._outputs))

    def serialize(self) -> str:
        """See `PythonState`."""
        return json.dumps(self.games.state()._asdict())

    def deserialize(self, string_value: str | bytes) -> None:
        """See `PythonState`; plays the unfinished episodes again up to where they were."""
        fields = json.loads(string_value)
        self.games.restore(
            BatchState(tuple(fields["episodes"]), tuple(map(tuple, fields["actions"])))
        )

    def _current(self) -> tuple[np.ndarray, ...]:
        with self._lock:
            return self._shown()

    def _shown(self) -> tuple[np.ndarray, ...]:
        step = self.games.step
        discounts = np.where(step.terminated, 0.0, 1.0).astype(np.float32)
        # A copy: the games reuse their memory, and TensorFlow may not.
        return step.step_type, step.reward, discounts, step.observations.copy()

    def _send(self, actions: np.ndarray) -> np.ndarray:
        with self._lock:
            self.games.send(actions)
        return actions.copy()

    def _restart(self) -> tuple[np.ndarray, ...]:
        with self._lock:
            self.games.reset()
            return self._shown()

    def _time_step(self, outputs: Any) -> ts.TimeStep:
        for output, shape in zip(outputs, self._shapes, strict=True):
            output.set_shape(shape)
        return ts.TimeStep(*outputs)


@gin.configurable(denylist=["source", "seed"])
class RealEnvironment(tf_environment.TFEnvironment, tf.__internal__.tracking.AutoTrackable):
    """A batch of real games as a TF-Agents environment, in groups that can be played in turn.

    Observations are the last K frames, uint8 [N, K, H, W, C]; rewards are clipped to {-1, 0, 1}.
    A finished game ends with discount 0, a truncated one with discount 1. Every game starts its
    next episode on its own, one step after its last. A checkpoint of the environment holds where
    every game is; restoring plays their unfinished episodes again.

    Args:
        source: the game.
        seed: decides every episode.
        num_slots: N, how many are played side by side.
        num_groups: in how many groups; 2 let acting and emulation overlap.
        stack: K.
        max_steps: episodes are truncated after so many agent steps; None: never.
        num_workers: processes for each group, see `GameBatch`.
    """

    def __init__(
        self,
        source: GameSource,
        seed: int = 0,
        num_slots: int = 16,
        num_groups: int = 2,
        stack: int = 4,
        max_steps: int | None = None,
        num_workers: int | None = None,
    ) -> None:
        if not 1 <= num_groups <= num_slots or num_slots % num_groups:
            raise ValueError(f"{num_slots} games cannot be put into {num_groups} equal groups.")

        def group(number: int) -> GameGroup:
            def make(first_episodes: tuple[int, ...]) -> GameBatch:
                own_seed = derive_seed(seed, "real environment", number)
                slots = num_slots // num_groups
                return GameBatch(
                    source, slots, own_seed, stack, max_steps, num_workers, first_episodes
                )

            return GameGroup(ResumableBatch(make))

        self.groups = [group(number) for number in range(num_groups)]
        batch = self.groups[0].games.batch
        frames, height, width, channels = batch.observation_shape
        self.observation_shape = (frames, height, width, channels)
        self.num_actions = batch.num_actions
        observation = tensor_spec.BoundedTensorSpec(
            self.observation_shape, tf.uint8, 0, 255, name="observation"
        )
        action = tensor_spec.BoundedTensorSpec((), tf.int32, 0, self.num_actions - 1, name="action")
        super().__init__(ts.time_step_spec(observation), action, num_slots)

    def take_finished(self) -> FinishedEpisodes:
        """Returns what was played since the last call, in all groups."""
        parts = [group.games.take_finished() for group in self.groups]
        returns = [value for part in parts for value in part.raw_returns]
        return FinishedEpisodes(returns, sum(part.interactions for part in parts))

    def close(self) -> None:
        """Ends the games."""
        for group in self.groups:
            group.games.close()

    def _current_time_step(self) -> ts.TimeStep:
        return merged([group.receive() for group in self.groups])

    def _reset(self) -> ts.TimeStep:
        return merged([group.reset() for group in self.groups])

    def _step(self, action: tf.Tensor) -> ts.TimeStep:
        parts = zip(self.groups, tf.split(action, len(self.groups)), strict=True)
        with tf.control_dependencies([group.send(part) for group, part in parts]):
            return self._current_time_step()


def merged(parts: list[Any]) -> Any:
    """Joins the same structures of several groups along their first axis."""
    return (
        parts[0] if len(parts) == 1 else tf.nest.map_structure(lambda *x: tf.concat(x, 0), *parts)
    )
