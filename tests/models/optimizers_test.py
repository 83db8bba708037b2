"""The world model's own Adam."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.optimizers import world_model_adam


@pytest.mark.parametrize("jit_compile", [False, True])
def test_weights_decay_beside_their_gradients(jit_compile):
    plain, decaying = (
        world_model_adam(0.1, weight_decay=weight_decay) for weight_decay in (0.0, 0.5)
    )
    weights = [tf.Variable([2.0, -4.0]) for _ in range(2)]

    @tf.function(jit_compile=jit_compile, autograph=False)
    def step():
        for optimizer, weight in zip((plain, decaying), weights, strict=True):
            optimizer.apply_gradients([(tf.constant([0.0, 1.0]), weight)])

    for optimizer, weight in zip((plain, decaying), weights, strict=True):
        optimizer.build([weight])
    step()
    np.testing.assert_allclose(weights[0], [2.0, -4.1], rtol=1e-5)
    np.testing.assert_allclose(weights[1], [2.0 * 0.95, -4.0 * 0.95 - 0.1], rtol=1e-5)
