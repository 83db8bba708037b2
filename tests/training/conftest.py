"""Checkpoints as the original writes them, with weights made by rule."""

from __future__ import annotations

import pathlib
import sys
import zlib

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.training.t2t_checkpoint import SCOPES
from simple_tf.training.t2t_import import build_network, variables_by_t2t_name

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import killed_runs

SMALL = {"frame_shape": (20, 14, 3), "num_actions": 4, "hidden_size": 8, "compress_steps": 3}
BITS = {"num_bits": 16, "predictor_units": 12, "posterior_filters": (5, 6)}


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    """A finished run of Pong, too short to have learned anything."""
    path = tmp_path_factory.mktemp("runs") / "pong"
    killed_runs.finish(path, *killed_runs.TINY)
    return path


def weight_by_rule(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the recorded value of a variable from its name in the original."""
    rng = np.random.RandomState(zlib.crc32(name.encode("utf-8")) & 0xFFFFFFFF)
    value = np.asarray(rng.randn(*shape))
    if len(shape) >= 2:
        value = value / np.sqrt(float(np.prod(shape[:-1])))
        value = 4.0 * value if "conv2d_transpose" in name else value
    else:
        value = 0.05 * value
        value = 1.0 + value if name.endswith("layer_norm_scale") else value
    return value.astype(np.float32)


class OriginalCheckpoints:
    """Makes the variables of the original's networks and saves them as it does."""

    small = SMALL
    bits = BITS

    def variables(self, kind: str, **arguments) -> dict[str, np.ndarray]:
        """Returns all variables of a network in the original's training graph."""
        network = build_network(kind, arguments)
        names = variables_by_t2t_name(network, kind)
        shapes = {name: tuple(variable.shape) for name, variable in names.items()}
        if kind != "policy":
            shapes.update(self._unused(network, SCOPES[kind]))
        return {name: weight_by_rule(name, shape) for name, shape in shapes.items()}

    def _unused(self, network, scope: str) -> dict[str, tuple[int, ...]]:
        hidden, rewards = network.size.hidden_size, network.num_reward_classes
        bottom = int(np.prod(network.size.bottom_shape))
        modality = f"{scope}/symbol_modality_{rewards}_{hidden}"
        return {
            f"{scope}/body/policy/dense/kernel": (bottom, network.num_actions),
            f"{scope}/body/policy/dense/bias": (network.num_actions,),
            f"{scope}/body/policy/dense_1/kernel": (bottom, 1),
            f"{scope}/body/policy/dense_1/bias": (1,),
            f"{modality}/input_emb/weights_0": (rewards, hidden),
            f"{modality}/target_reward/target_emb/weights_0": (rewards, hidden),
        }

    def save(self, prefix: pathlib.Path, variables: dict[str, np.ndarray]) -> str:
        """Writes a checkpoint in the format of TensorFlow 1; returns its prefix."""
        prefix.parent.mkdir(parents=True, exist_ok=True)
        names = sorted(variables)
        tf.raw_ops.SaveV2(
            prefix=str(prefix),
            tensor_names=names,
            shape_and_slices=[""] * len(names),
            tensors=[tf.constant(variables[name]) for name in names],
        )
        return str(prefix)


@pytest.fixture(scope="session")
def original() -> OriginalCheckpoints:
    """Returns the maker of checkpoints."""
    return OriginalCheckpoints()
