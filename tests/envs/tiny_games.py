"""Small Gymnasium environments that tests play by id, as a user's own games."""

import gymnasium
import numpy as np


class CorridorGame(gymnasium.Env):
    """A white dot in a corridor; reaching the right end pays 5, the left end costs 2."""

    observation_space = gymnasium.spaces.Box(0, 255, (12, 16, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2, start=1)  # 1: left, 2: right

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._at = int(self.np_random.integers(4, 12))
        return self._image(), {}

    def step(self, action):
        assert action in (1, 2)
        self._at += 1 if action == 2 else -1
        over = self._at in (0, 15)
        reward = {0: -2.0, 15: 5.0}.get(self._at, 0.0)
        return self._image(), reward, over, False, {}

    def _image(self):
        image = np.zeros((12, 16, 3), np.uint8)
        image[4:8, self._at] = 255
        return image


class GrayGame(CorridorGame):
    """The same without a channel axis."""

    observation_space = gymnasium.spaces.Box(0, 255, (12, 16), np.uint8)

    def _image(self):
        return super()._image()[..., 0]


class NotAnImage(CorridorGame):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)


class ContinuousActions(CorridorGame):
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)


class BrokenPromise(CorridorGame):
    """Shows images of another shape than it says."""

    def _image(self):
        return super()._image().transpose(1, 0, 2)


class FailingGame(CorridorGame):
    """Fails in its fifth step."""

    def reset(self, *, seed=None, options=None):
        self._left = 5
        return super().reset(seed=seed)

    def step(self, action):
        self._left -= 1
        if not self._left:
            raise RuntimeError("the cat sat on the joystick")
        observation, reward, _, _, info = super().step(action)
        return observation, reward, False, False, info


class RingGame(CorridorGame):
    """The corridor closed to a ring, without an end: crossing the seam pays 1, backwards -1."""

    def step(self, action):
        assert action in (1, 2)
        before, self._at = self._at, (self._at + (1 if action == 2 else -1)) % 16
        reward = {(15, 0): 1.0, (0, 15): -1.0}.get((before, self._at), 0.0)
        return self._image(), reward, False, False, {}


for name, game in {
    "Corridor-v0": CorridorGame,
    "GrayCorridor-v0": GrayGame,
    "NotAnImage-v0": NotAnImage,
    "ContinuousActions-v0": ContinuousActions,
    "BrokenPromise-v0": BrokenPromise,
    "Failing-v0": FailingGame,
    "Ring-v0": RingGame,
}.items():
    gymnasium.register(name, entry_point=game)
