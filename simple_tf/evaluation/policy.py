"""What a policy is worth in the real game."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import importlib.metadata
import platform
import time
from collections.abc import Callable

import gin
import tensorflow as tf

import simple_tf
from simple_tf.agents.acting import PolicyPlayer
from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.game import GameSource
from simple_tf.evaluation.card import POLICY, RANDOM, Card
from simple_tf.evaluation.episodes import PlayedEpisode, Player, Quota, play_all
from simple_tf.evaluation.progress import EpisodeProgress
from simple_tf.evaluation.protocol import EvaluationProtocol
from simple_tf.seeding import derive_seed


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a policy comes from.

    Attributes:
        checkpoint: how to find it again, e.g. `policies/iteration_003`.
        iteration: of the training loop after which it was saved; None if there is none.
        interactions: real steps that it had been trained with; None if unknown.
    """

    checkpoint: str | None = None
    iteration: int | None = None
    interactions: int | None = None


@dataclasses.dataclass(frozen=True)
class PolicyEvaluation:
    """What `PolicyEvaluator.evaluate` returns.

    Attributes:
        source: the game as it was played.
        protocol: how.
        origin: of the policy; None for the random player.
        seed: of the evaluation.
        episodes: all of them, each counted once.
        seconds: how long they took.
        epsilon: of an epsilon-greedy policy; None: it is none.
        precision: in which numbers the policy was computed.
    """

    source: GameSource
    protocol: EvaluationProtocol
    origin: Origin | None
    seed: int
    episodes: tuple[PlayedEpisode, ...]
    seconds: float
    epsilon: float | None = None
    precision: str = "float32"

    @property
    def num_steps(self) -> int:
        """Agent steps played; they are not interactions of the training."""
        return sum(episode.num_steps for episode in self.episodes)

    def card(self) -> Card:
        """Returns the scores with everything that was chosen to obtain them."""
        origin = self.origin or Origin(interactions=0)
        return Card(
            game=self.source.name,
            game_settings=self.source.settings_dict(),
            player=RANDOM if self.origin is None else POLICY,
            checkpoint=origin.checkpoint,
            iteration=origin.iteration,
            interactions=origin.interactions,
            temperature=None if self.origin is None else float(self.protocol.temperature),
            max_steps=self.protocol.max_steps,
            seed=self.seed,
            returns=tuple(episode.raw_return for episode in self.episodes),
            lengths=tuple(episode.num_steps for episode in self.episodes),
            cut=tuple(episode.cut for episode in self.episodes),
            versions=versions(),
            created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            seconds=round(self.seconds, 3),
            epsilon=self.epsilon,
            precision=self.precision,
        )

    def metrics(self) -> dict[str, float]:
        """Returns the numbers to log."""
        return self.card().metrics()


@gin.configurable(denylist=["source", "protocol", "stack", "seed"])
class PolicyEvaluator:
    """Plays episodes of the real game with a policy. Build it once, call it in every iteration.

    The episodes are split into two batches: while the games of one are being played, the policy
    chooses the actions of the other.

    Args:
        source: the game.
        protocol: what to play.
        stack: K, how many frames the policy sees.
        seed: decides everything, together with the policy's iteration and the protocol.
        max_slots: most games side by side.
        num_workers: processes for each of the two batches; None: one for each core.
    """

    def __init__(
        self,
        source: GameSource,
        protocol: EvaluationProtocol,
        stack: int = 4,
        seed: int = 0,
        max_slots: int = 64,
        num_workers: int | None = None,
    ) -> None:
        if max_slots < 1:
            raise ValueError(f"An evaluation needs at least 1 slot, not {max_slots}.")
        self._source = protocol.applied_to(source)
        self._protocol = protocol
        self._stack = stack
        self._seed = seed
        self._max_slots = max_slots
        self._num_workers = num_workers

    def evaluate(
        self,
        network: tf.keras.Model | None,
        origin: Origin | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        quiet: bool = False,
    ) -> PolicyEvaluation:
        """Plays the protocol's episodes.

        Args:
            network: the policy; None plays at random.
            origin: of the policy.
            should_stop: asked before every step.
            quiet: show no progress.

        Raises:
            EvaluationStopped: if `should_stop` said so: a part of the episodes is no fair sample.
        """
        origin = None if network is None else origin or Origin()
        # Every iteration, and every number and length of episodes, is given other ones, so that the
        # final evaluation does not repeat those in training. Temperatures share them: they are
        # better compared on the same.
        iteration = 0 if origin is None or origin.iteration is None else origin.iteration + 1
        size = self._protocol.episodes, self._protocol.max_steps or 0
        seed = derive_seed(self._seed, "policy evaluation", iteration, *size)
        begin = time.perf_counter()
        episodes = self._play(network, seed, should_stop, quiet)
        seconds = time.perf_counter() - begin
        epsilon = getattr(network, "evaluation_epsilon", None)
        return PolicyEvaluation(
            self._source,
            self._protocol,
            origin,
            self._seed,
            tuple(episodes),
            seconds,
            epsilon,
            "float32" if network is None else network.compute_dtype,
        )

    def _play(
        self,
        network: tf.keras.Model | None,
        seed: int,
        should_stop: Callable[[], bool],
        quiet: bool,
    ) -> list[PlayedEpisode]:
        with contextlib.ExitStack() as exits:
            quotas = []
            for half, (slots, episodes) in enumerate(self._halves()):
                batch = exits.enter_context(self._batch(network, slots, seed, half))
                quotas.append(Quota(batch, episodes))
            player = self._player(network, batch.num_actions, seed)
            progress = EpisodeProgress(
                f"evaluating {self._source.name}", quotas, self._protocol.max_steps, quiet
            )
            exits.callback(progress.close)
            play_all(quotas, player, progress, should_stop)
        return [episode for quota in quotas for episode in quota.episodes]

    def _halves(self) -> list[tuple[int, int]]:
        """Returns slots and episodes of the two batches; one batch is enough for one episode."""
        slots, episodes = min(self._protocol.episodes, self._max_slots), self._protocol.episodes
        if slots == 1:
            return [(1, episodes)]
        first = slots // 2, episodes // 2
        return [first, (slots - first[0], episodes - first[1])]

    def _batch(self, network: tf.keras.Model | None, slots: int, seed: int, half: int) -> GameBatch:
        # A random player looks at nothing: one frame per observation is enough.
        stack = 1 if network is None else self._stack
        return GameBatch(
            self._source,
            slots,
            derive_seed(seed, "half", half),
            stack,
            self._protocol.max_steps,
            self._num_workers,
        )

    def _player(self, network: tf.keras.Model | None, num_actions: int, seed: int) -> Player:
        if network is None:
            return RandomPolicy(num_actions, seed)
        return PolicyPlayer(network, self._protocol.temperature, seed)


def versions() -> dict[str, str]:
    """Returns the versions of what a score may depend on."""
    packages = ("tensorflow", "ale-py")
    found = {name: importlib.metadata.version(name) for name in packages}
    return {"simple_tf": simple_tf.__version__, "python": platform.python_version(), **found}
