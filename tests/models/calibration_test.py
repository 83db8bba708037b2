"""Palette and background from a store: deterministic, and only for those who need them."""

import numpy as np
import pytest

from simple_tf.data import frame_sample
from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.frame_sample import sample_frames
from simple_tf.data.store import EpisodeStore
from simple_tf.models.calibration import calibrate
from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.heads import PaletteHead, SoftmaxHead
from simple_tf.models.palette import Palette
from simple_tf.models.patch import PatchModel

SHAPE = (8, 12, 1)


@pytest.fixture
def store(tmp_path):
    """Two iterations; frame t of an episode is full of its number."""
    store = EpisodeStore.create_or_open(
        tmp_path, StoreDescription("pong", SHAPE, ("NOOP", "UP"), {})
    )
    for iteration, first in ((0, 0), (1, 100)):
        for index, num_steps in enumerate((7, 4)):
            begin = first + 20 * index
            recorder = EpisodeRecorder(iteration, index, 0, np.full(SHAPE, begin, np.uint8))
            for t in range(1, num_steps + 1):
                recorder.add(0, 0.0, 0, np.full(SHAPE, begin + t, np.uint8))
            store.append(recorder.finish(terminated=True, truncated=False))
    return store


def numbers(frames):
    return frames[:, 0, 0, 0].tolist()


def test_frames_are_evenly_spaced_over_the_episodes(store):
    everything = [*range(8), *range(20, 25)]
    assert numbers(sample_frames(store, 0, 100)) == everything
    assert numbers(sample_frames(store, 0, 13)) == everything
    assert numbers(sample_frames(store, 0, 5)) == everything[::3]
    assert numbers(sample_frames(store, 0, 2)) == everything[::7]
    assert numbers(sample_frames(store, 1, 100))[0] == 100


def test_of_large_frames_there_are_as_many_as_have_room_but_not_next_to_none(store, monkeypatch):
    everything = [*range(8), *range(20, 25)]
    monkeypatch.setattr(frame_sample, "_FEWEST_FRAMES", 2)
    monkeypatch.setattr(frame_sample, "_MAX_BYTES", 5 * int(np.prod(SHAPE)))
    assert numbers(sample_frames(store, 0, 100)) == everything[::3]
    assert numbers(sample_frames(store, 0, 2)) == everything[::7]
    monkeypatch.setattr(frame_sample, "_MAX_BYTES", 1)
    assert numbers(sample_frames(store, 0, 100)) == everything[::7]


def test_the_palette_grows_by_each_iteration_and_keeps_its_indices(store):
    palette = Palette(20, channels=1)
    model = PatchModel(SHAPE, 2, PaletteHead(palette), hidden_size=4, num_blocks=1)
    assert calibrate(model, store, 0) == {"palette_size": 13.0, "palette_missing": 0.0}
    before = palette.colours.numpy()[:13]
    background = model.normaliser.background.numpy()
    assert (background == 6).all()
    metrics = calibrate(model, store, 1)
    assert metrics["palette_size"] == 20.0
    assert metrics["palette_missing"] == pytest.approx(6 / 13)
    np.testing.assert_array_equal(palette.colours.numpy()[:13], before)
    np.testing.assert_array_equal(model.normaliser.background.numpy(), background)


def test_the_same_episodes_give_the_same_palette(store):
    palettes = [Palette(20, channels=1) for _ in range(2)]
    for palette in palettes:
        model = PatchModel(SHAPE, 2, PaletteHead(palette), hidden_size=4, num_blocks=1)
        calibrate(model, store, 0)
        calibrate(model, store, 1)
    np.testing.assert_array_equal(palettes[0].colours, palettes[1].colours)


def test_other_models_are_left_alone(store):
    model = DeterministicModel(SHAPE, 2, SoftmaxHead(1), hidden_size=4, compress_steps=1)
    assert calibrate(model, store, 0) == {}


def test_an_iteration_that_does_not_exist(store):
    model = PatchModel(SHAPE, 2, SoftmaxHead(1), hidden_size=4, num_blocks=1)
    with pytest.raises(ValueError, match="no episode of iteration 7"):
        calibrate(model, store, 7)
