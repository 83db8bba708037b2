"""Plays the real game with a run's policies, and keeps the cards."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from simple_tf.envs.game import GameSource
from simple_tf.evaluation.card import Card, CardError, read_card, write_card
from simple_tf.evaluation.policy import Origin, PolicyEvaluation, PolicyEvaluator
from simple_tf.evaluation.protocol import EvaluationProtocol
from simple_tf.training.networks import build_policy
from simple_tf.training.policy_files import load_policy, save_policy
from simple_tf.training.run_directory import RunDirectory
from simple_tf.training.run_videos import write_play


class PolicyScorer:
    """Evaluates a run's policy by given protocols, and keeps the cards.

    Args:
        run: where the cards go.
        source: the game.
        network: the policy's network.
        interactions: tells how many a policy was trained with, from its iteration.
        should_stop: asked between steps of the game.
        stack: K.
        seed: of the evaluations.
    """

    def __init__(
        self,
        run: RunDirectory,
        source: GameSource,
        network: tf.keras.Model,
        interactions: Callable[[int], int],
        should_stop: Callable[[], bool],
        stack: int,
        seed: int,
    ) -> None:
        self._run = run
        self._source = source
        self._network = network
        self._interactions = interactions
        self.should_stop = should_stop
        self._stack = stack
        self._seed = seed
        self._copy: tf.keras.Model | None = None

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
            evaluation = evaluator.evaluate(None, None, self.should_stop)
        else:
            origin = self._origin(iteration, self._interactions(iteration))
            evaluation = evaluator.evaluate(self._network, origin, self.should_stop)
        write_card(self._run.evaluation(name), evaluation.card())
        return evaluation

    def prepare_copy(self) -> None:
        """Builds the network for `score_saved`: in the main thread, as all networks are."""
        if self._copy is None:
            game = self._source.make()
            shape = (self._stack, *game.frame_shape)
            self._copy = build_policy(shape, len(game.action_meanings), self._seed)
            game.close()

    def score_saved(
        self,
        name: str,
        iteration: int,
        protocol: EvaluationProtocol,
        should_stop: Callable[[], bool],
    ) -> None:
        """Does what `score` does, while the network learns on: with the policy that was kept."""
        assert self._copy is not None, "prepare_copy() has to come first."
        fields = load_policy(self._run.policy(iteration), self._copy)
        evaluator = PolicyEvaluator(self._source, protocol, self._stack, self._seed)
        origin = self._origin(iteration, fields["interactions"])
        evaluation = evaluator.evaluate(self._copy, origin, should_stop, quiet=True)
        write_card(self._run.evaluation(name), evaluation.card())

    def card(self, name: str) -> Card | None:
        """The card of that name, unless it is missing or damaged."""
        try:
            return read_card(self._run.evaluation(name))
        except CardError:
            return None

    def forget(self, name: str) -> None:
        """Removes the card of that name, if there is one."""
        self._run.evaluation(name).unlink(missing_ok=True)

    def show(self, name: str, evaluation: PolicyEvaluation) -> None:
        """Writes videos of an evaluation's episodes under a name."""
        for _ in write_play(self._run.videos, name, evaluation):
            pass

    def _origin(self, iteration: int, interactions: int) -> Origin:
        checkpoint = self._run.policy(iteration).relative_to(self._run.path)
        return Origin(str(checkpoint), iteration, interactions)
