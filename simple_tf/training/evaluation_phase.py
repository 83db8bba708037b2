"""How well the policy plays the real game: after every iteration, and at the end."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence

import gin
import numpy as np

from simple_tf.evaluation.card import Card
from simple_tf.evaluation.episodes import EvaluationStopped
from simple_tf.evaluation.protocol import (
    FINAL,
    IN_TRAINING,
    EvaluationProtocol,
    protocol_for,
    protocol_grid,
)
from simple_tf.training.background_work import BackgroundWork
from simple_tf.training.phase import Advance
from simple_tf.training.policy_scorer import PolicyScorer
from simple_tf.training.schedule import Plan
from simple_tf.training.world_model_evaluation_phase import is_due

_Part = Callable[[], Advance]


@gin.configurable(denylist=["scorer", "schedule", "beside"])
class EvaluationPhase:
    """See `Phase`: the original's evaluation after every iteration; keeps the policy, too.

    Its protocol is bound in gin's scope `in_training`. The first temperature with the first kind of
    start is the main one; the others are reported beside it.

    With `background` the policy that was kept is evaluated while the next iteration goes on, and
    the phase of that iteration waits for the scores and hands them over as the previous one's. Only
    the last iteration has nothing to go on beside it. What is still to be evaluated is told by the
    cards that are missing, so that a run that was killed does it later.

    Args:
        scorer: plays the real game.
        schedule: of the run.
        beside: where an evaluation runs while the loop goes on.
        every: evaluate in every so many iterations, and in the last; 0: never.
        temperatures: at which the policy plays.
        noops: which starts: with steps without action (True), without (False).
        background: evaluate beside the loop; the scores are the same.
    """

    name = "evaluation"
    unit = "parts"
    headline = ("mean_score",)
    resumable = True

    def __init__(
        self,
        scorer: PolicyScorer,
        schedule: Plan,
        beside: BackgroundWork,
        every: int = 1,
        temperatures: Sequence[float] = (0.5, 0.0, 1.0),
        noops: Sequence[bool] = (True, False),
        background: bool = False,
    ) -> None:
        self._scorer = scorer
        self._schedule = schedule
        self._beside = beside
        self._every = every
        self._background = background
        self._protocols = protocol_grid(protocol_for(IN_TRAINING), temperatures, noops)
        self._iteration = 0

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return len(self._parts(iteration))

    def num_evaluations(self, iteration: int) -> int:
        """How often the policy of an iteration is evaluated."""
        return len(self._protocols) if is_due(iteration, self._every, self._schedule) else 0

    def global_step(self) -> int:
        """See `Phase`."""
        return self._iteration

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        yield from _run_parts(self._parts(iteration), step)

    def _parts(self, iteration: int) -> list[_Part]:
        parts: list[_Part] = [functools.partial(self._save, iteration)]
        if self._is_beside(iteration - 1):
            parts += [functools.partial(self._collect, iteration - 1, p) for p in self._protocols]
        if self._is_beside(iteration):
            parts.append(functools.partial(self._begin, iteration))
        elif self.num_evaluations(iteration):
            parts += [functools.partial(self._evaluate, iteration, p) for p in self._protocols]
        return parts

    def _is_beside(self, iteration: int) -> bool:
        """Whether the policy of an iteration is evaluated while the next one goes on."""
        has_next = 1 <= iteration < self._schedule.iterations
        return self._background and has_next and self.num_evaluations(iteration) > 0

    def _save(self, iteration: int) -> Advance:
        if self._is_beside(iteration):  # Cards of a policy that is now made again say nothing.
            for protocol in self._protocols:
                self._scorer.forget(self._card_name(iteration, protocol))
        self._scorer.save(iteration)
        return Advance(0, {})

    def _evaluate(self, iteration: int, protocol: EvaluationProtocol) -> Advance:
        name = self._card_name(iteration, protocol)
        evaluation = self._scorer.score(name, iteration, protocol)
        return self._scores(iteration, protocol, evaluation.card())

    def _begin(self, iteration: int) -> Advance:
        """Starts what has no card yet."""
        names = {self._card_name(iteration, protocol): protocol for protocol in self._protocols}
        missing = {name: p for name, p in names.items() if self._scorer.card(name) is None}

        def work(cancelled: Callable[[], bool]) -> None:
            with contextlib.suppress(EvaluationStopped):  # No card, and so it is done again.
                for name, protocol in missing.items():
                    self._scorer.score_saved(name, iteration, protocol, cancelled)

        if missing:
            self._scorer.prepare_copy()
            self._beside.start(f"the evaluation of iteration {iteration}", work)
        return Advance(0, {})

    def _collect(self, iteration: int, protocol: EvaluationProtocol) -> Advance:
        """Waits for the scores of the previous iteration; does anew what a kill has ended."""
        name = self._card_name(iteration, protocol)
        self._wait()
        if self._scorer.card(name) is None:
            self._begin(iteration)
            self._wait()
        card = self._scorer.card(name)
        assert card is not None, f"{name} was evaluated without an error, and has no card."
        return self._scores(iteration, protocol, card)._replace(previous=True)

    def _wait(self) -> None:
        if not self._beside.wait(self._scorer.should_stop):
            raise EvaluationStopped

    def _scores(self, iteration: int, protocol: EvaluationProtocol, card: Card) -> Advance:
        self._iteration = iteration
        suffix = self._suffix(protocol)
        metrics = {f"{name}{suffix}": value for name, value in card.metrics().items()}
        return Advance(0, metrics, histograms={f"scores{suffix}": np.array(card.returns)})

    def _card_name(self, iteration: int, protocol: EvaluationProtocol) -> str:
        return f"iteration_{iteration:03d}{self._suffix(protocol)}"

    def _suffix(self, protocol: EvaluationProtocol) -> str:
        return "" if protocol is self._protocols[0] else _suffix(protocol)


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
        schedule: Plan,
        temperatures: Sequence[float] = (0.5,),
        random_player: bool = True,
        videos: bool = True,
    ) -> None:
        self._scorer = scorer
        self._schedule = schedule
        protocol = protocol_for(FINAL)
        self._protocols = protocol_grid(protocol, temperatures, (protocol.noops,))
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
