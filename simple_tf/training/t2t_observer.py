"""Watches a world model at work and compares what happens inside with a recording.

The models are run as they are; their layers' outputs are overheard. One call of the network, in
the numbering of the recordings, begins with the encoder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from simple_tf.models.bits import BitLatent, chunks_of
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.next_frame import NextFrameModel
from simple_tf.models.noise import FixedNoise
from simple_tf.training.t2t_comparison import Comparison

Listener = Callable[[tuple[Any, ...], Any], None]

# What does not depend on bits inferred from the target frame.
BEFORE_THE_LATENT = ("inject_latent/in", "lstm_pred")


class Observer:
    """Compares the inside of a model with a recording, call by call.

    Args:
        model: the model to watch.
        comparison: where errors go.
        prefix: of the recording's keys, e.g. `step0/`.
        first_target: the first call that predicts a target frame.
        only: parts of the names to which comparisons are restricted; empty: no restriction.
    """

    def __init__(
        self,
        model: NextFrameModel,
        comparison: Comparison,
        prefix: str,
        first_target: int = 0,
        only: tuple[str, ...] = (),
    ) -> None:
        self._model = model
        self._comparison = comparison
        self._prefix = prefix
        self._first_target = first_target
        self._only = only
        self._call = -1
        self._norm = 0
        self._chunk = 0
        latent = bit_latent_of(model)
        self._chunks = 0 if latent is None else latent.predictor.num_chunks
        self.memories: list[tf.Tensor] = []  # Before each call, [B, H, W, channels].

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Listens to the model's layers while the context lasts."""
        model = self._model
        pairs: list[tuple[tf.keras.layers.Layer, Listener]] = [
            (model.encoder, self._on_encoder),
            (model.middle, self._on_middle),
            (model.reward.hidden, self._on_reward_hidden),
            (model.outputs_layer, self._on_outputs),
        ]
        norms = [step.norm for step in (*model.encoder.steps, *model.decoder.steps)]
        pairs += [(norm, self._on_norm) for norm in (*norms, *getattr(model.middle, "norms", ()))]
        latent = bit_latent_of(model)
        if latent is not None:
            pairs += [(latent.posterior, self._on_posterior)]
            pairs += [(latent.bottleneck, self._on_bit_logits)]
        with contextlib.ExitStack() as stack:
            for layer, listener in pairs:
                stack.enter_context(replaced(layer, "call", _overheard(layer.call, listener)))
            yield

    def on_chunk(self, logits: tf.Tensor) -> tf.Tensor:
        """Compares the logits of one chunk of bits; returns the recorded choice, int32 [B].

        Following the recording keeps everything after comparable if two chunks tie.
        """
        number, self._chunk = self._call * self._chunks + self._chunk, self._chunk + 1
        self._close("inter/lstm_pred/discrete_logits", logits, number)
        key = self._key("inter/lstm_pred/bits", self._call)
        chosen = self._recorded_chunks(key, logits.shape[0])
        if chosen is None:
            return tf.argmax(logits, axis=-1, output_type=tf.int32)
        self._comparison.choices(key, logits.numpy(), chosen[:, self._chunk - 1].numpy())
        return chosen[:, self._chunk - 1]

    def _recorded_chunks(self, key: str, batch_size: int) -> tf.Tensor | None:
        """Returns the recorded bits as chunks [B, chunks], None if there are none that fit."""
        if key not in self._comparison.recording:
            return None
        bits = np.reshape(self._comparison.recording[key], [batch_size, -1])
        chunks = chunks_of(tf.constant(bits))
        return chunks if chunks.shape[1] == self._chunks else None

    def _on_encoder(self, arguments: tuple[Any, ...], result: Any) -> None:
        self._call, self._chunk = self._call + 1, 0
        self._close("inter/inject_latent/in", result[0])
        if getattr(self._model, "memory", None) is not None:
            self.memories.append(arguments[0][..., self._model.frame_shape[2] :])

    def _on_norm(self, arguments: tuple[Any, ...], result: Any) -> None:
        del arguments
        # The encoder's norms come before its call has ended and counts.
        if self._call < 1 and self._norm < self._num_norms:
            self._close("inter/layer_norm_first_call", result, self._norm)
            self._norm += 1

    @property
    def _num_norms(self) -> int:
        return 2 * self._model.size.compress_steps + len(getattr(self._model.middle, "norms", ()))

    def _on_middle(self, arguments: tuple[Any, ...], result: Any) -> None:
        self._close("inter/inject_latent/out", arguments[0])
        output = result[0] if isinstance(result, tuple) else result
        self._close("inter/middle_network/out", output)

    def _on_reward_hidden(self, arguments: tuple[Any, ...], result: Any) -> None:
        del arguments
        self._close("inter/next_frame/reward_hidden", result)

    def _on_outputs(self, arguments: tuple[Any, ...], result: Any) -> None:
        del arguments
        if self._only:
            return
        logits = frame_logits(self._model, result)
        compare_all_frames(self._comparison, self._prefix, logits, self._call)
        if self._call >= self._first_target:
            compare_frame(self._comparison, self._prefix, logits, self._call - self._first_target)

    def _on_posterior(self, arguments: tuple[Any, ...], result: Any) -> None:
        del arguments
        self._close("inter/discriminator/out", result)

    def _on_bit_logits(self, arguments: tuple[Any, ...], result: Any) -> None:
        del arguments
        key = self._key("inter/bottleneck/bits_clean", self._call)
        if key in self._comparison.recording and not self._only:
            logits = np.stack([-result.numpy(), result.numpy()], axis=-1)
            self._comparison.choices(key, logits, self._comparison.recording[key] > 0)

    def _close(self, name: str, ours: tf.Tensor, number: int | None = None) -> None:
        if not self._only or any(part in name for part in self._only):
            key = self._key(name, self._call if number is None else number)
            self._comparison.close(key, ours.numpy())

    def _key(self, name: str, number: int) -> str:
        return f"{self._prefix}{name}/{number:02d}"


class FollowingNoise(FixedNoise):
    """No randomness, and the chunks of bits that an observer chooses."""

    def __init__(self, uniform_value: float, observer: Observer) -> None:
        super().__init__(uniform_value)
        self._observer = observer

    def categorical(self, logits: tf.Tensor) -> tf.Tensor:
        """See `Noise`."""
        return self._observer.on_chunk(logits)


def bit_latent_of(model: NextFrameModel) -> BitLatent | None:
    """Returns the bit latent of a model of the original's, None for the deterministic one."""
    return model.latent if isinstance(model.latent, BitLatent) else None


def frame_logits(model: NextFrameModel, outputs: tf.Tensor) -> tf.Tensor:
    """Returns the logits [B, H, W, C, V] of a prediction's outputs."""
    assert isinstance(model.head, SoftmaxHead), "The importer builds no other head."
    return model.head.logits(outputs)


def compare_frame(
    comparison: Comparison, prefix: str, logits: tf.Tensor, part: int | None = None
) -> None:
    """Compares frame logits [B, H, W, C, V] with what is recorded of one predicted frame."""
    _compare_strided(comparison, f"{prefix}logits__stride", logits, part)
    total = tf.reduce_logsumexp(logits, axis=-1)
    comparison.close(f"{prefix}logits__logsumexp", total.numpy(), part)
    for name in ("logits__argmax", "frame"):
        comparison.likeliest(f"{prefix}{name}", logits.numpy(), part)


def compare_all_frames(comparison: Comparison, prefix: str, logits: tf.Tensor, call: int) -> None:
    """Compares frame logits with what is recorded of every call of the network in training."""
    _compare_strided(comparison, f"{prefix}all_frame_logits_stride", logits, call)
    mean = tf.reduce_mean(tf.reduce_logsumexp(logits, axis=-1), axis=[1, 2])
    comparison.close(f"{prefix}all_frame_logsumexp_mean", mean.numpy(), call)


def _compare_strided(
    comparison: Comparison, start: str, logits: tf.Tensor, part: int | None
) -> None:
    for key in comparison.recording.keys:
        if key.startswith(start):
            stride = int(key.removeprefix(start))
            comparison.close(key, logits[:, ::stride, ::stride].numpy(), part)


@contextlib.contextmanager
def replaced(owner: Any, name: str, method: Callable[..., Any]) -> Iterator[None]:
    """Puts a function in the place of an object's method while the context lasts."""
    setattr(owner, name, method)
    try:
        yield
    finally:
        delattr(owner, name)


def _overheard(call: Callable[..., Any], listener: Listener) -> Callable[..., Any]:
    def heard(*arguments: Any) -> Any:
        result = call(*arguments)
        listener(arguments, result)
        return result

    return heard
