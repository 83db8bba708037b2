"""A dream and the real game beside it: from the same moment, under the same actions."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from simple_tf.data.codec import StoredEpisode, read_frames
from simple_tf.data.reward_ages import reward_ages
from simple_tf.envs.simulated_environment import LOWEST_REWARD
from simple_tf.evaluation.comparison import Comparison
from simple_tf.player.critic import Critic, Opinion
from simple_tf.player.dream import Dream
from simple_tf.player.places import Place, Places
from simple_tf.player.real_game import RealGame
from simple_tf.seeding import derive_seed

CHOOSERS = ("dream", "real", "record")

# Steps that a video may show: more would fill the memory of who plays for hours.
_KEPT = 2000


@dataclasses.dataclass(frozen=True)
class Side:
    """One of the two games after a step.

    Attributes:
        frame: as models and policies see it, uint8 [H, W, C].
        reward: of the step, as learned from: of the dream what its rollouts pay, of the game -1, 0
            or 1.
        total: of these since the start.
        opinion: what the policy thinks of it.
    """

    frame: np.ndarray
    reward: float
    total: float
    opinion: Opinion


@dataclasses.dataclass(frozen=True)
class Moment:
    """Both games after a step.

    Attributes:
        place: where they started from.
        start: how many starts there have been.
        step: how many steps have been played since.
        action: that of the last step; None at the start.
        dream: the learned game.
        real: the real one; None if it could not be brought to the same start.
        score: what the real game says of the steps since the start.
        screen: of the real game as a person sees it, uint8 [height, width, 3].
        over: whether the real game is over.
    """

    place: Place
    start: int
    step: int
    action: int | None
    dream: Side
    real: Side | None
    score: float
    screen: np.ndarray | None
    over: bool


class _Recorded(NamedTuple):
    """What a video of a step needs."""

    simulated: np.ndarray
    real: np.ndarray
    simulated_reward: float
    real_reward: float


class Session:
    """One player's games.

    Args:
        places: where a dream may start.
        dream: the learned game.
        real: the real one.
        critic: the policy.
        reward_kind: what dreams pay, see `SimulatedEnvironment`.
        seed: of the policy's actions, which also depend on how many starts and steps came before.
    """

    def __init__(
        self,
        places: Places,
        dream: Dream,
        real: RealGame,
        critic: Critic,
        reward_kind: str,
        seed: int = 0,
    ) -> None:
        self._places = places
        self._dream = dream
        self._real = real
        self._critic = critic
        self._reward_kind = reward_kind
        self._seed = seed
        self._starts = 0
        self._moment: Moment | None = None
        self._episode: StoredEpisode | None = None
        self._first_frame = np.zeros(0, np.uint8)
        self._recorded: list[_Recorded] = []

    def start(self, place: Place) -> Moment:
        """Starts both games from a moment of what has been played.

        Raises:
            ValueError: there is no such place.
        """
        episode = self._places.episode_of(place)
        known = self._dream.model.num_input_frames
        frames = read_frames(episode, place.step - known + 1, known)
        self._moment = None  # Until both are there.
        self._real.go_to(episode, place.step)
        age = int(reward_ages(episode.rewards)[place.step])
        self._dream.start(frames, episode.actions[place.step - known + 1 : place.step], age)
        self._starts += 1
        self._episode, self._recorded = episode, []
        self._first_frame = frames[-1]
        same = np.array_equal(self._real.observation, frames)
        side = Side(frames[-1], 0.0, 0.0, self._critic(frames))
        self._moment = Moment(
            place=place,
            start=self._starts,
            step=0,
            action=None,
            dream=side,
            real=side if same else None,
            score=0.0,
            screen=self._real.screen() if same else None,
            over=False,
        )
        return self._moment

    def step(self, action: int) -> Moment:
        """Plays a step of both games.

        Raises:
            ValueError: there is no such action, or nothing has been started.
        """
        before = self._started()
        last_action = self._dream.model.num_actions - 1
        if not 0 <= action <= last_action:
            raise ValueError(f"there is no action {action}: they are 0..{last_action}")
        # First what may fail: a game of one's own.
        rewards = None if before.real is None else self._real.step(action)
        paid = self._paid(self._dream.step(action))
        after = dataclasses.replace(
            before,
            step=before.step + 1,
            action=action,
            dream=self._after(before.dream, self._dream.observation, paid),
        )
        if before.real is not None and rewards is not None:
            after = dataclasses.replace(
                after,
                real=self._after(before.real, self._real.observation, rewards.reward),
                score=before.score + rewards.raw_reward,
                screen=self._real.screen(),
                over=self._real.over,
            )
            self._record(before, after)
        self._moment = after
        return after

    def choice(self, chooser: str, temperature: float = 1.0) -> int:
        """Returns the next action of somebody else.

        Args:
            chooser: the policy, which looks at the "dream" or at the "real" game; or the "record":
                whoever played the episode.
            temperature: of the policy's choice.

        Raises:
            ValueError: there is no such chooser, or it has nothing to go by.
        """
        now = self._started()
        if chooser not in CHOOSERS:
            raise ValueError(f"{chooser!r} is none of those who can play: {', '.join(CHOOSERS)}")
        if chooser == "record":
            step = now.place.step + now.step
            if self._episode is None or step >= self._episode.num_steps:
                raise ValueError("the record of this episode ends here")
            return int(self._episode.actions[step])
        if temperature < 0:
            raise ValueError(f"a temperature is 0 or more, not {temperature}")
        side = now.dream if chooser == "dream" else now.real
        if side is None:
            raise ValueError("the real game is not beside this dream")
        seed = derive_seed(self._seed, "player: policy", self._starts, now.step)
        probabilities = side.opinion.probabilities(temperature)
        return int(np.random.default_rng(seed).choice(len(probabilities), p=probabilities))

    def comparison(self) -> Comparison:
        """Returns the steps since the start, the first of them if they are very many.

        Raises:
            ValueError: there is nothing to compare.
        """
        if not self._recorded:
            raise ValueError("nothing has been played beside the real game yet")
        columns = [np.stack(column)[None] for column in zip(*self._recorded, strict=True)]
        return Comparison(self._first_frame[None], *columns)

    def close(self) -> None:
        """Ends the real game."""
        self._moment = None
        self._real.close()

    def _started(self) -> Moment:
        if self._moment is None:
            raise ValueError("nothing has been started yet")
        return self._moment

    def _after(self, before: Side, observation: np.ndarray, reward: float) -> Side:
        opinion = self._critic(observation)
        return Side(observation[-1].copy(), reward, before.total + reward, opinion)

    def _record(self, before: Moment, after: Moment) -> None:
        """Keeps a step for a video; where the game is over there is nothing to compare with."""
        if after.real is None or before.over or len(self._recorded) >= _KEPT:
            return
        frames = after.dream.frame, after.real.frame
        self._recorded.append(_Recorded(*frames, after.dream.reward, after.real.reward))

    def _paid(self, probabilities: np.ndarray) -> float:
        if self._reward_kind == "likeliest":
            return float(np.argmax(probabilities) + LOWEST_REWARD)
        return float(probabilities @ (np.arange(len(probabilities)) + LOWEST_REWARD))
