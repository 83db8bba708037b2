import pytest
import tensorflow as tf

from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.trainer import WorldModelTrainer
from simple_tf.training.world_model_phase import WorldModelPhase


def test_windows_that_parts_cannot_share_are_refused_before_anything_is_played():
    model = DeterministicModel(
        (12, 10, 3),
        4,
        SoftmaxHead(3),
        hidden_size=8,
        compress_steps=1,
        middle_layers=1,
    )
    trainer = WorldModelTrainer(model, tf.keras.optimizers.Adam(), parts=2)
    settings = {"store": None, "schedule": None, "num_target_frames": 1}
    WorldModelPhase(trainer, batch_size=4, **settings)
    with pytest.raises(ValueError, match=r"WorldModelTrainer\.parts is 2, but a batch of 3"):
        WorldModelPhase(trainer, batch_size=3, **settings)
