"""The recorded tensors of the original, and models that carry the recorded weights."""

from __future__ import annotations

import functools
import pathlib
import zlib
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.interface import WorldModel
from simple_tf.models.noise import FixedNoise
from simple_tf.models.recurrent import RecurrentModel
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel
from simple_tf.models.t2t_names import t2t_name

GOLDEN_DIR = pathlib.Path(__file__).parent / "golden"
FRAME_SHAPE = (105, 80, 3)
NUM_ACTIONS = 6


def weight_by_rule(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the recorded value of a variable from its Tensor2Tensor name."""
    rng = np.random.RandomState(zlib.crc32(name.encode("utf-8")) & 0xFFFFFFFF)
    value = rng.randn(*shape)
    if len(shape) >= 2:
        value = value / np.sqrt(float(np.prod(shape[:-1])))
        value = 4.0 * value if "conv2d_transpose" in name else value
    else:
        value = 0.05 * value
        value = 1.0 + value if name.endswith("layer_norm_scale") else value
    return value.astype(np.float32)


def recorded_window(num_targets: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the recorded batch of two windows of 4 input frames, in our layout."""
    rng = np.random.RandomState(0)
    inputs = rng.randint(0, 256, (2, 4, *FRAME_SHAPE))
    targets = rng.randint(0, 256, (2, num_targets, *FRAME_SHAPE))
    input_action = rng.randint(0, 6, (2, 4))
    target_action = rng.randint(0, 6, (2, num_targets))
    input_reward = rng.randint(0, 3, (2, 4))
    target_reward = rng.randint(0, 3, (2, num_targets))
    frames = np.concatenate([inputs, targets], axis=1).astype(np.uint8)
    actions = np.concatenate([input_action, target_action[:, :-1]], axis=1)
    rewards = np.concatenate([input_reward[:, 1:], target_reward], axis=1)
    return tf.constant(frames), tf.constant(actions, tf.int32), tf.constant(rewards, tf.int32)


class Golden:
    """One recorded model: our model with its weights, and the recording.

    Args:
        tag: name of the file in `golden/`.
    """

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.data = np.load(GOLDEN_DIR / f"{tag}.npz")
        self.hidden_size = {"h16": 16, "full": 96}[tag.split("_")[1]]
        self.model = self._build(tag.split("_")[0])
        self.variables = {
            t2t_name(v.name[:-2], self.model.name, NUM_ACTIONS, 3, self.hidden_size): v
            for v in self.model.trainable_variables
        }
        self.reset_weights()

    def _build(self, kind: str) -> WorldModel:
        options = {"hidden_size": self.hidden_size, "separate_target_actions": True}
        if kind == "det":
            return DeterministicModel(FRAME_SHAPE, NUM_ACTIONS, SoftmaxHead(3, 0.01), **options)
        head = SoftmaxHead(3, 0.03)
        if kind == "rec":
            return RecurrentModel(FRAME_SHAPE, NUM_ACTIONS, head, temperature=0.0, **options)
        return StochasticDiscreteModel(
            FRAME_SHAPE, NUM_ACTIONS, head, inputs="carried", temperature=0.0, **options
        )

    def reset_weights(self) -> None:
        """Sets the recorded weights."""
        for name, variable in self.variables.items():
            variable.assign(weight_by_rule(name, tuple(variable.shape)))

    def window(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Returns the recorded training and evaluation batch."""
        return recorded_window(int(self.data["train/num_targets"]))

    @functools.cached_property
    def losses_and_gradients(self) -> Callable[..., tuple[tf.Tensor, list[tf.Tensor]]]:
        """A compiled function of (global step, U) to the mean loss and its gradients."""
        window, variables = self.window(), list(self.variables.values())

        @tf.function(autograph=False)
        def compute(step: tf.Tensor, uniform: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
            with tf.GradientTape() as tape:
                losses = self.model.window_losses(*window, step, FixedNoise(uniform))
                loss = tf.reduce_mean(losses.total)
            return loss, tape.gradient(loss, variables, unconnected_gradients="zero")

        return compute


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Golden]:
    """Returns recorded models by tag, built once."""
    return functools.cache(Golden)


@pytest.fixture(scope="session")
def pong_curve() -> dict[str, np.ndarray]:
    """Returns the recorded learning curve and its game."""
    return dict(np.load(GOLDEN_DIR / "curve_det_h16.npz"))
