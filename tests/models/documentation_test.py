"""The example of a model of one's own in the documentation works."""

import pathlib
import re

import numpy as np
import tensorflow as tf

from simple_tf.models.trainer import WorldModelTrainer

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "world_models.md"


def test_the_documented_model_steps_and_learns():
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
    namespace: dict = {}
    exec(compile(code, str(DOCUMENT), "exec"), namespace)
    model = namespace["StillLife"]((8, 6, 3), 4)
    frames = np.random.RandomState(0).randint(0, 256, (2, 1, 8, 6, 3)).repeat(5, 1)
    frames = tf.constant(frames.astype(np.uint8))
    actions = tf.constant([[0, 1, 2, 3], [3, 2, 1, 0]])
    prediction = model.step((), frames[:, :4], actions[:, 3], (0, 0))
    assert model.decode(prediction.outputs).shape == (2, 8, 6, 3)
    trainer = WorldModelTrainer(model, tf.keras.optimizers.Adam(0.05))
    losses = [trainer.train_step(frames, actions, actions % 3) for _ in range(120)]
    assert float(losses[-1]["pixel_loss"]) < 0.1 * float(losses[0]["pixel_loss"])
    assert float(losses[-1]["reward_accuracy"]) == 1.0
