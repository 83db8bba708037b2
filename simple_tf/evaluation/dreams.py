"""A world model and a policy, asked about segments of real play."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from simple_tf.agents.draws import fold_in, sample_actions
from simple_tf.agents.policy_network import NO_ITERATION
from simple_tf.data.reward_ages import NO_REWARD, ages_along
from simple_tf.evaluation.episodes import EvaluationStopped
from simple_tf.evaluation.rollout import unroll
from simple_tf.evaluation.segments import Segments
from simple_tf.models.interface import WorldModel
from simple_tf.seeding import derive_seed_pair

_OBSERVATIONS_PER_CALL = 256


class Dreams(NamedTuple):
    """Rollouts of a model, beside segments of the same starts.

    Attributes:
        frames: uint8 [S, T, H, W, C].
        probabilities: of the reward classes, float32 [S, T, R].
    """

    frames: np.ndarray
    probabilities: np.ndarray


class Judgement(NamedTuple):
    """What a policy thinks of T + 1 consecutive observations.

    Attributes:
        entropies: of its choice at temperature 1, in nats, float32 [S, T + 1].
        values: float32 [S, T + 1].
    """

    entropies: np.ndarray
    values: np.ndarray


class Dreamer:
    """Lets a model go on from where segments start. Build it once: it compiles once.

    Args:
        model: the model.
        network: the policy; it acts at temperature 1, as where it was trained.
        batch_size: rollouts side by side.
        seed: of latents and actions.
        report: called with the number of simulated steps just made.
        should_stop: asked before every batch.
    """

    def __init__(
        self,
        model: WorldModel,
        network: tf.keras.Model,
        batch_size: int = 32,
        seed: int = 0,
        report: Callable[[int], object] = lambda steps: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._model = model
        self._network = network
        self._batch_size = batch_size
        self._seed = seed
        self._report = report
        self._should_stop = should_stop
        self._unroll = tf.function(self._unrolled, autograph=False)
        self._foresee = tf.function(self._foreseen, autograph=False)
        self._judge = tf.function(self._judged, autograph=False, reduce_retracing=True)

    def follow(self, segments: Segments) -> Dreams:
        """Rolls the model out under the actions that were really played."""
        return self._dreams(segments, segments.played_actions, "follow")

    def act(self, segments: Segments) -> Dreams:
        """Lets the policy choose the actions itself, from the same starts."""
        return self._dreams(segments, np.full_like(segments.played_actions, -1), "act")

    def foresee(self, segments: Segments) -> np.ndarray:
        """Predicts each step's reward from the real frames before it, float32 [S, T, R]."""
        known, steps = segments.num_input_frames, segments.horizon
        stacks = stacked(segments.frames[:, :-1], known)
        actions = np.lib.stride_tricks.sliding_window_view(segments.actions, known, axis=1)
        ages = ages_along(segments.ages, segments.rewards + NO_REWARD).numpy()
        parts = []
        for seed, rows in self._batches(len(segments) * steps, "foresee"):
            place = rows // steps, rows % steps
            parts.append(self._foresee(stacks[place], actions[place], ages[place], seed))
            self._report(len(rows))
        logits = np.concatenate(parts)[: len(segments) * steps]
        return _softmax(logits).reshape(len(segments), steps, -1)

    def judge(self, frames: np.ndarray) -> Judgement:
        """Shows the policy frames, uint8 [S, K + T, H, W, C], K at a time."""
        stacks = stacked(frames, self._model.num_input_frames)
        shape = stacks.shape[:2]
        parts = []
        for begin in range(0, shape[0] * shape[1], _OBSERVATIONS_PER_CALL):
            rows = np.arange(begin, min(begin + _OBSERVATIONS_PER_CALL, shape[0] * shape[1]))
            parts.append(self._judge(stacks[rows // shape[1], rows % shape[1]]))
        entropies, values = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Judgement(entropies.reshape(shape), values.reshape(shape))

    def _dreams(self, segments: Segments, actions: np.ndarray, purpose: str) -> Dreams:
        known = segments.known_actions
        parts = []
        for seed, rows in self._batches(len(segments), purpose):
            start = segments.history[rows], known[rows], segments.ages[rows]
            parts.append(self._unroll(*start, actions[rows], seed))
            self._report(len(rows) * segments.horizon)
        frames, logits = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Dreams(frames[: len(segments)], _softmax(logits[: len(segments)]))

    def _batches(self, total: int, purpose: str) -> Iterator[tuple[tf.Tensor, np.ndarray]]:
        """Seeds and rows, batches of one size so that there is one trace: the last is filled up."""
        for number, begin in enumerate(range(0, total, self._batch_size)):
            if self._should_stop():
                raise EvaluationStopped
            seed = derive_seed_pair(self._seed, f"diagnosis: {purpose}", number)
            rows = np.minimum(np.arange(begin, begin + self._batch_size), total - 1)
            yield tf.constant(seed, tf.int32), rows

    def _unrolled(
        self,
        history: tf.Tensor,
        known: tf.Tensor,
        ages: tf.Tensor,
        actions: tf.Tensor,
        seed: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Rolls out; a step whose action is negative is the policy's to choose."""
        planned = tf.transpose(actions)

        def choose(t: tf.Tensor, seen: tf.Tensor) -> tf.Tensor:
            return tf.cond(
                tf.reduce_all(planned[t] < 0),
                lambda: sample_actions(self._network(seen, NO_ITERATION)[0], 1.0, draws(t)),
                lambda: planned[t],
            )

        def draws(t: tf.Tensor) -> tf.Tensor:
            return fold_in(seed, -1, t)  # The model's draws have counters from 0.

        return unroll(self._model, history, known, actions.shape[1], choose, seed, ages)

    def _foreseen(
        self, frames: tf.Tensor, actions: tf.Tensor, ages: tf.Tensor, seed: tf.Tensor
    ) -> tf.Tensor:
        state = self._model.initial_state(frames, actions[:, :-1], fold_in(seed, 0), ages)
        prediction = self._model.step(state, frames, actions[:, -1], fold_in(seed, 1))
        return tf.cast(prediction.reward_logits, tf.float32)

    def _judged(self, observations: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        logits, values = self._network(observations, NO_ITERATION)
        log_probabilities = tf.nn.log_softmax(logits)
        entropies = -tf.reduce_sum(tf.exp(log_probabilities) * log_probabilities, axis=-1)
        return entropies, values


def stacked(frames: np.ndarray, num_input_frames: int) -> np.ndarray:
    """All stacks of K consecutive frames, uint8 [S, N - K + 1, K, H, W, C], without a copy.

    Args:
        frames: uint8 [S, N, H, W, C].
        num_input_frames: K.
    """
    windows = np.lib.stride_tricks.sliding_window_view(frames, num_input_frames, axis=1)
    return np.moveaxis(windows, -1, 2)


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
