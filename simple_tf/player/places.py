"""Where in what has been played a dream may start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simple_tf.data.codec import StoredEpisode
from simple_tf.seeding import derive_seed

KINDS = ("anywhere", "beginning", "reward")

# How many steps before the one that earns: long enough to see it coming, and to do something about
# it.
_LEAD = 10


class Place(NamedTuple):
    """A moment of an episode.

    Attributes:
        iteration: of the episode.
        episode: its index within the iteration.
        step: how many steps have been played by then.
    """

    iteration: int
    episode: int
    step: int


class Places:
    """Draws moments that have K frames behind them, and a step that was played after them.

    Args:
        episodes: what has been played.
        num_input_frames: K.
        seed: of the draws, which also depend on how many came before.

    Raises:
        ValueError: no episode is long enough.
    """

    def __init__(
        self, episodes: Sequence[StoredEpisode], num_input_frames: int, seed: int = 0
    ) -> None:
        self._first = num_input_frames - 1
        self._episodes = [episode for episode in episodes if episode.num_steps > self._first]
        if not self._episodes:
            raise ValueError(
                f"no episode has the {num_input_frames} frames that a dream starts from, and a "
                "step after them"
            )
        self._by_key = {episode.key: episode for episode in self._episodes}
        self._rewards = [
            (number, int(step))
            for number, episode in enumerate(self._episodes)
            for step in np.flatnonzero(episode.rewards)
        ]
        self._seed = seed
        self._draws = 0

    def draw(self, kind: str) -> Place:
        """Draws a place.

        Args:
            kind: "anywhere"; the "beginning" of an episode; or shortly before a "reward" other
                than 0, which comes if the episode's own actions are taken.

        Raises:
            ValueError: there is no such kind, or nothing was ever earned or lost.
        """
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is none of the places {', '.join(KINDS)}")
        rng = np.random.default_rng(derive_seed(self._seed, "player: places", self._draws))
        self._draws += 1
        if kind == "beginning":
            return self._place(int(rng.integers(len(self._episodes))), 0)
        if kind == "anywhere":
            rooms = [episode.num_steps - self._first for episode in self._episodes]
            chosen = int(rng.choice(len(rooms), p=np.array(rooms) / sum(rooms)))
            return self._place(chosen, self._first + int(rng.integers(rooms[chosen])))
        if not self._rewards:
            raise ValueError("nothing has been earned or lost in these episodes yet")
        chosen, step = self._rewards[int(rng.integers(len(self._rewards)))]
        return self._place(chosen, step - _LEAD)

    def episode_of(self, place: Place) -> StoredEpisode:
        """Returns the episode of a place.

        Raises:
            ValueError: there is no such place.
        """
        episode = self._by_key.get((place.iteration, place.episode))
        if episode is None:
            raise ValueError(
                f"iteration {place.iteration} has no episode {place.episode} that a dream could "
                "start in"
            )
        if not self._first <= place.step < episode.num_steps:
            raise ValueError(
                f"step {place.step} is outside {self._first}..{episode.num_steps - 1}, where a "
                "dream can start in this episode"
            )
        return episode

    def _place(self, number: int, step: int) -> Place:
        return Place(*self._episodes[number].key, max(step, self._first))
