"""Measurements of a diagnosis as JSON, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from simple_tf.evaluation.diagnosis import (
    BootstrapValue,
    Entropy,
    Mean,
    Measurements,
    Returns,
    RewardClass,
)
from simple_tf.evaluation.motion_quality import MotionQuality
from simple_tf.evaluation.novelty import Novelty
from simple_tf.evaluation.reward_quality import ReliabilityBin, RewardCounts


def to_json(measurements: Measurements) -> dict[str, Any]:
    """Returns the measurements as fields that JSON can hold."""
    fields = dataclasses.asdict(measurements)
    fields["rewards_in_data"] = {str(k): v for k, v in measurements.rewards_in_data.items()}
    return fields


def from_json(fields: Mapping[str, Any]) -> Measurements:
    """The inverse of `to_json`; raises KeyError, TypeError or ValueError for anything else."""
    parts = dict(fields)
    parts["rewards_in_data"] = {int(k): int(v) for k, v in fields["rewards_in_data"].items()}
    parts["returns"] = _returns_from_json(fields["returns"])
    parts["rewards"] = tuple(_class_from_json(row) for row in fields["rewards"])
    parts["motion"] = MotionQuality(**_tuples(fields["motion"]))
    parts["entropy"] = Entropy(**_tuples(fields["entropy"]))
    if fields["value"] is not None:
        parts["value"] = BootstrapValue(**_with_means(_tuples(fields["value"])))
    if fields["novelty"] is not None:
        parts["novelty"] = Novelty(**_tuples(fields["novelty"]))
    return Measurements(**parts)


def _returns_from_json(fields: Mapping[str, Any]) -> Returns:
    curves = {name: tuple(curve) for name, curve in fields["curves"].items()}
    means = {name: value for name, value in fields.items() if name != "curves"}
    return Returns(**_with_means(means), curves=curves)


def _class_from_json(fields: Mapping[str, Any]) -> RewardClass:
    return RewardClass(
        reward=int(fields["reward"]),
        at_sight=RewardCounts(**fields["at_sight"]),
        dreamed=RewardCounts(**fields["dreamed"]),
        by_depth=tuple((a, b, RewardCounts(**counts)) for a, b, counts in fields["by_depth"]),
        bins=tuple(ReliabilityBin(**row) for row in fields["bins"]),
        held_out=bool(fields["held_out"]),
    )


def _with_means(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {k: Mean(**v) if isinstance(v, Mapping) else v for k, v in fields.items()}


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of JSON as tuples, one level deep and in pairs."""
    return {
        name: tuple(tuple(x) if isinstance(x, list) else x for x in value)
        if isinstance(value, list)
        else value
        for name, value in fields.items()
    }
