"""Checkpoints of the original: finding them, reading them, knowing what is in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf

from simple_tf.models import t2t_names

Shapes = Mapping[str, tuple[int, ...]]

POLICY = "policy"
POLICY_SCOPE = "feed_forward_cnn_small_categorical_policy"

SCOPES = {**t2t_names.SCOPES, POLICY: POLICY_SCOPE}

# Full-match patterns of names inside the network's scope that have no counterpart, and why.
_UNUSED_INSIDE = (
    (r"body/policy/dense(_1)?/(kernel|bias)", "policy and value heads that SimPLe does not use"),
    (
        r"symbol_modality_\d+_\d+/input_emb/weights_0",
        "embedding of past actions or rewards that the network does not read",
    ),
    (
        r"symbol_modality_\d+_\d+/target_(action|reward)/target_emb/weights_0",
        "embedding of target actions or rewards that the network does not read",
    ),
)
# The same for names anywhere.
STATE_BUFFER = r"(.*/)?clean_scope_for_internal_state/state"
_UNUSED_ANYWHERE = (
    (STATE_BUFFER, "buffer of the carried state, which is not kept with the weights"),
    (r"losses_avg/problem_\d+/\w+", "running average of the training loop"),
    (r"train_stats/problem_\d+_steps", "counter of the training loop"),
    (r"(training/)?beta\d_power", "optimiser state"),
    (r"global_step", "step counter"),
)
_SLOT = r"training/(?P<variable>.+)/\w+"
# What TensorFlow raises on damaged files: an IndexError where one ends too early.
UNREADABLE = (tf.errors.OpError, RuntimeError, IndexError)


class T2tCheckpoint:
    """The variables of a TensorFlow 1 checkpoint.

    Args:
        path: its directory, its prefix (`model.ckpt-123`) or one of its files.
    """

    def __init__(self, path: str) -> None:
        self.prefix = find_prefix(path)
        try:
            self._reader = tf.train.load_checkpoint(self.prefix)
        except UNREADABLE as error:
            raise ValueError(_unreadable(self.prefix, error)) from error
        sizes = self._reader.get_variable_to_shape_map()
        self.shapes: Shapes = {name: tuple(shape) for name, shape in sorted(sizes.items())}

    def read(self, name: str) -> np.ndarray:
        """Returns the value of one variable."""
        try:
            value = self._reader.get_tensor(name)
        except UNREADABLE as error:
            raise ValueError(_unreadable(self.prefix, error)) from error
        if not np.all(np.isfinite(value)):
            raise ValueError(
                f"The checkpoint {self.prefix!r} is of a network that diverged: {name} has values "
                "that are not finite; take an earlier checkpoint."
            )
        return value

    @property
    def global_step(self) -> int | None:
        """The training step at which it was saved, if it says so."""
        return int(self.read("global_step")) if "global_step" in self.shapes else None


def find_prefix(path: str) -> str:
    """Returns the prefix of the checkpoint at `path`; of several in a directory, the newest."""
    place = Path(path)
    prefix = (
        _newest(place) if place.is_dir() else re.sub(r"\.(index|meta|data-\d+-of-\d+)$", "", path)
    )
    if prefix is None or not Path(f"{prefix}.index").is_file():
        raise ValueError(
            f"There is no checkpoint at {path!r}: give a directory that holds one, a prefix such "
            "as model.ckpt-123, or its .index file."
        )
    return prefix


def _newest(directory: Path) -> str | None:
    state = tf.train.get_checkpoint_state(str(directory))
    if state is not None:
        # It may name a path of the machine it was written on: then take the same name here.
        here = str(directory / Path(state.model_checkpoint_path).name)
        for prefix in (state.model_checkpoint_path, here):
            if Path(f"{prefix}.index").is_file():
                return prefix
    prefixes = [str(file.with_suffix("")) for file in directory.glob("*.index")]
    return max(prefixes, key=_step_of) if prefixes else None


def _step_of(prefix: str) -> int:
    match = re.search(r"-(\d+)$", prefix)
    return int(match.group(1)) if match else -1


def _unreadable(prefix: str, error: Exception) -> str:
    return f"The checkpoint {prefix!r} cannot be read: {str(error).splitlines()[0]}"


def kind_of(shapes: Shapes) -> str:
    """Returns the key of `SCOPES` that a checkpoint's variables belong to.

    Raises:
        ValueError: if it is a checkpoint of something else.
    """
    kinds = [
        kind
        for kind, scope in SCOPES.items()
        if any(name.startswith(f"{scope}/body/") for name in shapes)
    ]
    if len(kinds) != 1:
        raise ValueError(
            f"This is a checkpoint of something else: variables of exactly one of "
            f"{', '.join(SCOPES.values())} are expected, those of {len(kinds)} are there."
        )
    return kinds[0]


def unused_reason(name: str, kind: str, shapes: Shapes) -> str | None:
    """Returns why a variable of the original is not needed, or None if it is not a known one."""
    slot = re.fullmatch(_SLOT, name)
    if slot and slot["variable"] in shapes:
        return "optimiser state"
    inside = name.removeprefix(f"{SCOPES[kind]}/")
    candidates = [(name, *row) for row in _UNUSED_ANYWHERE]
    candidates += [(inside, *row) for row in _UNUSED_INSIDE if inside != name]
    for candidate, pattern, reason in candidates:
        if re.fullmatch(pattern, candidate):
            return reason
    return None
