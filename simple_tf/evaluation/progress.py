"""A progress bar for a number of episodes whose lengths nobody knows yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tqdm import tqdm

from simple_tf.evaluation.episodes import Quota


class EpisodeProgress:
    """Counts agent steps and expects unfinished episodes to last as long as the finished ones.

    Before the first has ended, only the cap is known: the bar then says "at most".

    Args:
        description: what is being played.
        quotas: what to watch.
        max_steps: the cap, or None.
        quiet: show nothing; otherwise it is shown on a terminal, and nothing elsewhere.
    """

    def __init__(
        self,
        description: str,
        quotas: Sequence[Quota],
        max_steps: int | None,
        quiet: bool = False,
    ) -> None:
        self._description = description
        self._quotas = quotas
        self._max_steps = max_steps
        self._steps = 0
        self._bar = tqdm(
            desc=description, unit=" steps", disable=quiet or None, smoothing=0.1, leave=False
        )

    def __call__(self, played: int) -> None:
        """Reports so many further steps."""
        self._steps += played
        if self._bar.disable or not played:
            return
        finished = [episode for quota in self._quotas for episode in quota.episodes]
        self._bar.total = self._expected_total([episode.num_steps for episode in finished])
        at_most = "" if finished else ", at most"
        self._bar.set_description(
            f"{self._description} ({len(finished)} episodes over{at_most})", refresh=False
        )
        self._bar.update(played)

    def close(self) -> None:
        """Removes the bar."""
        self._bar.close()

    def _expected_total(self, finished: list[int]) -> int | None:
        length = float(np.mean(finished)) if finished else self._max_steps
        if length is None:
            return None
        running = [steps for quota in self._quotas for steps in quota.steps_so_far()]
        waiting = sum(quota.num_waiting() for quota in self._quotas)
        return expected_total(self._steps, running, waiting, length)


def expected_total(played: int, running: Sequence[int], waiting: int, length: float) -> int:
    """Returns how many steps an evaluation will have taken.

    Args:
        played: so far.
        running: so far, of every episode that is being played.
        waiting: episodes that have not begun.
        length: what an episode is expected to last.
    """
    left = [max(length - steps, 0.0) for steps in running]
    return played + round(sum(left) + waiting * length)
