"""Everything that an accelerator is to do compiles with XLA, so its shapes are static."""

import math

import gin
import pytest
import split_work


@pytest.mark.parametrize("kind", ["patch", pytest.param("stochastic", marks=pytest.mark.slow)])
def test_world_model_training_rollouts_and_ppo_compile(kind, tmp_path):
    with gin.unlock_config():
        gin.bind_parameter("PPOLearner.minibatch_steps", 3)
    try:
        work = split_work.Work(kind, split_work.make_store(tmp_path / "store"), jit_compile=True)
        step, update = work.do(1, 1)
    finally:
        gin.clear_config()
    assert math.isfinite(step["loss"])
    assert step["gradient_norm"] > 0
    assert math.isfinite(update["loss"])
    assert update["gradient_norm"] > 0
    assert update["entropy"] > 0
