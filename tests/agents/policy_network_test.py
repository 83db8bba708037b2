"""The policy network agrees with the original's, and refuses what it was not built for."""

import pathlib
import zlib

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.policy_network import NO_ITERATION, PolicyNetwork

GOLDEN = pathlib.Path(__file__).parent / "golden" / "policy.npz"
SCOPE = "feed_forward_cnn_small_categorical_policy/body/feed_forward_cnn_small"
ORIGINAL_NAMES = {
    "conv_0": "conv2d",
    "conv_1": "conv2d_1",
    "hidden": "dense",
    "logits": "dense2",
    "value": "dense_1",
}


def weight_by_rule(name, shape):
    """Returns the recorded value of a variable from its name in the original."""
    rng = np.random.RandomState(zlib.crc32(name.encode("utf-8")) & 0xFFFFFFFF)
    value = rng.randn(*shape)
    scale = 1 / np.sqrt(np.prod(shape[:-1])) if len(shape) > 1 else 0.05
    return (scale * value).astype(np.float32)


@pytest.fixture(scope="module")
def recording():
    return np.load(GOLDEN)


@pytest.fixture(scope="module")
def recorded_policy():
    policy = PolicyNetwork((4, 105, 80, 3), 6)
    for variable in policy.trainable_variables:
        layer, kind = variable.name.removesuffix(":0").split("/")
        name = f"{ORIGINAL_NAMES[layer]}/{kind}" if kind != "table" else "embedding/kernel"
        variable.assign(weight_by_rule(f"{SCOPE}/{name}", tuple(variable.shape)))
    return policy


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
