"""The patch model with codes: whole frames come out one way or the other, as often as in truth."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.heads import PaletteHead
from simple_tf.models.noise import StatelessNoise
from simple_tf.models.palette import Palette
from simple_tf.models.patch import PatchModel
from simple_tf.models.trainer import WorldModelTrainer

SHAPE = (8, 8, 1)
PLACES = ((1, 1), (6, 6))  # In different patches.


def build(codes, **options):
    palette = Palette(4, channels=1)
    palette.update(np.array([0, 250], np.uint8).reshape(1, 1, 2, 1))
    return PatchModel(
        SHAPE, 2, PaletteHead(palette), hidden_size=16, num_blocks=1, codes=codes, **options
    )


def coin_windows(count, length=6, likely=0.5, seed=0):
    """Empty frames, then in each frame a dot in one of two places; the second is rewarded."""
    rng = np.random.RandomState(seed)
    frames = np.zeros((count, length, *SHAPE), np.uint8)
    classes = np.ones((count, length - 1), np.int32)
    for t in range(4, length):
        second = rng.rand(count) >= likely
        for row, column, rows in ((*PLACES[0], ~second), (*PLACES[1], second)):
            frames[rows, t, row, column] = 250
        classes[second, t - 1] = 2
    actions = rng.randint(0, 2, (count, length - 1)).astype(np.int32)
    return tuple(map(tf.constant, (frames, actions, classes)))


@pytest.fixture(scope="module")
def trained():
    models = {}
    for codes in (0, 3):
        model = build(codes, pixel_weight=20.0)
        trainer = WorldModelTrainer(model, tf.keras.optimizers.Adam(0.01), jit_compile=True)
        for step in range(150):
            losses = trainer.train_step(*coin_windows(16, likely=0.75, seed=step))
        models[codes] = model, losses
    return models


def shown(model, count=400):
    """What is shown at the two places, bool [N, 2], and whether a reward is the likeliest, [N]."""
    frames, actions, _ = coin_windows(count)
    prediction = model.step((), frames[:, :4], actions[:, 3], (0, 5))
    decoded = model.decode(prediction.outputs).numpy()[..., 0]
    rewarded = prediction.reward_logits.numpy().argmax(axis=1) == 2
    return np.stack([decoded[:, row, column] == 250 for row, column in PLACES], axis=1), rewarded


def test_every_frame_is_one_of_the_ways_and_has_its_reward(trained):
    dots, rewarded = shown(trained[3][0])
    assert (dots.sum(axis=1) == 1).mean() > 0.97
    assert 0.6 < dots[:, 0].mean() < 0.9  # 0.75 in truth; the last batches weigh most.
    assert (rewarded == dots[:, 1]).mean() > 0.97


def test_without_codes_all_frames_are_the_likeliest(trained):
    dots, rewarded = shown(trained[0][0])
    assert dots.all(axis=0).tolist() == [True, False]
    assert not dots[:, 1].any()
    assert not rewarded.any()


def test_a_seed_decides_the_codes(trained):
    model, _ = trained[3]
    frames, actions, _ = coin_windows(64)
    same, again, other = (
        model.decode(model.step((), frames[:, :4], actions[:, 3], (0, seed)).outputs)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(same, again)
    assert not np.array_equal(same, other)


def test_the_best_code_is_the_one_with_the_smallest_loss(trained):
    model, _ = trained[3]
    frames, actions, classes = coin_windows(20, seed=9)
    history, target, reward = frames[:, :4], frames[:, 4], classes[:, 3]
    trunk = model._trunk(history, actions[:, 3:4])
    losses = []
    for code in range(3):
        features = model.network.features(trunk, tf.fill([20], code))
        pixel = model.outputs_layer.loss(model.outputs_layer(features, history), target)
        logits = model.network.reward_logits(features)
        losses.append(
            model.pixel_weight * pixel + model.reward_loss(logits[:, None], reward[:, None])
        )
    best = model.code_search.best(trunk, history, target, reward)
    np.testing.assert_array_equal(best, np.argmin(np.stack(losses), axis=0))


def test_gradients_reach_every_variable_and_what_cannot_be_foreseen_costs_its_entropy(trained):
    model = build(3)
    windows = coin_windows(8)
    with tf.GradientTape() as tape:
        losses = model.window_losses(*windows, 0, StatelessNoise((0, 1)))
        total = tf.reduce_mean(losses.total)
    assert losses.latent.shape == (8,)
    assert (losses.latent.numpy() > 0.0).all()
    gradients = tape.gradient(total, model.trainable_variables)
    assert all(gradient is not None for gradient in gradients)
    # Of the coin, and at most of three codes: two of them may stand for the same way.
    coin = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert 0.6 * coin < float(trained[3][1]["latent_loss"]) / 0.1 < 1.2 * np.log(3)


def test_frames_of_one_step_are_trained_with_codes_too():
    model = build(2)
    windows = coin_windows(4, length=5)
    losses = model.window_losses(*windows, 0, StatelessNoise((0, 1)))
    assert np.isfinite(losses.total).all()
    assert not np.any(model.window_losses(*windows, 0, StatelessNoise((0, 1)), False).latent)
