"""How well the policy plays the real game: after every iteration, and at the end."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import gin
import numpy as np
import tensorflow as tf

from simple_tf.envs.game import GameSource
from simple_tf.evaluation.card import write_card
from simple_tf.evaluation.episodes import EvaluationStopped
from simple_tf.evaluation.policy import Origin, PolicyEvaluation, PolicyEvaluator
from simple_tf.evaluation.protocol import (
    FINAL,
    IN_TRAINING,
    EvaluationProtocol,
    protocol_for,
    protocol_grid,
)
from simple_tf.training.phase import Advance
from simple_tf.training.policy_files import save_policy
from simple_tf.training.run_directory import RunDirectory
from simple_tf.training.run_videos import write_play
from simple_tf.training.schedule import Schedule
from simple_tf.training.world_model_evaluation_phase import is_due

_Part = Callable[[], Advance]


class PolicyScorer:
    """Evaluates a run's policy by given protocols, and keeps the cards.

    Args:
        run: where the cards go.
        source: the game.
        network: the policy's network.
        schedule: tells the interactions that a policy was trained with.
        should_stop: asked between steps of the game.
        stack: K.
        seed: of the evaluations.
    """

    def __init__(
        self,
        run: RunDirectory,
        source: GameSource,
        network: tf.keras.Model,
        schedule: Schedule,
        should_stop: Callable[[], bool],
        stack: int,
        seed: int,
    ) -> None:
        self._run = run
        self._source = source
        self._network = network
        self._schedule = schedule
        self._should_stop = should_stop
        self._stack = stack
        self._seed = seed

    def save(self, iteration: int) -> None:
        """Keeps the policy as it is after an iteration."""
        save_policy(
            self._run.policy(iteration), self._network, iteration, self._interactions(iteration)
        )

    def score(
        self, name: str, iteration: int | None, protocol: EvaluationProtocol
    ) -> PolicyEvaluation:
        """Plays, and writes the card under a name; iteration None is the random player."""
        evaluator = PolicyEvaluator(self._source, protocol, self._stack, self._seed)
        if iteration is None:
            evaluation = evaluator.evaluate(None, None, self._should_stop)
        else:
            checkpoint = self._run.policy(iteration).relative_to(self._run.path)
            origin = Origin(str(checkpoint), iteration, self._interactions(iteration))
            evaluation = evaluator.evaluate(self._network, origin, self._should_stop)
        write_card(self._run.evaluation(name), evaluation.card())
        return evaluation

    def show(self, name: str, evaluation: PolicyEvaluation) -> None:
        """Writes videos of an evaluation's episodes under a name."""
        for _ in write_play(self._run.videos, name, evaluation):
            pass

    def _interactions(self, iteration: int) -> int:
        return sum(self._schedule.interactions(i) for i in range(iteration))


@gin.configurable(denylist=["scorer", "schedule"])
class EvaluationPhase:
    """See `Phase`: the original's evaluation after every iteration; keeps the policy, too.

    Its protocol is bound in gin's scope `in_training`. The first temperature with the first kind of
    start is the main one; the others are reported beside it.

    Args:
        scorer: plays the real game.
        schedule: of the run.
        every: evaluate in every so many iterations, and in the last; 0: never.
        temperatures: at which the policy plays.
        noops: which starts: with steps without action (True), without (False).
    """

    name = "evaluation"
    unit = "parts"
    headline = ("mean_score",)
    resumable = True

    def __init__(
        self,
        scorer: PolicyScorer,
        schedule: Schedule,
        every: int = 1,
        temperatures: Sequence[float] = (0.5, 0.0, 1.0),
        noops: Sequence[bool] = (True, False),
    ) -> None:
        self._scorer = scorer
        self._schedule = schedule
        self._every = every
        self._protocols = protocol_grid(protocol_for(IN_TRAINING), temperatures, noops)
        self._iteration = 0

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return len(self._parts(iteration))

    def global_step(self) -> int:
        """See `Phase`."""
        return self._iteration

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        self._iteration = iteration
        yield from _run_parts(self._parts(iteration), step)

    def _parts(self, iteration: int) -> list[_Part]:
        parts: list[_Part] = [functools.partial(self._save, iteration)]
        if is_due(iteration, self._every, self._schedule):
            parts += [functools.partial(self._evaluate, iteration, p) for p in self._protocols]
        return parts

    def _save(self, iteration: int) -> Advance:
        self._scorer.save(iteration)
        return Advance(0, {})

    def _evaluate(self, iteration: int, protocol: EvaluationProtocol) -> Advance:
        suffix = "" if protocol is self._protocols[0] else _suffix(protocol)
        card = f"iteration_{iteration:03d}{suffix}"
        evaluation = self._scorer.score(card, iteration, protocol)
        metrics = {f"{name}{suffix}": value for name, value in evaluation.metrics().items()}
        returns = np.array([episode.raw_return for episode in evaluation.episodes])
        return Advance(0, metrics, histograms={f"scores{suffix}": returns})


@gin.configurable(denylist=["scorer", "schedule"])
class FinalEvaluationPhase:
    """See `Phase`: the scores that can be compared with the paper's, at the end of the run.

    Its protocol is bound in gin's scope `final`. The random player plays by the same.

    Args:
        scorer: plays the real game.
        schedule: of the run.
        temperatures: at which the policy plays; the first one is the main one.
        random_player: whether the random player is evaluated, too.
        videos: whether to write videos of a typical and of the best episode.
    """

    name = "final_evaluation"
    unit = "parts"
    headline = ("mean_score",)
    resumable = True

    def __init__(
        self,
        scorer: PolicyScorer,
        schedule: Schedule,
        temperatures: Sequence[float] = (0.5,),
        random_player: bool = True,
        videos: bool = True,
    ) -> None:
        self._scorer = scorer
        self._schedule = schedule
        self._protocols = protocol_grid(protocol_for(FINAL), temperatures, (True,))
        self.random_player = random_player
        self.videos = videos

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return len(self._parts()) if iteration == self._schedule.iterations else 0

    def global_step(self) -> int:
        """See `Phase`."""
        return self._schedule.iterations

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        del iteration
        yield from _run_parts(self._parts(), step)

    def _parts(self) -> list[_Part]:
        parts: list[_Part] = [functools.partial(self._evaluate, p) for p in self._protocols]
        if self.random_player:
            parts.append(self._evaluate_random)
        return parts

    def _evaluate(self, protocol: EvaluationProtocol) -> Advance:
        suffix = "" if protocol is self._protocols[0] else _suffix(protocol)
        evaluation = self._scorer.score(f"final{suffix}", self._schedule.iterations, protocol)
        if self.videos and not suffix:
            self._scorer.show("final", evaluation)
        return Advance(0, {f"{name}{suffix}": v for name, v in evaluation.metrics().items()})

    def _evaluate_random(self) -> Advance:
        evaluation = self._scorer.score("random", None, self._protocols[0])
        return Advance(0, {f"random_{name}": v for name, v in evaluation.metrics().items()})


def _run_parts(parts: Sequence[_Part], first: int) -> Iterator[Advance]:
    for number in range(first, len(parts)):
        try:
            yield parts[number]()._replace(step=number + 1)
        except EvaluationStopped:
            yield Advance(number, {})  # The loop sees that it is to stop, and saves this place.
            return


def _suffix(protocol: EvaluationProtocol) -> str:
    starts = "noops" if protocol.noops else "no_noops"
    return f"_temperature_{protocol.temperature:g}_{starts}"
