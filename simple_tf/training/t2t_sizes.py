"""Reads the sizes of the original's networks off the names and shapes of their variables.

Sizes are taken by majority from several variables, and from the original's defaults where they
are absent: one missing or misshapen variable then shows as just that when all are accounted for.
"""

from __future__ import annotations

import collections
import re
from typing import Any

from simple_tf.agents.policy_network import flattened_size
from simple_tf.models.bits import BitOptions
from simple_tf.models.heads import VALUES
from simple_tf.models.layers import halved_sizes
from simple_tf.training.t2t_checkpoint import POLICY, SCOPES, STATE_BUFFER, Shapes

DEFAULT_FRAME_SIZE = (105, 80)
DEFAULT_INPUT_FRAMES = 4
_DEFAULT_ACTIONS = 6
_DEFAULT_REWARDS = 3
_DEFAULT_HIDDEN = {"deterministic": 64, "stochastic_discrete": 96, "recurrent": 64}


def infer_arguments(
    shapes: Shapes, kind: str, frame_size: tuple[int, int] | None = None
) -> dict[str, Any]:
    """Returns the arguments with which to construct our network; all of them JSON-ready.

    Args:
        shapes: the checkpoint's variables.
        kind: key of `SCOPES`.
        frame_size: (height, width); None: what the checkpoint says, or else the usual 105x80.

    Raises:
        ValueError: if the checkpoint does not fit the frame size, or predicts no 256-way softmax.
    """
    size = frame_size or recorded_frame_size(shapes) or DEFAULT_FRAME_SIZE
    if kind == POLICY:
        return _policy_arguments(shapes, size)
    return _world_model_arguments(shapes, kind, size)


def recorded_frame_size(shapes: Shapes) -> tuple[int, int] | None:
    """Returns (height, width) from the buffer of the carried state [B, H, W, ...], if saved."""
    for name, shape in shapes.items():
        if re.fullmatch(STATE_BUFFER, name) and len(shape) == 4:
            return shape[1], shape[2]
    return None


def _world_model_arguments(
    shapes: Shapes, kind: str, frame_size: tuple[int, int]
) -> dict[str, Any]:
    sizes = _Sizes(shapes, SCOPES[kind])
    outputs = sizes.majority(("body/logits/kernel", 1), ("body/logits/bias", 0), default=3 * VALUES)
    if outputs % VALUES:
        raise ValueError(
            f"This model predicts {outputs} values per pixel, not a {VALUES}-way softmax per "
            "channel: only models of the latter kind can be imported."
        )
    channels = outputs // VALUES
    steps = max(sizes.count("body/downstride#/.*"), sizes.count("body/upstride#/.*"))
    hidden = sizes.majority(
        ("body/inputs_embed/bias", 0),
        ("body/logits/kernel", 0),
        (f"body/upstride{steps - 1}/conv2d_transpose/bias", 0),
        default=_DEFAULT_HIDDEN[kind],
    )
    bottom = sizes.majority(
        ("body/action_enc_mul/bias", 0),
        (f"body/downstride{steps - 1}/conv2d/bias", 0),
        ("body/action_enc_add/bias", 0),
        default=hidden,
    )
    _check_frame_size(sizes, frame_size, steps, bottom)
    return {
        "frame_shape": [*frame_size, channels],
        "num_actions": sizes.vocabulary(
            r"symbol_modality_#_\d+/target_action/.*",
            default=sizes.majority(("body/policy/dense/bias", 0), default=_DEFAULT_ACTIONS),
        ),
        "num_reward_classes": sizes.vocabulary(
            r"target_reward/symbol_modality_#_\d+/.*",
            r"symbol_modality_#_\d+/target_reward/.*",
            default=_DEFAULT_REWARDS,
        ),
        "hidden_size": hidden,
        "compress_steps": steps,
        "doubling_steps": max(bottom // hidden, 1).bit_length() - 1,
        **_kind_arguments(sizes, kind, channels),
    }


def _kind_arguments(sizes: _Sizes, kind: str, channels: int) -> dict[str, Any]:
    """Returns the arguments that only some kinds of models have."""
    arguments: dict[str, Any] = {"num_input_frames": DEFAULT_INPUT_FRAMES}
    if kind != "recurrent":
        arguments["middle_layers"] = sizes.count("body/layer#/.*")
    if kind == "deterministic":
        stacked = sizes.majority(
            ("body/inputs_embed/kernel", 0), default=DEFAULT_INPUT_FRAMES * channels
        )
        arguments["num_input_frames"] = max(stacked // channels, 1)
        return arguments
    if kind == "stochastic_discrete":
        gate_and_candidate = sizes.majority(
            ("body/state_conv/bias", 0), ("body/state_conv/kernel", 3), default=128
        )
        arguments["memory_channels"] = gate_and_candidate // 2
    return {**arguments, "bits": _bit_arguments(sizes)}


def _bit_arguments(sizes: _Sizes) -> dict[str, Any]:
    defaults = BitOptions()
    predictor = "body/predict_bits_with_lstm"
    return {
        "num_bits": sizes.majority(
            ("body/unbottleneck_mul/kernel", 0),
            ("body/unbottleneck_add/kernel", 0),
            default=defaults.num_bits,
        ),
        "predictor_units": sizes.majority(
            *((f"{predictor}/{state}/bias", 0) for state in ("istate", "cstate", "mstate")),
            default=defaults.predictor_units,
        ),
        "posterior_filters": [
            sizes.majority(
                (f"body/discriminator/conv{i + 1}/bias", 0),
                (f"body/discriminator/conv{i + 1}/kernel", 3),
                default=filters,
            )
            for i, filters in enumerate(defaults.posterior_filters)
        ],
    }


def _check_frame_size(
    sizes: _Sizes, frame_size: tuple[int, int], steps: int, channels: int
) -> None:
    """Compares the bottom activation of a frame with the layers that read it flattened."""
    layers = [f"predict_bits_with_lstm/{state}" for state in ("istate", "cstate", "mstate")]
    layers += ["policy/dense", "policy/dense_1"]
    height, width = halved_sizes(*frame_size, steps)[-1]
    expected = height * width * channels
    found = sizes.majority(*((f"body/{layer}/kernel", 0) for layer in layers), default=expected)
    if found != expected:
        raise ValueError(_other_frame_size(frame_size, expected, found))


def _policy_arguments(shapes: Shapes, frame_size: tuple[int, int]) -> dict[str, Any]:
    sizes = _Sizes(shapes, f"{SCOPES[POLICY]}/body/feed_forward_cnn_small")
    stacked = sizes.majority(("conv2d/kernel", 2), default=12)
    channels = 3 if stacked % 3 == 0 else 1
    filters = sizes.majority(("conv2d/bias", 0), ("conv2d_1/bias", 0), default=32)
    embedding = sizes.majority(("embedding/kernel", 1), default=32)
    expected = flattened_size(*frame_size, filters) + embedding
    found = sizes.majority(("dense/kernel", 0), default=expected)
    if found != expected:
        raise ValueError(_other_frame_size(frame_size, expected, found))
    return {
        "observation_shape": [stacked // channels, *frame_size, channels],
        "num_actions": sizes.majority(("dense2/bias", 0), ("dense2/kernel", 1), default=6),
        "filters": filters,
        "hidden_size": sizes.majority(("dense/bias", 0), ("dense/kernel", 1), default=128),
        "embedding_rows": sizes.majority(("embedding/kernel", 0), default=32),
        "embedding_size": embedding,
    }


def _other_frame_size(frame_size: tuple[int, int], expected: int, found: int) -> str:
    return (
        f"This checkpoint was made for frames of another size than {frame_size[0]}x"
        f"{frame_size[1]}: {found} activations reach its dense layers instead of {expected}; "
        "give the size with --frame_size=HEIGHTxWIDTH."
    )


class _Sizes:
    """Looks sizes up among the variables inside one scope."""

    def __init__(self, shapes: Shapes, scope: str) -> None:
        self._shapes = {
            name.removeprefix(f"{scope}/"): shape
            for name, shape in shapes.items()
            if name.startswith(f"{scope}/")
        }

    def majority(self, *sources: tuple[str, int], default: int) -> int:
        """Returns the commonest of the sizes at (name, axis), the first if there is a tie."""
        found = [
            self._shapes[name][axis]
            for name, axis in sources
            if len(self._shapes.get(name, ())) > axis
        ]
        return collections.Counter(found).most_common(1)[0][0] if found else default

    def count(self, pattern: str) -> int:
        """Returns one more than the highest number at `#` in the names; 0 without any."""
        return max(self._numbers(pattern), default=-1) + 1

    def vocabulary(self, *patterns: str, default: int) -> int:
        """Returns the highest number at `#` in the names, by the first pattern that has any."""
        found = (max(self._numbers(pattern), default=0) for pattern in patterns)
        return next(filter(None, found), default)

    def _numbers(self, pattern: str) -> list[int]:
        matches = (re.fullmatch(pattern.replace("#", r"(\d+)"), name) for name in self._shapes)
        return [int(match.group(1)) for match in matches if match]
