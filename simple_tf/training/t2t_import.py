"""Turns a checkpoint of the original into a network of ours, with nothing left unexplained."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import tensorflow as tf

from simple_tf.agents.policy_network import PolicyNetwork
from simple_tf.models.bits import BitOptions
from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.interface import WorldModel
from simple_tf.models.recurrent import RecurrentModel
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel
from simple_tf.models.t2t_names import t2t_name
from simple_tf.training.t2t_checkpoint import (
    POLICY,
    POLICY_SCOPE,
    UNREADABLE,
    Shapes,
    T2tCheckpoint,
    kind_of,
    unused_reason,
)
from simple_tf.training.t2t_sizes import infer_arguments

Network = WorldModel | PolicyNetwork

DESCRIPTION = "imported.json"
WEIGHTS = "weights"

_POLICY_NAMES = {
    "conv_0": "conv2d",
    "conv_1": "conv2d_1",
    "iterations": "embedding",
    "hidden": "dense",
    "logits": "dense2",
    "value": "dense_1",
}
# Cross-entropy below which the original counts a pixel as good enough.
_CLIP = {"deterministic": 0.01, "stochastic_discrete": 0.03, "recurrent": 0.03}
# Networks that look at the target frame: training graphs have them, prediction graphs do not.
_TRAINING_ONLY = ("latent/posterior/", "latent/bits/")


@dataclasses.dataclass(frozen=True)
class Imported:
    """What was imported, as written to `imported.json`.

    Attributes:
        kind: deterministic, stochastic_discrete, recurrent or policy.
        arguments: of the constructor of our network.
        source: prefix of the original checkpoint.
        global_step: the original's training step, None if not recorded.
        mapped: names of the original's variables that were taken over.
        unused: names of the others, and why they are not needed.
        absent: names of training-only variables that the checkpoint lacks; ours are untrained.
    """

    kind: str
    arguments: dict[str, Any]
    source: str
    global_step: int | None
    mapped: list[str]
    unused: dict[str, str]
    absent: list[str]

    def build(self) -> Network:
        """Constructs the network with initial weights."""
        return build_network(self.kind, self.arguments)


def import_checkpoint(
    checkpoint: str, output_dir: Path, frame_size: tuple[int, int] | None = None
) -> Imported:
    """Imports a checkpoint of the original into a directory that `load_imported` reads.

    Args:
        checkpoint: directory, prefix or file of a TensorFlow 1 checkpoint.
        output_dir: where to write; new, empty, or an earlier import of the same checkpoint.
        frame_size: (height, width) the network was made for; None: 105x80 unless the checkpoint
            says otherwise.

    Raises:
        ValueError: if there is no such checkpoint, if it is of something else, if a variable is
            missing, unknown or misshapen, or if the directory holds something else.
    """
    source = T2tCheckpoint(checkpoint)
    check_output_dir(output_dir, source.prefix)
    kind = kind_of(source.shapes)
    arguments = infer_arguments(source.shapes, kind, frame_size)
    network = build_network(kind, arguments)
    counterparts = variables_by_t2t_name(network, kind)
    absent = _absent(counterparts, source.shapes)
    counterparts = {name: v for name, v in counterparts.items() if name not in absent}
    unused = account(counterparts, source.shapes, kind)
    for name, variable in counterparts.items():
        variable.assign(tf.cast(source.read(name), variable.dtype))
    imported = Imported(
        kind=kind,
        arguments=arguments,
        source=str(Path(source.prefix).resolve()),
        global_step=source.global_step,
        mapped=sorted(counterparts),
        unused=unused,
        absent=absent,
    )
    _write(imported, network, output_dir)
    return imported


def load_imported(directory: str | Path) -> Network:
    """Returns the network that `import_checkpoint` wrote, a world model or a policy.

    Raises:
        ValueError: if the directory holds no import, or a damaged one.
    """
    description = read_description(directory)
    weights = str(Path(directory) / WEIGHTS)
    try:
        network = description.build()
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"The {DESCRIPTION} in {str(directory)!r} does not describe a network; import again."
        ) from error
    try:
        status = tf.train.Checkpoint(model=network).read(weights)
        status.assert_existing_objects_matched()
    except UNREADABLE as error:
        raise ValueError(
            f"The imported weights {weights!r} cannot be read; import again."
        ) from error
    except (AssertionError, ValueError) as error:
        raise ValueError(
            f"The imported weights {weights!r} are of another network than the {DESCRIPTION} "
            "beside them says; import again."
        ) from error
    return network


def read_description(directory: str | Path) -> Imported:
    """Returns what was imported into a directory."""
    try:
        content = json.loads((Path(directory) / DESCRIPTION).read_text())
        return Imported(**content)
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(
            f"{str(directory)!r} holds no imported network: its {DESCRIPTION} cannot be read."
        ) from error


def build_network(kind: str, arguments: dict[str, Any]) -> Network:
    """Constructs a network of ours as the original's configurations have it."""
    options = dict(arguments)
    if kind == POLICY:
        shape = tuple(options.pop("observation_shape"))
        return PolicyNetwork(shape, **options)
    shape = tuple(options.pop("frame_shape"))
    head = SoftmaxHead(shape[2], _CLIP[kind])
    options["separate_target_actions"] = True
    if "bits" in options:
        bits = dict(options["bits"])
        filters = tuple(bits.pop("posterior_filters"))
        options["bits"] = BitOptions(posterior_filters=filters, **bits)
    if kind == "deterministic":
        return DeterministicModel(shape, head=head, **options)
    if kind == "recurrent":
        return RecurrentModel(shape, head=head, **options)
    return StochasticDiscreteModel(shape, head=head, inputs="carried", **options)


def variables_by_t2t_name(network: Network, kind: str) -> dict[str, tf.Variable]:
    """Returns the network's variables by the names the original gave them."""
    names = {}
    for variable in network.trainable_variables:
        path = variable.name.removesuffix(":0")
        if isinstance(network, PolicyNetwork):
            layer, part = path.split("/")
            part = part.replace("table", "kernel")
            name = f"{POLICY_SCOPE}/body/feed_forward_cnn_small/{_POLICY_NAMES[layer]}/{part}"
        else:
            sizes = (network.num_actions, network.num_reward_classes, network.size.hidden_size)
            name = t2t_name(path, kind, *sizes)
        names[name] = variable
    return names


def account(counterparts: dict[str, tf.Variable], shapes: Shapes, kind: str) -> dict[str, str]:
    """Returns the variables that are known but not needed, and why.

    Raises:
        ValueError: naming every variable that is missing, unknown or misshapen.
    """
    problems = []
    for name, variable in counterparts.items():
        expected = tuple(variable.shape)
        if name not in shapes:
            problems.append(f"missing: {name} {list(expected)}")
        elif shapes[name] != expected:
            problems.append(f"misshapen: {name} {list(shapes[name])}, expected {list(expected)}")
    reasons = {
        name: unused_reason(name, kind, shapes) for name in shapes if name not in counterparts
    }
    problems += [
        f"unknown: {name} {list(shapes[name])}" for name, reason in reasons.items() if not reason
    ]
    if problems:
        raise ValueError(
            f"The checkpoint is not a whole {kind} network of the original; what does not fit "
            f"({len(problems)}):\n  " + "\n  ".join(problems)
        )
    return {name: reason for name, reason in reasons.items() if reason}


def _absent(counterparts: dict[str, tf.Variable], shapes: Shapes) -> list[str]:
    """Returns the training-only names if the checkpoint has none of them at all."""
    names = [
        name for name, variable in counterparts.items() if variable.name.startswith(_TRAINING_ONLY)
    ]
    return sorted(names) if not any(name in shapes for name in names) else []


def check_output_dir(directory: Path, source: str) -> None:
    """Raises ValueError if importing into `directory` could destroy something."""
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"{str(directory)!r} is a file; give a directory to write to.")
    if not directory.exists() or not any(directory.iterdir()):
        return
    known = (DESCRIPTION, f"{WEIGHTS}.index", f"{WEIGHTS}.data-00000-of-00001")
    foreign = sorted(file.name for file in directory.iterdir() if file.name not in known)
    if foreign or not _is_import_of(directory, source):
        raise ValueError(
            f"{str(directory)!r} holds something else ({', '.join(foreign) or 'another import'}); "
            "give a new or empty directory."
        )


def _is_import_of(directory: Path, source: str) -> bool:
    try:
        return read_description(directory).source == str(Path(source).resolve())
    except ValueError:
        return False


def _write(imported: Imported, network: Network, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    tf.train.Checkpoint(model=network).write(str(directory / WEIGHTS))
    # Last, so that a directory with a description is complete.
    text = json.dumps(dataclasses.asdict(imported), indent=1)
    (directory / DESCRIPTION).write_text(f"{text}\n")
