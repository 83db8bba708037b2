"""From `--strategy=NAME` to the `tf.distribute` strategy that a run computes with."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from absl import logging

from simple_tf._startup import compile_once

STRATEGIES = ("auto", "cpu", "gpu", "multi_gpu", "tpu", "multi_worker")

_TPU_NAME = "TPU_NAME"
_TF_CONFIG = "TF_CONFIG"
_JOBS = ("chief", "worker")
_EXAMPLE = (
    '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": "worker", "index": 0}}'
)


class DeviceError(ValueError):
    """The devices that were asked for are not there; the message says what is, or what to set."""


@dataclasses.dataclass(frozen=True)
class Devices:
    """What a run computes with. It decides how fast a run is, and nothing else.

    Attributes:
        name: one of `STRATEGIES`, never "auto".
        strategy: splits the work.
    """

    name: str = "cpu"
    strategy: tf.distribute.Strategy = dataclasses.field(default_factory=tf.distribute.get_strategy)

    def describe(self) -> dict[str, Any]:
        """What the run's record says about this start."""
        kinds = {device.device_type for device in tf.config.list_logical_devices()}
        return {
            "strategy": self.name,
            "replicas": self.strategy.num_replicas_in_sync,
            "kinds": sorted(kinds - {"TPU_SYSTEM"}),
        }


def choose_devices(
    name: str = "auto", replicas: int = 0, possible: Sequence[str] = STRATEGIES
) -> Devices:
    """Finds and prepares devices; to be called before TensorFlow computes anything.

    Args:
        name: `cpu` and `gpu` compute on one device, `multi_gpu` on all GPUs of this machine, `tpu`
            on the TPU named by the environment's TPU_NAME (or on this machine's own),
            `multi_worker` on all machines in TF_CONFIG; `auto` takes the first of multi_worker,
            tpu, multi_gpu, gpu and cpu that there is.
        replicas: use so many devices; 0: all there are. With `cpu` these are logical devices, with
            which a split can be tried out on any machine.
        possible: what the work at hand can be done with; `auto` chooses among them.

    Raises:
        DeviceError: there are no such devices, or not enough, or they are not possible.
    """
    if name not in STRATEGIES:
        raise DeviceError(f"--strategy={name} is none of {', '.join(STRATEGIES)}.")
    if name == "auto":
        name = next(each for each in _all_there_are() if each in possible)
    if name not in possible:
        raise DeviceError(
            f"--strategy={name} is not possible with this learner: it computes with "
            f"{' or '.join(possible)}."
        )
    tf.get_logger().setLevel("WARNING")  # It reports every sum over replicas that it traces.
    devices = Devices(name, _MAKERS[name](replicas))
    if name == "cpu":
        compile_once()
    if name != "cpu" or replicas > 1:
        logging.info("Computing with %s.", devices.describe())
    return devices


def _all_there_are() -> Iterator[str]:
    """The most there is first."""
    if len(_worker_addresses(os.environ.get(_TF_CONFIG, ""))) > 1:
        yield "multi_worker"
    if os.environ.get(_TPU_NAME) or tf.config.list_physical_devices("TPU"):
        yield "tpu"
    gpus = len(tf.config.list_physical_devices("GPU"))
    yield from ("multi_gpu", "gpu", "cpu")[2 - min(gpus, 2) :]


def _cpu(replicas: int) -> tf.distribute.Strategy:
    tf.config.set_visible_devices([], "GPU")
    if replicas < 2:
        return tf.distribute.get_strategy()
    processor = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        processor, [tf.config.LogicalDeviceConfiguration()] * replicas
    )
    return tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(replicas)])


def _gpu(replicas: int) -> tf.distribute.Strategy:
    del replicas
    _prepare_gpus(1, "gpu")
    return tf.distribute.get_strategy()


def _multi_gpu(replicas: int) -> tf.distribute.Strategy:
    count = _prepare_gpus(replicas or None, "multi_gpu", at_least=2)
    return tf.distribute.MirroredStrategy([f"GPU:{number}" for number in range(count)])


def _prepare_gpus(count: int | None, name: str, at_least: int = 1) -> int:
    """Shows TensorFlow the first GPUs, and lets their memory grow as needed; returns how many."""
    there = tf.config.list_physical_devices("GPU")
    wanted = max(count or 0, at_least)
    if len(there) < wanted:
        raise DeviceError(
            f"--strategy={name} needs {wanted} GPU{'s' * (wanted > 1)}, but TensorFlow finds "
            f"{len(there) or 'none'}. Is the driver installed (nvidia-smi), and TensorFlow with "
            "CUDA (pip install '.[gpu]' in the checkout)? --strategy=cpu does without."
        )
    chosen = there[:count]
    tf.config.set_visible_devices(chosen, "GPU")
    for gpu in chosen:
        tf.config.experimental.set_memory_growth(gpu, True)
    return len(chosen)


def _tpu(replicas: int) -> tf.distribute.Strategy:
    del replicas
    name = os.environ.get(_TPU_NAME, "local")
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
        if name != "local":
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, RuntimeError, OSError, tf.errors.OpError) as error:
        raise DeviceError(
            f"--strategy=tpu found no TPU called {name!r}: {_first_line(error)} Run this on the "
            f"TPU VM itself, with TensorFlow's TPU build, or set {_TPU_NAME}."
        ) from error


def _multi_worker(replicas: int) -> tf.distribute.Strategy:
    del replicas
    addresses = check_tf_config(os.environ.get(_TF_CONFIG, ""))
    if gpus := len(tf.config.list_physical_devices("GPU")):
        _prepare_gpus(gpus, "multi_worker")
    logging.info("Waiting for the %d workers %s.", len(addresses), ", ".join(addresses))
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise DeviceError(
            f"--strategy=multi_worker could not join {', '.join(addresses)}: {_first_line(error)}"
        ) from error


def check_tf_config(text: str) -> list[str]:
    """Returns the addresses of all workers.

    Args:
        text: the environment's TF_CONFIG.

    Raises:
        DeviceError: it is missing, is not JSON, or does not say who is who.
    """
    if not text:
        raise DeviceError(
            f"--strategy=multi_worker needs {_TF_CONFIG} in the environment of every worker, e.g. "
            f"{_EXAMPLE}, with its own index in each."
        )
    addresses = _worker_addresses(text)
    problem = None if addresses else "it names no worker"
    try:
        task = json.loads(text)["task"]
        known = json.loads(text)["cluster"][task["type"]]
        if not 0 <= int(task["index"]) < len(known) or task["type"] not in _JOBS:
            problem = f"task {task['type']} {task['index']} is not one of its workers"
    except (ValueError, KeyError, TypeError) as error:
        problem = f"it cannot be read ({type(error).__name__}: {error})"
    if problem:
        raise DeviceError(f"{_TF_CONFIG} is wrong: {problem}. It should look like {_EXAMPLE}.")
    return addresses


def _worker_addresses(text: str) -> list[str]:
    """All addresses in a TF_CONFIG; none if there are none, or if it is no such thing."""
    try:
        cluster = json.loads(text)["cluster"]
        return [address for job in _JOBS for address in cluster.get(job, [])]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def _first_line(error: Exception) -> str:
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line if line.endswith(".") else f"{line}."


_MAKERS: dict[str, Callable[[int], tf.distribute.Strategy]] = {
    "cpu": _cpu,
    "gpu": _gpu,
    "multi_gpu": _multi_gpu,
    "tpu": _tpu,
    "multi_worker": _multi_worker,
}
