"""The two networks of a run, built from gin for a game."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import gin
import tensorflow as tf

from simple_tf.agents import (  # noqa: F401  # Known to gin once imported.
    nature_network,
    optimizers,
    policy_network,
    rainbow_network,
)
from simple_tf.models import (  # noqa: F401
    adafactor,
    bits,
    deterministic,
    gaussian,
    muon,
    patch,
    recurrent,
    schedules,
    stochastic_discrete,
)
from simple_tf.models import optimizers as model_optimizers  # noqa: F401
from simple_tf.models.heads import FrameHead, PaletteHead
from simple_tf.models.interface import WorldModel
from simple_tf.models.palette import Palette

FrameShape = tuple[int, int, int]


PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")


@gin.configurable
def compute_precision(policy: str = "float32") -> dict[str, str]:
    """Arguments that make a network compute in some precision; weights stay float32.

    Args:
        policy: for world model and policy alike, a Keras dtype policy: `float32`,
            `mixed_bfloat16` (TPUs, newer GPUs and CPUs) or `mixed_float16` (GPUs; the trainers
            then scale their losses).

    Returns:
        Nothing for float32, so that networks of one's own need not know of this.
    """
    if policy not in PRECISIONS:
        raise ValueError(
            f"compute_precision.policy must be one of {', '.join(PRECISIONS)}, not {policy!r}."
        )
    return {} if policy == "float32" else {"precision": policy}


@gin.configurable(denylist=["channels"])
def palette_head(channels: int, capacity: int = gin.REQUIRED) -> PaletteHead:
    """Makes a head over the game's own colours, as many as `capacity`; none are known yet."""
    return PaletteHead(Palette(capacity, channels))


@gin.configurable(denylist=["frame_shape", "num_actions", "seed"])
def build_world_model(
    frame_shape: FrameShape,
    num_actions: int,
    seed: int,
    model: Callable[..., WorldModel] = gin.REQUIRED,
    head: Callable[[int], FrameHead] = gin.REQUIRED,
    num_input_frames: int = 4,
) -> WorldModel:
    """Makes a world model for a game.

    Args:
        frame_shape: (height, width, channels).
        num_actions: number of actions.
        seed: of the initial weights.
        model: a class, e.g. `@StochasticDiscreteModel`.
        head: makes a head from the number of channels, e.g. `@SoftmaxHead`.
        num_input_frames: K, the frames that model and policy see.
    """
    return model(
        frame_shape=frame_shape,
        num_actions=num_actions,
        head=head(frame_shape[2]),
        num_input_frames=num_input_frames,
        seed=seed,
        **compute_precision(),
    )


@gin.configurable(denylist=["observation_shape", "num_actions", "seed"])
def build_policy(
    observation_shape: tuple[int, int, int, int],
    num_actions: int,
    seed: int,
    network: Callable[..., tf.keras.Model] = gin.REQUIRED,
) -> tf.keras.Model:
    """Makes a policy network for a game.

    Args:
        observation_shape: (K, height, width, channels).
        num_actions: number of actions.
        seed: of the initial weights.
        network: a class with the arguments and the call of `PolicyNetwork`.
    """
    precision = compute_precision()
    if precision and not _takes(network, "precision"):
        name = getattr(network, "__name__", str(network))
        raise ValueError(
            f"{name} computes in float32 only: compute_precision.policy cannot be "
            f"{precision['precision']} with it."
        )
    return network(
        observation_shape=observation_shape, num_actions=num_actions, seed=seed, **precision
    )


def _takes(function: Callable[..., object], name: str) -> bool:
    """Whether a function can be called with an argument of this name."""
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)
