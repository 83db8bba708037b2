"""Any Gymnasium environment with image observations and discrete actions, as a game."""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium
import numpy as np

from simple_tf.envs.frame_processing import FrameProcessor
from simple_tf.envs.game import Game, GameSource, Outcome
from simple_tf.envs.settings import GymnasiumSettings

_SUPPORTED = (
    "simple_tf plays environments whose observations are uint8 images of shape [height, width], "
    "[height, width, 1] or [height, width, 3] and whose actions are gymnasium.spaces.Discrete"
)


@dataclasses.dataclass(frozen=True)
class GymnasiumSource(GameSource):
    """A Gymnasium environment by id; `module:Id-v0` imports the module that registers it first."""

    name: str
    settings: GymnasiumSettings

    def make(self) -> GymnasiumGame:
        return GymnasiumGame(self.name, self.settings)

    def settings_dict(self) -> dict[str, Any]:
        return {"emulator": "gymnasium", **dataclasses.asdict(self.settings)}


class GymnasiumGame(Game):
    """One Gymnasium environment. See `GymnasiumSettings` for what the agent sees."""

    def __init__(self, name: str, settings: GymnasiumSettings):
        self._name = name
        # The passive checker would warn about every image that is not 0..255 RGB on each step.
        self._env = gymnasium.make(name, disable_env_checker=True)
        self._skip = settings.frame_skip
        image_shape = _image_shape(name, self._env.observation_space)
        first, number = _discrete_actions(name, self._env.action_space)
        self._first_action = first
        self.action_meanings = tuple(f"action_{first + action}" for action in range(number))
        self._processor = FrameProcessor(image_shape, settings.resize_factor, settings.grayscale)
        self.frame_shape = self._processor.frame_shape

    def reset(self, seed: int) -> None:
        # Gymnasium hands the seed on to code that may accept 32 bits only.
        observation, _ = self._env.reset(seed=seed % 2**31)
        self._look_at(observation)

    def step(self, action: int) -> Outcome:
        raw_reward = 0.0
        for _ in range(self._skip):
            observation, reward, terminated, truncated, _ = self._env.step(
                self._first_action + action
            )
            raw_reward += float(reward)
            if terminated or truncated:
                break
        self._look_at(observation)
        return Outcome(raw_reward, bool(terminated), bool(truncated))

    def write_frame(self, out: np.ndarray) -> None:
        self._processor.write_frame(out)

    def screen(self) -> np.ndarray:
        image = self._processor.image
        return np.broadcast_to(image, (*image.shape[:2], 3)).copy()

    def close(self) -> None:
        self._env.close()

    def _look_at(self, observation: np.ndarray) -> None:
        image = self._processor.image
        if image.shape != observation.shape and image.shape != (*observation.shape, 1):
            raise ValueError(
                f"{self._name} promised images of shape {self._env.observation_space.shape}, "
                f"but gave one of shape {observation.shape}."
            )
        np.copyto(image, observation.reshape(image.shape))


def _image_shape(name: str, space: gymnasium.Space) -> tuple[int, int, int]:
    if isinstance(space, gymnasium.spaces.Box) and space.dtype == np.uint8:
        match space.shape:
            case (height, width) | (height, width, 1):
                return height, width, 1
            case (height, width, 3):
                return height, width, 3
    raise ValueError(f"{name} observes {space}. {_SUPPORTED}.")


def _discrete_actions(name: str, space: gymnasium.Space) -> tuple[int, int]:
    """Returns the first action and the number of actions."""
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise ValueError(f"{name} has the action space {space}. {_SUPPORTED}.")
    return int(space.start), int(space.n)  # type: ignore[arg-type]
