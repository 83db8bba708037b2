"""The real games as a TF-Agents environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from tf_agents.environments import py_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from simple_tf.envs.batch import BatchStep, GameBatch


class RealPyEnvironment(py_environment.PyEnvironment):
    """A batch of real games behind TF-Agents' interface.

    Observations are the last K frames, uint8 [N, K, H, W, C]; rewards are clipped to {-1, 0, 1},
    and `get_info` has the raw ones. A finished game ends with discount 0, a truncated one with
    discount 1. Every slot starts its next episode on its own, one step after its last.

    Args:
      batch: the games; closed together with the environment.
    """

    def __init__(self, batch: GameBatch):
        super().__init__(handle_auto_reset=False)
        self._batch = batch
        self._info: dict[str, np.ndarray] = {}

    @property
    def batched(self) -> bool:
        return True

    @property
    def batch_size(self) -> int:
        return self._batch.num_slots

    def observation_spec(self) -> array_spec.BoundedArraySpec:
        return array_spec.BoundedArraySpec(
            self._batch.observation_shape, np.uint8, 0, 255, name="observation"
        )

    def action_spec(self) -> array_spec.BoundedArraySpec:
        return array_spec.BoundedArraySpec(
            (), np.int32, 0, self._batch.num_actions - 1, name="action"
        )

    def get_info(self) -> dict[str, np.ndarray]:
        """Returns `raw_reward`, `terminated`, `truncated` and `episode_seed`, [N] each."""
        return self._info

    def close(self) -> None:
        self._batch.close()

    def _reset(self) -> ts.TimeStep:
        return self._time_step(self._batch.reset())

    def _step(self, action: Any) -> ts.TimeStep:
        return self._time_step(self._batch.step(action))

    def _time_step(self, step: BatchStep) -> ts.TimeStep:
        self._info = {
            "raw_reward": step.raw_reward,
            "terminated": step.terminated,
            "truncated": step.truncated,
            "episode_seed": step.episode_seed,
        }
        return ts.TimeStep(
            step_type=step.step_type,
            reward=step.reward,
            discount=np.where(step.terminated, 0.0, 1.0).astype(np.float32),
            # TF-Agents' users keep time steps; the batch reuses its memory.
            observation=step.observations.copy(),
        )
