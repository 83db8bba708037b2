"""simple_tf: world-model reinforcement learning (SimPLe) on TensorFlow and TF-Agents."""

from simple_tf._startup import prepare_process

__version__ = "0.1.0"

prepare_process()
