"""The real games as a Gymnasium environment, seen exactly as the agent sees them.

gymnasium.make("simple_tf.envs.gymnasium_environment:SimpleTF-v0", game="pong")
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from simple_tf.envs.agent_view import AgentView
from simple_tf.envs.catalog import find_game


class GymnasiumEnvironment(gymnasium.Env[np.ndarray, np.int64]):
    """One real game; observations are the last K frames, rewards are clipped to {-1, 0, 1}.

    `info` has the `raw_reward`.

    Args:
      game: name of the game, see `catalog.find_game`.
      stack: K, how many frames make an observation.
      max_steps: episodes are truncated after so many agent steps; None: never.
      render_mode: None or "rgb_array": the game's whole screen.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012 (Gymnasium's API)

    def __init__(
        self,
        game: str,
        stack: int = 4,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ):
        self._game = find_game(game).make()
        self._view = AgentView(self._game, max_steps)
        self._observation = np.zeros((stack, *self._game.frame_shape), np.uint8)
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(0, 255, self._observation.shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(self._game.action_meanings))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._view.start(int(self.np_random.integers(2**62)), self._observation)
        return self._observation.copy(), {"raw_reward": 0.0}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        step = self._view.step(int(action), self._observation, self._observation)
        info = {"raw_reward": step.raw_reward}
        return (
            self._observation.copy(),
            float(step.reward),
            step.terminated,
            step.truncated,
            info,
        )

    def render(self) -> np.ndarray | None:
        return self._game.screen() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        self._game.close()


gymnasium.register("SimpleTF-v0", entry_point=f"{__name__}:{GymnasiumEnvironment.__name__}")
