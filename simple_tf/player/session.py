"""A dream and the real game beside it: from the same moment, under the same actions."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from simple_tf.data.codec import read_frames
from simple_tf.data.reward_ages import reward_ages
from simple_tf.envs.simulated_environment import LOWEST_REWARD
from simple_tf.evaluation.comparison import Comparison
from simple_tf.player.critic import Critic, Opinion
from simple_tf.player.dream import Dream
from simple_tf.player.places import Place, Places
from simple_tf.player.real_game import RealGame
from simple_tf.seeding import derive_seed

SEEN = ("dream", "real")

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
        step: how many steps have been played since.
        action: that of the last step; None at the start.
        dream: the learned game.
        real: the real one; None if it could not be brought to the same start.
        score: what the real game says of the steps since the start.
        screen: of the real game as a person sees it, uint8 [height, width, 3].
        over: whether the real game is over.
    """

    place: Place
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
    simulated_reward: int
    real_reward: int


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
        age = int(reward_ages(episode.rewards)[place.step])
        self._dream.start(frames, episode.actions[place.step - known + 1 : place.step], age)
        self._real.go_to(episode, place.step)
        self._starts += 1
        self._first_frame, self._recorded = frames[-1], []
        same = np.array_equal(self._real.observation, frames)
        opinion = self._critic(frames)
        side = Side(frames[-1], 0.0, 0.0, opinion)
        self._moment = Moment(
            place=place,
            step=0,
            action=None,
            dream=side,
            real=side if same else None,
            score=0.0,
            screen=self._real.screen() if same else None,
            over=False,
        )
        return self._moment

    def step(
        self, action: int | None = None, sees: str = "dream", temperature: float = 1.0
    ) -> Moment:
        """Plays a step of both games.

        Args:
            action: somebody's choice; None: the policy's.
            sees: which game the policy looks at, "dream" or "real".
            temperature: of the policy's choice.

        Raises:
            ValueError: there is no such action or game, or nothing has been started.
        """
        before = self._moment
        if before is None:
            raise ValueError("nothing has been started yet")
        if action is None:
            action = self._choose(before, sees, temperature)
        last_action = self._dream.model.num_actions - 1
        if not 0 <= action <= last_action:
            raise ValueError(f"there is no action {action}: they are 0..{last_action}")
        probabilities = self._dream.step(action)
        self._moment = dataclasses.replace(
            before,
            step=before.step + 1,
            action=action,
            dream=self._after(before.dream, self._dream.observation, self._paid(probabilities)),
        )
        if before.real is not None:
            reward, raw_reward = self._real.step(action)
            self._moment = dataclasses.replace(
                self._moment,
                real=self._after(before.real, self._real.observation, reward),
                score=before.score + raw_reward,
                screen=self._real.screen(),
                over=self._real.over,
            )
            self._record(self._moment, probabilities)
        return self._moment

    def comparison(self) -> Comparison:
        """Returns the steps since the start, the first of them if they are very many.

        Raises:
            ValueError: there is nothing to compare.
        """
        if not self._recorded:
            raise ValueError("nothing has been played beside the real game yet")
        columns = [np.stack(column)[None] for column in zip(*self._recorded, strict=True)]
        return Comparison(self._first_frame[None], *columns)

    def _after(self, before: Side, observation: np.ndarray, reward: float) -> Side:
        opinion = self._critic(observation)
        return Side(observation[-1].copy(), reward, before.total + reward, opinion)

    def _record(self, moment: Moment, probabilities: np.ndarray) -> None:
        assert moment.real is not None
        if len(self._recorded) < _KEPT:
            likeliest = int(np.argmax(probabilities)) + int(LOWEST_REWARD)
            frames = moment.dream.frame, moment.real.frame
            self._recorded.append(_Recorded(*frames, likeliest, int(moment.real.reward)))

    def _paid(self, probabilities: np.ndarray) -> float:
        if self._reward_kind == "likeliest":
            return float(np.argmax(probabilities) + LOWEST_REWARD)
        return float(probabilities @ (np.arange(len(probabilities)) + LOWEST_REWARD))

    def _choose(self, before: Moment, sees: str, temperature: float) -> int:
        """Draws the policy's action."""
        if sees not in SEEN:
            raise ValueError(f"a policy sees one of {', '.join(SEEN)}, not {sees!r}")
        if temperature < 0:
            raise ValueError(f"a temperature is 0 or more, not {temperature}")
        side = before.dream if sees == "dream" else before.real
        if side is None:
            raise ValueError("the real game is not beside this dream")
        seed = derive_seed(self._seed, "player: policy", self._starts, before.step)
        probabilities = side.opinion.probabilities(temperature)
        return int(np.random.default_rng(seed).choice(len(probabilities), p=probabilities))
