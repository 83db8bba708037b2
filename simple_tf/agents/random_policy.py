"""Playing without looking: the data that SimPLe starts from, and the score that it has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simple_tf.seeding import derive_seed


class RandomPolicy:
    """Uniformly random actions, all decided by the seed.

    Args:
        num_actions: how many actions there are.
        seed: decides them.
        hold: mean number of steps for which a game keeps its action; each step draws a new one
            with probability 1 / hold. 1: a new one every step, as the original. Where it takes
            many steps in one direction to get anywhere, new actions every step get nowhere;
            elsewhere they earn more. Several numbers: the games take turns, so that some do the
            one, some the other.
    """

    def __init__(self, num_actions: int, seed: int, hold: float | Sequence[float] = 1.0):
        self._holds = np.atleast_1d(np.asarray(hold, np.float64))
        if self._holds.size < 1 or (self._holds < 1).any():
            raise ValueError(f"An action is held for at least 1 step, not {hold!r}.")
        self._num_actions = num_actions
        self._rng = np.random.default_rng(derive_seed(seed, "random policy"))
        self._held: np.ndarray | None = None

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        actions = self._rng.integers(0, self._num_actions, len(observations))
        if self._held is not None and (self._holds > 1).any():
            draws = self._rng.random(len(observations))
            keeps = draws >= 1.0 / np.resize(self._holds, len(observations))
            actions = np.where(keeps, self._held, actions)
        self._held = actions
        return actions
