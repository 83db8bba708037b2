"""The policy that an iteration ended with, small enough to keep them all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import tensorflow as tf

DESCRIPTION = "policy.json"
WEIGHTS = "weights"


class PolicyFileError(ValueError):
    """A saved policy is missing, damaged or of another network."""


def save_policy(
    directory: Path, network: tf.keras.Model, iteration: int, interactions: int
) -> None:
    """Writes a policy's weights; the directory appears when they are complete.

    Args:
        directory: where; an earlier one is replaced.
        network: the policy.
        iteration: after which it is saved.
        interactions: real steps it was trained with.
    """
    unfinished = directory.with_name(f".{directory.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    tf.train.Checkpoint(model=network).write(str(unfinished / WEIGHTS))
    fields = {"iteration": iteration, "interactions": interactions}
    (unfinished / DESCRIPTION).write_text(json.dumps(fields) + "\n", encoding="utf-8")
    shutil.rmtree(directory, ignore_errors=True)
    unfinished.rename(directory)


def load_policy(directory: Path, network: tf.keras.Model) -> dict[str, int]:
    """Reads a policy's weights into a network; returns its `iteration` and `interactions`.

    Raises:
        PolicyFileError: there is no whole policy of this network.
    """
    fields = read_description(directory)
    try:
        status = tf.train.Checkpoint(model=network).read(str(directory / WEIGHTS))
        status.assert_existing_objects_matched()
    except (OSError, ValueError, AssertionError, tf.errors.OpError) as error:
        raise PolicyFileError(
            f"{directory} holds no whole policy of this configuration: {error}"
        ) from error
    return fields


def read_description(directory: Path) -> dict[str, int]:
    """Returns a policy's `iteration` and `interactions`.

    Raises:
        PolicyFileError: there is no whole policy.
    """
    try:
        fields = json.loads((directory / DESCRIPTION).read_text(encoding="utf-8"))
        return {name: int(fields[name]) for name in ("iteration", "interactions")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PolicyFileError(f"{directory} holds no whole policy: {error}") from error
