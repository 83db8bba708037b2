"""Evaluates saved policies as asked for on the command line, and tells the results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import tensorflow as tf

from simple_tf.agents.policy_network import PolicyNetwork
from simple_tf.envs.catalog import find_game
from simple_tf.envs.game import GameSource
from simple_tf.evaluation.card import Card, write_card
from simple_tf.evaluation.policy import Origin, PolicyEvaluation, PolicyEvaluator
from simple_tf.evaluation.protocol import EvaluationProtocol
from simple_tf.training.run_videos import write_dream, write_play
from simple_tf.training.saved_run import SavedRun
from simple_tf.training.t2t_import import load_imported


@dataclasses.dataclass(frozen=True)
class Contestant:
    """Who is to be evaluated: a policy and where it comes from, or the random player.

    Attributes:
        name: for files and tables.
        network: the policy; None plays at random.
        origin: of the policy.
    """

    name: str
    network: tf.keras.Model | None = None
    origin: Origin | None = None


_RANDOM_PLAYER = Contestant("random")


@dataclasses.dataclass(frozen=True)
class EvaluationTask:
    """Whom to evaluate on which game.

    Attributes:
        source: the game.
        contestants: makes them, one after the other: all policies of a run need not fit at once.
        stack: K, how many frames they see.
        seed: of the evaluation, unless another is given.
        home: where results go, unless another place is given.
        run: where the policies come from, if it is a run of ours.
    """

    source: GameSource
    contestants: Callable[[], Iterator[Contestant]]
    stack: int
    seed: int
    home: Path
    run: SavedRun | None = None

    def evaluate(
        self,
        protocols: Sequence[EvaluationProtocol],
        seed: int,
        card_dir: Path,
        should_stop: Callable[[], bool],
    ) -> Iterator[tuple[str, PolicyEvaluation]]:
        """Evaluates everybody by every protocol, writes the cards, yields names and results."""
        for contestant in self.contestants():
            for protocol in _that_differ(contestant, protocols):
                evaluator = PolicyEvaluator(self.source, protocol, self.stack, seed)
                result = evaluator.evaluate(contestant.network, contestant.origin, should_stop)
                name = card_name(contestant, protocol, seed)
                write_card(card_dir / f"{name}.json", result.card())
                yield contestant.name, result

    def write_videos(
        self, results: Sequence[tuple[str, PolicyEvaluation]], folder: Path
    ) -> Iterator[Path]:
        """Writes a typical and the best episode of everybody's first evaluation, and a dream.

        Of the records of a run, which have no world model, only episodes.
        """
        for name, evaluation in dict(reversed(results)).items():
            yield from write_play(folder, name, evaluation)
        if self.run is not None and self._has_dreams(results) and self.run.has_checkpoints:
            learners = self.run.learners()
            yield write_dream(
                folder, learners.model, learners.starts, learners.network, self.run.seed
            )

    def why_no_dream(self, results: Sequence[tuple[str, PolicyEvaluation]]) -> str | None:
        """Says why `write_videos` shows no dream, if one could be expected."""
        if self.run is None or not self._has_dreams(results) or self.run.has_checkpoints:
            return None
        return f"{self.run.directory.path} has no checkpoints/, which would hold its world model"

    def _has_dreams(self, results: Sequence[tuple[str, PolicyEvaluation]]) -> bool:
        """Whether a policy was evaluated that has learned in a world model."""
        of_policy = any(evaluation.origin is not None for _, evaluation in results)
        return of_policy and self.run is not None and self.run.has_world_model


def task_of_run(run: SavedRun, which: str | None) -> EvaluationTask:
    """Returns the policies of a run that are meant by `which`; None: the random player."""
    iterations = [] if which is None else run.choose(which)

    def contestants() -> Iterator[Contestant]:
        if which is None:
            yield _RANDOM_PLAYER
        for iteration in iterations:
            network, origin = run.policy(iteration)
            yield Contestant(f"iteration_{iteration:03d}", network, origin)

    return EvaluationTask(run.source, contestants, run.stack, run.seed, run.directory.path, run)


def task_of_game(name: str, policy_dir: Path | None) -> EvaluationTask:
    """Returns an imported policy on a game; None: the random player."""
    source = find_game(name)
    stack, contestant = 1, _RANDOM_PLAYER
    if policy_dir is not None:
        network = _fitting(load_imported(policy_dir), policy_dir, source)
        stack = network.observation_shape[0]
        contestant = Contestant(policy_dir.resolve().name, network, Origin(str(policy_dir)))
    return EvaluationTask(source, lambda: iter([contestant]), stack, 0, Path("evaluated"))


def card_name(contestant: Contestant, protocol: EvaluationProtocol, seed: int) -> str:
    """Returns a name that tells evaluations apart; the same one again replaces itself."""
    how = "" if contestant.network is None else f"_temperature_{protocol.temperature:g}"
    starts = "noops" if protocol.noops else "no_noops"
    sticky = protocol.sticky_probability
    joystick = "" if sticky is None else f"_sticky_{sticky:g}"
    size = f"{protocol.episodes}x{protocol.max_steps or 'uncapped'}_seed_{seed}"
    return f"evaluated_{contestant.name}{how}_{starts}{joystick}_{size}"


def _that_differ(
    contestant: Contestant, protocols: Sequence[EvaluationProtocol]
) -> Sequence[EvaluationProtocol]:
    """The random player has no temperature: protocols that differ in it alone are the same."""
    if contestant.network is not None:
        return protocols
    plain = [dataclasses.replace(protocol, temperature=1.0) for protocol in protocols]
    return list(dict.fromkeys(plain))


def _fitting(network: object, directory: Path, source: GameSource) -> PolicyNetwork:
    """Returns the network if it is a policy that can play the game."""
    if not isinstance(network, PolicyNetwork):
        raise ValueError(f"{directory} holds a world model, not a policy.")
    game = source.make()
    mine = network.observation_shape[1:], network.num_actions
    theirs = game.frame_shape, len(game.action_meanings)
    game.close()
    if mine != theirs:
        raise ValueError(
            f"The policy in {directory} was made for frames {mine[0]} and {mine[1]} actions, but "
            f"{source.name} has {theirs[0]} and {theirs[1]}; is it the right game?"
        )
    return network


def table(cards: Sequence[tuple[str, Card]]) -> str:
    """Returns the scores of several evaluations, one line each."""
    columns = ("policy", "T", "no-ops", "episodes", "mean", "std", "median", "min", "max", "cut")
    rows = [columns, *(_row(name, card) for name, card in cards)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(w) if not i else cell.rjust(w) for i, (cell, w) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    )


def _row(name: str, card: Card) -> tuple[str, ...]:
    numbers = card.statistics
    most = card.game_settings.get("noop_range", (0, 0))[1]
    values = (numbers.mean, numbers.std, numbers.median, numbers.min, numbers.max)
    return (
        name,
        "-" if card.temperature is None else f"{card.temperature:g}",
        f"up to {most}" if most else "none",
        str(card.episodes),
        *("-" if value is None else f"{value:.4g}" for value in values),
        str(card.unfinished),
    )
