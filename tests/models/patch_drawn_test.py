"""Frames of uncertain outputs: drawn, or with a lead for what is unusual; only with a palette."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.heads import PaletteHead, SoftmaxHead
from simple_tf.models.noise import StatelessNoise
from simple_tf.models.palette import Palette
from simple_tf.models.patch import PatchModel

SHAPE = (8, 12, 1)
GREYS = np.array([0, 90, 250], np.uint8)  # The usual one, and two others.
ACTION = tf.constant([0])


def build(head=None, **options):
    if head is None:
        palette = Palette(4, channels=1)
        palette.update(GREYS.reshape(1, 1, 3, 1))
        head = PaletteHead(palette)
    sizes = {"hidden_size": 8, "num_blocks": 1, "summary_units": 8, "reward_units": 8}
    model = PatchModel(SHAPE, 2, head, **{**sizes, **options})
    model.adapt(np.zeros((4, *SHAPE), np.uint8))
    return model


def outputs_of(probabilities):
    """Returns outputs with which pixels [8, 12] are so probably of the third grey, not usual."""
    logits = np.full((*SHAPE[:2], 4), -20.0, np.float32)
    logits[..., 0] = np.log(np.maximum(1.0 - probabilities, 1e-9))
    logits[..., 2] = np.log(np.maximum(probabilities, 1e-9))
    patches = logits.reshape(2, 4, 3, 4, 4).transpose(0, 2, 4, 1, 3)
    return tf.constant(patches.reshape(1, 6, 4, 16))


def draw(model, probabilities, count):
    """Draws frames [count, 8, 12]: where something is that usually is not."""
    outputs = tf.repeat(outputs_of(probabilities), count, axis=0)
    drawn = model.outputs_layer.drawn(outputs, StatelessNoise((0, 1)))
    frames = model.decode(drawn).numpy()[..., 0]
    assert set(np.unique(frames)) <= {0, 250}
    return frames == 250


def test_pixels_are_drawn_as_probably_as_the_model_holds_them():
    probabilities = np.random.RandomState(0).uniform(0.15, 0.85, SHAPE[:2])
    shown = draw(build(), probabilities, 2000)
    np.testing.assert_allclose(shown.mean(axis=0), probabilities, atol=0.05)


def test_as_many_pixels_are_drawn_as_the_model_expects():
    probabilities = np.random.RandomState(0).uniform(0.15, 0.85, SHAPE[:2])
    counts = draw(build(), probabilities, 500).sum(axis=(1, 2))
    assert np.abs(counts - probabilities.sum()).max() <= 1.0
    assert counts.std() < 0.6  # Pixels that know nothing of each other: about 4.5.


def test_of_three_places_of_a_ball_one_is_drawn():
    probabilities = np.zeros(SHAPE[:2])
    probabilities[2, 3] = probabilities[3, 5] = probabilities[6, 9] = 1 / 3
    shown = draw(build(), probabilities, 300)
    assert (shown.sum(axis=(1, 2)) == 1).all()
    assert shown[:, 2, 3].mean() == pytest.approx(1 / 3, abs=0.1)


def test_what_is_nearly_sure_is_not_left_to_chance():
    probabilities = np.full(SHAPE[:2], 0.02)
    probabilities[4:] = 0.98
    shown = draw(build(), probabilities, 50)
    assert not shown[:, :4].any()
    assert shown[:, 4:].all()


@pytest.mark.parametrize("compiled", [False, True])
def test_simulated_frames_are_drawn_and_repeatable(compiled):
    model = build(draws_pixels=True, copy_strength=0.5)
    frames = tf.constant(GREYS[np.random.RandomState(1).randint(0, 3, (1, 4, *SHAPE))])

    @tf.function(jit_compile=compiled, autograph=False)
    def step(seed):
        return model.decode(model.step((), frames, ACTION, seed).outputs)

    first, again, other = (step(tf.constant([0, seed])).numpy() for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_only_palettes_can_be_drawn_from():
    with pytest.raises(ValueError, match="palette_head"):
        build(SoftmaxHead(1), draws_pixels=True)


def decoded(model, probabilities):
    """Where a frame [8, 12] shows the third grey."""
    frame = model.decode(outputs_of(probabilities)).numpy()[0, ..., 0]
    assert set(np.unique(frame)) <= {0, 250}
    return frame == 250


@pytest.mark.parametrize(("lead", "smallest"), [(0.0, 0.5), (1.5, 0.1824), (3, 0.0474)])
def test_with_a_lead_less_probable_pixels_are_shown(lead, smallest):
    """Odds of e to the minus lead are even ones."""
    probabilities = np.linspace(0.001, 0.999, SHAPE[0] * SHAPE[1]).reshape(SHAPE[:2])
    shown = decoded(build(unusual_lead=lead), probabilities)
    np.testing.assert_array_equal(shown, probabilities > smallest)


def test_a_lead_changes_what_is_shown_but_not_what_is_learned():
    rng = np.random.RandomState(0)
    frames = tf.constant(GREYS[rng.randint(0, 3, (3, 7, *SHAPE))])
    actions = tf.constant(rng.randint(0, 2, (3, 6)), tf.int32)
    classes = tf.constant(rng.randint(0, 3, (3, 6)), tf.int32)
    without, leading = (build(unusual_lead=lead) for lead in (0.0, 6.0))
    losses = [
        model.window_losses(
            frames, actions, classes, 0, StatelessNoise((0, 2)), training=False
        ).total.numpy()
        for model in (without, leading)
    ]
    np.testing.assert_array_equal(*losses)
    outputs = outputs_of(np.full(SHAPE[:2], 0.1))
    assert leading.decode(outputs).numpy().any()
    assert not without.decode(outputs).numpy().any()
