r"""Ours against plain PyTorch: one dreamed step and one training step of the same network.

    python benchmarks/torch_reference.py [--torch_python=venv_torch/bin/python] [--hidden_size=96]

The stochastic-discrete network of `gin/sd.gin`: a dreamed step of 16 games, bit prediction
included, and a training step on 4 windows of 4 + 6 frames. `torch_network.py` has the same in plain
PyTorch. Both take turns, call by call, so that other load on the machine hits both alike; the
ratio is the median over the rounds, and ours come first: above 1 we are faster.

PyTorch is no dependency of simple_tf, and its newer typing-extensions do not go together with
TF-Agents. Put it into an environment of its own and name its interpreter:

    python -m venv venv_torch && venv_torch/bin/pip install torch==2.13.0 numpy
    python benchmarks/torch_reference.py --torch_python=venv_torch/bin/python
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from absl import app, flags
from world_model import Sizes, seconds_of, simulated_step, training_step  # Beside this file.

from simple_tf.models.adafactor import Adafactor
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel
from simple_tf.models.trainer import WorldModelTrainer

_TORCH_PYTHON = flags.DEFINE_string("torch_python", sys.executable, "An interpreter with PyTorch.")
_HIDDEN_SIZE = flags.DEFINE_integer("hidden_size", 96, "Channels at full resolution.")
_STEP_BATCH = flags.DEFINE_integer("step_batch", 16, "Games of a dreamed step.")
_TRAIN_BATCH = flags.DEFINE_integer("train_batch", 4, "Windows of a training step.")
_ROUNDS = flags.DEFINE_integer("rounds", 5, "Turns of each.")
_CHANNELS_LAST = flags.DEFINE_bool("channels_last", False, "PyTorch's other memory layout.")

_FRAME_SHAPE = (105, 80, 3)
_NUM_ACTIONS = 6
_HOW_TO_INSTALL = (
    "PyTorch is not installed in {python}. It is no dependency of simple_tf; to compare with it:\n"
    "  python -m venv venv_torch && venv_torch/bin/pip install torch==2.13.0 numpy\n"
    "  python benchmarks/torch_reference.py --torch_python=venv_torch/bin/python"
)


class TorchProcess:
    """The other side, which waits for its turns."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("torch_network.py")
        sizes = {
            "hidden_size": _HIDDEN_SIZE.value,
            "step_batch": _STEP_BATCH.value,
            "train_batch": _TRAIN_BATCH.value,
        }
        command = [_TORCH_PYTHON.value, str(script)]
        command += [f"--{name}={value}" for name, value in sizes.items()]
        command += ["--channels_last"] * _CHANNELS_LAST.value
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.description = self._read()

    def seconds(self, name: str) -> float:
        """Lets it make one call; returns how long that took."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        return float(self._read())

    def close(self) -> None:
        """Ends it."""
        self._process.communicate()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("The process with PyTorch has died; what it said stands above.")
        return line.strip()


def our_call(name: str) -> Callable[[], tf.Tensor]:
    """Returns our dreamed step or training step."""
    sizes = Sizes(_FRAME_SHAPE, _STEP_BATCH.value, _TRAIN_BATCH.value, num_targets=6)
    model = StochasticDiscreteModel(
        _FRAME_SHAPE, _NUM_ACTIONS, SoftmaxHead(3), hidden_size=_HIDDEN_SIZE.value
    )
    if name == "step":
        return simulated_step(model, sizes, xla=False)[0]
    return training_step(WorldModelTrainer(model, Adafactor(1e-3)), sizes)[0]


def compare(name: str, torch: TorchProcess) -> str:
    """Measures both in turns; returns one line."""
    ours = our_call(name)
    seconds_of(ours), torch.seconds(name)  # Compiles; finds its algorithms.
    times = np.array([(seconds_of(ours), torch.seconds(name)) for _ in range(_ROUNDS.value)])
    mine, theirs = np.median(times, axis=0)
    ratio = np.median(times[:, 1] / times[:, 0])
    what = {"step": "dreamed step", "train": "training step"}[name]
    return (
        f"{what:14} ours {mine:7.3f} s  PyTorch {theirs:7.3f} s  {ratio:.2f} x as fast as PyTorch"
    )


def has_torch() -> bool:
    """Whether the chosen interpreter has PyTorch."""
    command = [_TORCH_PYTHON.value, "-c", "import torch"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def main(_: Sequence[str]) -> None:
    if not has_torch():
        print(_HOW_TO_INSTALL.format(python=_TORCH_PYTHON.value))
        return
    torch = TorchProcess()
    print(f"TensorFlow {tf.__version__}; {torch.description}; hidden size {_HIDDEN_SIZE.value}")
    for name in ("step", "train"):
        print(compare(name, torch), flush=True)
    torch.close()


if __name__ == "__main__":
    app.run(main)
