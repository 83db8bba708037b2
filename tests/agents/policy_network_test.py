"""The policy network agrees with the original's, and refuses what it was not built for."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.policy_network import NO_ITERATION, PolicyNetwork
from simple_tf.training.policy_files import load_policy, save_policy


@pytest.mark.parametrize(
    ("suffix", "iteration"), [("epoch_inference", NO_ITERATION), ("epoch3", 3)]
)
def test_logits_and_values_equal_the_originals(recorded_policy, recording, suffix, iteration):
    logits, value = recorded_policy(tf.constant(recording["obs"]), iteration)
    for ours, name in ((logits, "logits"), (value, "value")):
        theirs = recording[f"{name}_{suffix}"]
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() / np.abs(theirs).max() < 1e-4


def test_iterations_are_per_example_and_late_ones_share_the_last_row(recorded_policy, recording):
    observations = tf.constant(recording["obs"][:1].repeat(4, axis=0))
    logits, _ = recorded_policy(observations, tf.constant([NO_ITERATION, 3, 30, 1000]))
    np.testing.assert_allclose(logits[0], recording["logits_epoch_inference"][0], rtol=1e-4)
    np.testing.assert_allclose(logits[1], recording["logits_epoch3"][0], rtol=1e-4)
    np.testing.assert_array_equal(logits[2], logits[3])
    assert not np.allclose(logits[1], logits[2])


def test_gradients_reach_every_variable(recorded_policy, recording):
    with tf.GradientTape() as tape:
        logits, value = recorded_policy(tf.constant(recording["obs"]), 2)
        loss = tf.reduce_sum(tf.nn.log_softmax(logits)[:, 0] + value)
    for gradient in tape.gradient(loss, recorded_policy.trainable_variables):
        assert gradient is not None
        assert np.any(tf.convert_to_tensor(gradient))


def test_weights_depend_on_the_seed_alone():
    shape = (2, 12, 10, 3)
    first, same, other = (PolicyNetwork(shape, 4, seed=seed) for seed in (0, 0, 1))
    for a, b, c in zip(
        first.trainable_variables,
        same.trainable_variables,
        other.trainable_variables,
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
        assert a.shape.rank == 1 or not np.allclose(a, c)
    kernel = first.hidden.kernel.numpy()
    np.testing.assert_allclose(
        kernel @ kernel.T if kernel.shape[0] < kernel.shape[1] else kernel.T @ kernel,
        1.5**2 * np.eye(min(kernel.shape)),
        atol=1e-4,
    )


def test_other_observations_are_refused(recorded_policy):
    with pytest.raises(ValueError, match=r"built for \(4, 105, 80, 3\)"):
        recorded_policy(tf.zeros([1, 4, 80, 105, 3], tf.uint8))
    with pytest.raises(ValueError, match="must be uint8"):
        recorded_policy(tf.zeros([1, 4, 105, 80, 3]))


def test_a_policy_can_be_shown_what_differs_from_the_usual_image(tmp_path):
    shape = (2, 12, 10, 1)
    frames = np.random.RandomState(0).randint(0, 256, (30, *shape[1:])).astype(np.uint8)
    network = PolicyNetwork(shape, 4, inputs="differences", output_gain=0.1)
    assert network.has_to_see_the_game
    network.adapt(frames)
    assert not network.has_to_see_the_game
    usual = np.broadcast_to(np.sort(frames, axis=0)[14], (1, *shape))
    logits, _ = network(tf.constant(usual))
    # Nothing differs, so that only the iteration's embedding reaches the hidden layer.
    hidden = network.hidden.kernel.numpy()
    embedding = tf.nn.relu(network.iterations[:1] @ hidden[-network.iterations.shape[1] :])
    np.testing.assert_allclose(logits, embedding @ network.logits_layer.kernel, atol=1e-6)
    # The image is saved with the weights, and belongs to them: a second one is ignored.
    other = PolicyNetwork(shape, 4, inputs="differences", seed=1)
    save_policy(tmp_path / "policy", network, 3, 700)
    assert load_policy(tmp_path / "policy", other) == {"iteration": 3, "interactions": 700}
    other.adapt(np.zeros_like(frames))
    for before, after in zip(network(frames[None, :2]), other(frames[None, :2]), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_small_gain_makes_all_actions_about_equally_likely_at_first():
    observations = np.random.RandomState(0).randint(0, 256, (8, 2, 12, 10, 1)).astype(np.uint8)
    spread = {}
    for gain in (0.1, 1.5):
        network = PolicyNetwork(observations.shape[1:], 4, output_gain=gain)
        spread[gain] = np.ptp(network(observations)[0].numpy())
    assert spread[0.1] == pytest.approx(spread[1.5] / 15, rel=1e-4)


def test_both_views_matter_and_others_are_refused():
    shape = (2, 12, 10, 1)
    frames = np.random.RandomState(0).randint(0, 256, (30, *shape[1:])).astype(np.uint8)
    network = PolicyNetwork(shape, 4, inputs="both")
    network.adapt(frames)
    assert network.convs[0].kernel.shape == (5, 5, 4, 16 * 2)
    observation = tf.constant(frames[None, :2])
    whole = network(observation)[0].numpy()
    for half in (slice(0, 2), slice(2, 4)):
        kernel = network.convs[0].kernel.numpy()
        changed = kernel.copy()
        changed[:, :, half] = 0.0
        network.convs[0].kernel.assign(changed)
        assert not np.allclose(network(observation)[0], whole)
        network.convs[0].kernel.assign(kernel)
    with pytest.raises(ValueError, match="one of pixels, differences, both, not 'frames'"):
        PolicyNetwork(shape, 4, inputs="frames")
