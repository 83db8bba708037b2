"""Episodes into replay: every step once, every item n steps long."""

from __future__ import annotations

import numpy as np

from simple_tf.agents.replay import Replay


class ReplayWriter:
    """Writes one game's steps, and an item for every step as soon as n more are known.

    An item needs the K frames before its first step and the n steps after. Before an episode's
    first frame there are K - 1 copies of it, as the agent sees it. Where the game is over, n - 1
    empty steps follow: with a discount of 0 they count for nothing. Where an episode was cut off,
    its last n - 1 steps make no items: what they would have led to is not known.

    Args:
        replay: where to write.
    """

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._stack = replay.spec.stack
        self._num_steps = replay.spec.num_steps
        self._written = 0

    def begin(self, observation: np.ndarray) -> None:
        """Starts an episode, or takes one up in its middle, which loses the steps before.

        Args:
            observation: uint8 [K, H, W, C], what the agent sees.
        """
        if self._written:
            self._replay.writer.end_episode()
        self._written = 0
        for frame in observation[:-1]:
            self._append(frame, 0, 0.0, 1.0)

    def add(
        self, frame: np.ndarray, action: int, reward: float, discount: float, priority: float
    ) -> None:
        """Adds a step.

        Args:
            frame: the newest one that the action was chosen by.
            action: what was done.
            reward: what it earned.
            discount: 0 if the game was over after it.
            priority: of the item that is complete now, if one is.
        """
        self._append(frame, action, reward, discount)
        self._create_item(priority)

    def end(self, frame: np.ndarray, terminated: bool, priority: float) -> None:
        """Ends an episode.

        Args:
            frame: the last one.
            terminated: whether the game is over; otherwise it was cut off.
            priority: of the items that are complete now.
        """
        for _ in range(self._num_steps if terminated else 1):
            self.add(frame, 0, 0.0, 0.0, priority)

    def _append(self, frame: np.ndarray, action: int, reward: float, discount: float) -> None:
        self._replay.writer.append(
            {
                "frame": frame,
                "action": np.int32(action),
                "reward": np.float32(reward),
                "discount": np.float32(discount),
            }
        )
        self._written += 1

    def _create_item(self, priority: float) -> None:
        length, n = self._stack + self._num_steps, self._num_steps
        if self._written < length:
            return
        history = self._replay.writer.history
        self._replay.create_item(
            priority,
            {
                "frames": history["frame"][-length:],
                "action": history["action"][-(n + 1)],
                "rewards": history["reward"][-(n + 1) : -1],
                "discounts": history["discount"][-(n + 1) : -1],
            },
        )
