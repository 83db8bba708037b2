"""Simulated steps and evaluation agree with recordings of the original."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.noise import FixedNoise

TAGS = ["det_h16", "sd_h16", "rec_h16", pytest.param("sd_full", marks=pytest.mark.slow)]
TOLERANCE = 1e-4


def relative_error(ours, theirs):
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    assert ours.shape == theirs.shape
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


def run_two_steps(recorded):
    """Runs both recorded steps as a simulated environment would; yields their predictions."""
    model, data = recorded.model, recorded.data
    step = tf.function(model.step)
    frames = tf.constant(data["predict/history"])
    actions = tf.constant(data["predict/step0/action"])
    state = model.initial_state(frames, actions[:, :-1])
    for name in ("step0", "step1"):
        action = tf.constant(data[f"predict/{name}/action"])[:, -1]
        prediction = step(state, frames, action, tf.constant([0, 0]))
        yield name, prediction
        state = prediction.state
        newest = tf.constant(data[f"predict/{name}/frame"])[:, None]
        frames = tf.concat([frames[:, 1:], newest], axis=1)


@pytest.mark.parametrize("tag", TAGS)
def test_simulated_steps_with_carried_state_equal_the_originals(golden, tag):
    recorded = golden(tag)
    recorded.reset_weights()
    for name, prediction in run_two_steps(recorded):
        expected = {
            key.removeprefix(f"predict/{name}/"): recorded.data[key]
            for key in recorded.data.files
            if key.startswith(f"predict/{name}/")
        }
        logits = recorded.model.head.logits(prediction.outputs)
        errors = {
            "logits": relative_error(logits[:, ::16, ::16], expected["logits_stride16"]),
            "logsumexp": relative_error(
                tf.reduce_logsumexp(logits, -1)[:, ::4, ::4], expected["logsumexp_stride4"]
            ),
            "reward": relative_error(prediction.reward_logits, expected["reward_logits"]),
        }
        assert max(errors.values()) < TOLERANCE, (name, errors)
        # A pixel may tie to the last digit; more than that is a difference.
        same = recorded.model.decode(prediction.outputs).numpy() == expected["frame"]
        assert same.mean() > 0.9999


@pytest.mark.parametrize("tag", ["sd_h16", "rec_h16"])
def test_latent_path_equals_the_originals(golden, tag):
    """The untrained frame logits hardly feel the latent, so it is compared on its own."""
    recorded = golden(tag)
    recorded.reset_weights()
    model, data = recorded.model, recorded.data
    for name in ("step0", "step1"):
        bottom = tf.constant(data[f"predict/{name}/inject_latent/in"])
        flat = tf.reshape(bottom, [2, -1])
        bits = model.latent.predictor.sample(flat, FixedNoise(0.5), temperature=0.0)
        np.testing.assert_array_equal(bits, data[f"predict/{name}/bits"])
        injected = model.latent.infer(bottom, FixedNoise(0.5))
        assert relative_error(injected, data[f"predict/{name}/inject_latent/out"]) < TOLERANCE


@pytest.mark.parametrize("tag", ["det_h16", "sd_h16"])
def test_middle_network_equals_the_originals(golden, tag):
    recorded = golden(tag)
    recorded.reset_weights()
    for name in ("step0", "step1"):
        bottom = tf.constant(recorded.data[f"predict/{name}/inject_latent/out"])
        middle = recorded.model.middle(bottom, None)
        assert relative_error(middle, recorded.data[f"predict/{name}/middle_network/out"]) < 1e-4


def test_carried_memory_is_the_originals_saved_state(golden):
    """The original saves the memory after the oldest frame and re-runs the three newer ones."""
    recorded = golden("sd_h16")
    recorded.reset_weights()
    model, data = recorded.model, recorded.data
    state = model.memory.zeros(2)
    frames = tf.constant(data["predict/history"])
    for t, name in enumerate(("step0", "step1")):
        state = model.memory.update(state, model.stacked(frames[:, t : t + 1]))
        saved = data[f"predict/{name}/state_after_stride8"]
        assert relative_error(state[:, ::8, ::8, ::4], saved) < TOLERANCE
    for t in (2,):
        state = model.memory.update(state, model.stacked(frames[:, t : t + 1]))
    warmed = model.initial_state(frames, tf.zeros([2, 3], tf.int32))
    np.testing.assert_allclose(state, warmed, atol=1e-6)


@pytest.mark.parametrize("tag", TAGS[:3])
def test_evaluation_losses_equal_the_originals(golden, tag):
    recorded = golden(tag)
    recorded.reset_weights()
    evaluate = tf.function(recorded.model.window_losses)
    losses = evaluate(*recorded.window(), tf.constant(0), FixedNoise(0.5), training=False)
    loss = float(tf.reduce_mean(losses.total))
    assert loss == pytest.approx(float(recorded.data["eval/loss/training"]), rel=1e-5)
    expected = recorded.data["eval/reward_logits"][:, :, 0]
    assert relative_error(losses.reward_logits, expected) < TOLERANCE
