"""The patch model told how long ago the last reward was: what it learns, keeps and counts."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.reward_ages import LONG_AGO
from simple_tf.models.heads import PaletteHead
from simple_tf.models.noise import StatelessNoise
from simple_tf.models.palette import Palette
from simple_tf.models.patch import PatchModel
from simple_tf.models.trainer import WorldModelTrainer

SHAPE = (8, 8, 1)
ROW, COLUMN = 1, 6
DELAY = 6  # Longer than what four frames show.
LIT = 250


def build(reward_ages, seed=0, **options):
    palette = Palette(4, channels=1)
    palette.update(np.array([0, LIT], np.uint8).reshape(1, 1, 2, 1))
    head = PaletteHead(palette)
    settings = {"hidden_size": 16, "num_blocks": 1, "reward_ages": reward_ages, **options}
    return PatchModel(SHAPE, 2, head, seed=seed, **settings)


def dark(count):
    return tf.zeros([count, 4, *SHAPE], tf.uint8), tf.zeros([count, 3], tf.int32)


def start(model, ages):
    """A state after frames that show nothing."""
    return model.initial_state(*dark(len(ages)), ages=tf.constant(ages, tf.int32))


def predict(model, ages):
    return model.step(start(model, ages), dark(len(ages))[0], tf.zeros(len(ages), tf.int32), (0, 1))


def always_pays(model, reward_class):
    """Makes the model sure of a class, whatever it sees."""
    model.network.reward.output_layer.bias.assign(100.0 * tf.one_hot(reward_class, 3))
    return model


def test_every_age_is_another_and_all_above_the_last_are_one():
    model = build(4)
    logits = predict(model, [0, 1, 2, 3, 4, 50, LONG_AGO + 1000]).reward_logits.numpy()
    assert len(np.unique(logits[:4].round(6), axis=0)) == 4
    for above in logits[4:]:
        np.testing.assert_allclose(above, logits[3], rtol=1e-6)
    (unknown,) = model.initial_state(*dark(2))
    assert (unknown.numpy() >= LONG_AGO).all()


def test_without_ages_there_is_nothing_to_tell_and_nothing_to_keep():
    model = build(0)
    assert start(model, [0, 5]) == ()
    assert model.step((), dark(2)[0], tf.zeros(2, tf.int32), (0, 1)).state == ()
    windows = delayed_windows(3)
    one, other = (
        model.window_losses(*windows[:3], 0, StatelessNoise((0, 1)), ages=ages).total
        for ages in (None, windows[3])
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("past_actions", [False, True])
def test_the_state_counts_until_a_reward(past_actions):
    model = build(4, past_actions=past_actions)
    for reward_class, expected in ((0, [0, 0, 0]), (1, [1, 6, 41]), (2, [0, 0, 0])):
        prediction = predict(always_pays(model, reward_class), [0, 5, 40])
        *_, ages = prediction.state
        assert ages.numpy().tolist() == expected
        assert len(prediction.state) == 1 + past_actions
        (*_, again) = model.step(prediction.state, dark(3)[0], tf.zeros(3, tf.int32), (0, 2)).state
        assert again.numpy().tolist() == [age + 1 if reward_class == 1 else 0 for age in expected]


def test_rewards_are_drawn_as_likely_as_the_model_holds_them():
    model = build(4, reward_units=8)
    layer = model.network.reward.output_layer
    layer.kernel.assign(tf.zeros_like(layer.kernel))
    layer.bias.assign(tf.math.log([0.1, 0.7, 0.2]))
    state, frames = start(model, [9] * 4000), dark(4000)[0]
    actions = tf.zeros(4000, tf.int32)
    one, same, other = (model.step(state, frames, actions, (0, s)).state[-1] for s in (1, 1, 2))
    assert set(one.numpy()) == {0, 10}
    assert abs((one.numpy() == 10).mean() - 0.7) < 0.03  # Four deviations.
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def delayed_windows(count, length=6, seed=0):
    """Action 1 earns 1; exactly so many steps later one pixel is lit in one frame.

    Returns:
        Frames, actions, reward classes, and the ages at the first frames.
    """
    rng = np.random.RandomState(seed)
    history = 12  # Steps before the window, so that it begins anywhere.
    actions = (rng.rand(count, history + length - 1) < 0.1).astype(np.int32)
    ages = np.full((count, history + length), LONG_AGO)
    for t in range(1, history + length):
        ages[:, t] = np.where(actions[:, t - 1] == 1, 0, ages[:, t - 1] + 1)
    frames = np.zeros((count, history + length, *SHAPE), np.uint8)
    frames[:, :, ROW, COLUMN, 0] = LIT * (ages == DELAY)
    window = frames[:, history:], actions[:, history:], actions[:, history:] + 1
    return (*map(tf.constant, window), tf.constant(ages[:, history], tf.int32))


@pytest.fixture(scope="module")
def trained():
    models = {}
    for reward_ages in (0, 10):
        model = build(reward_ages, pixel_weight=20.0)
        trainer = WorldModelTrainer(model, tf.keras.optimizers.Adam(0.01), jit_compile=True)
        for step in range(200):
            frames, actions, classes, ages = delayed_windows(64, length=5, seed=step)
            trainer.train_step(frames, actions, classes, ages)
        models[reward_ages] = model
    return models


def lit(frames):
    return frames.numpy()[:, ROW, COLUMN, 0] == LIT


def test_what_comes_after_a_longer_time_than_frames_show_is_learned(trained):
    """The light is in the next frame if the age at the newest is one less than the delay."""
    dreamed = {
        reward_ages: lit(model.decode(predict(model, range(DELAY + 4)).outputs))
        for reward_ages, model in trained.items()
    }
    assert np.flatnonzero(dreamed[10]).tolist() == [DELAY - 1]
    assert not dreamed[0].any()


@pytest.mark.parametrize("jit_compile", [False, True])
def test_in_a_rollout_the_model_counts_from_its_own_rewards(trained, jit_compile):
    model = trained[10]
    step = tf.function(model.step, jit_compile=jit_compile, autograph=False)
    frames, _ = dark(2)
    state = start(model, [LONG_AGO, 2])
    lights = []
    for t in range(12):
        press = tf.constant([t == 1, False], tf.int32)
        prediction = step(state, frames, press, tf.constant([4, t]))
        state, newest = prediction.state, model.decode(prediction.outputs)
        frames = tf.concat([frames[:, 1:], newest[:, None]], axis=1)
        lights.append(lit(newest))
    # The press of step 1 pays with the frame after it; the other's reward was 2 steps ago.
    found = [np.flatnonzero(column).tolist() for column in np.transpose(lights)]
    assert found == [[1 + DELAY], [DELAY - 3]]


def test_gradients_reach_what_the_age_goes_through():
    model = build(10)
    frames, actions, classes, ages = delayed_windows(16, seed=4)
    with tf.GradientTape() as tape:
        losses = model.window_losses(frames, actions, classes, 0, StatelessNoise((0, 1)), ages=ages)
        total = tf.reduce_mean(losses.total)
    kernels = [v for v in model.network.blocks[0].action.trainable_variables if 12 in v.shape]
    assert kernels  # Two actions and ten ages.
    for gradient in tape.gradient(total, kernels):
        assert np.any(tf.convert_to_tensor(gradient).numpy()[2:])
