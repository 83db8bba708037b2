"""The videos that a run leaves, whatever gin says of the rollouts that it was trained in."""

import gin
import imageio.v3 as imageio
import numpy as np
import pytest

from simple_tf.agents.policy_network import PolicyNetwork
from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.starts import StartSampler
from simple_tf.data.store import EpisodeStore
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.patch import PatchModel
from simple_tf.training.run_videos import write_dream

SHAPE = (24, 24, 1)


@pytest.fixture
def starts(tmp_path):
    store = EpisodeStore.create_or_open(
        tmp_path / "episodes", StoreDescription("toy", SHAPE, ("A", "B"))
    )
    frames = np.random.default_rng(0).integers(0, 256, (200, *SHAPE)).astype(np.uint8)
    recorder = EpisodeRecorder(0, 0, 0, frames[0])
    for image in frames[1:]:
        recorder.add(0, 0.0, 0, image)
    store.append(recorder.finish(True, False))
    starts = StartSampler(SHAPE, 4)
    starts.load(store)
    return starts


def test_a_dream_is_filmed_whatever_the_parts_of_the_rollouts_of_training(tmp_path, starts):
    model = PatchModel(SHAPE, 2, SoftmaxHead(1), hidden_size=8, num_blocks=1)
    network = PolicyNetwork((4, *SHAPE), 2, filters=4)
    with gin.unlock_config():
        gin.bind_parameter("SimulatedEnvironment.parts", 8)  # For 64 rollouts; films have fewer.
        gin.bind_parameter("SimulatedEnvironment.rollout_length", 3)
    try:
        path = write_dream(tmp_path, model, starts, network, seed=0)
    finally:
        gin.clear_config()
    assert len(imageio.imread(path)) >= 3
