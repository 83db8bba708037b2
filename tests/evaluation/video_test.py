"""Videos are really written and read back."""

import builtins
import sys

import numpy as np
import pytest

from simple_tf.evaluation.video import NoEncoderError, comparison_video, write_video


@pytest.fixture
def images(comparison):
    return list(comparison_video(comparison, rollouts=[0, 1], scale=30))


def without(monkeypatch, *packages):
    """Makes packages look as if they were not installed."""
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] in packages:
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    for package in packages:
        for module in [m for m in sys.modules if m.split(".")[0] == package]:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", refuse)


def test_all_rollouts_from_their_start_with_a_pause_between(images):
    assert len(images) == 4 + 5 + 4
    assert {image.shape for image in images} == {images[0].shape}
    assert all(size % 2 == 0 for size in images[0].shape[:2])
    assert len(np.unique(images[5])) == 1  # The pause is plain.


def test_panes_are_side_by_side(images):
    columns = (images[3] == 9).all(axis=-1).any(axis=0)  # Both show 9 in their corner ...
    assert columns.sum() == 2 * 30
    missed = images[3] == 7  # ... but the model misses the 7.
    assert missed.all(axis=-1).sum() == 30 * 30


def test_mp4(images, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    imageio = pytest.importorskip("imageio.v3")
    path = write_video(tmp_path / "new" / "film.mp4", images)
    assert path == tmp_path / "new" / "film.mp4"
    assert [file.name for file in path.parent.iterdir()] == ["film.mp4"]
    read = imageio.imread(path, plugin="FFMPEG")
    assert read.shape == (len(images), *images[0].shape)
    assert np.abs(read.astype(int) - np.stack(images)).mean() < 4  # Lossy.


def test_gif_where_there_is_no_encoder(images, tmp_path, monkeypatch):
    imageio = pytest.importorskip("imageio.v3")
    without(monkeypatch, "imageio_ffmpeg")
    path = write_video(tmp_path / "film.mp4", images, frames_per_second=20)
    assert path == tmp_path / "film.gif"
    read = imageio.imread(path)
    # Equal neighbours are one longer frame in a GIF, so count changes only.
    assert read.shape[1:] == images[0].shape
    np.testing.assert_array_equal(read[0], images[0])
    np.testing.assert_array_equal(read[-1], images[-1])


def test_says_what_to_install(images, tmp_path, monkeypatch):
    without(monkeypatch, "imageio_ffmpeg", "imageio")
    with pytest.raises(NoEncoderError, match="pip install imageio imageio-ffmpeg"):
        write_video(tmp_path / "film.mp4", images)


def test_refuses_what_is_no_video(images, tmp_path, comparison):
    with pytest.raises(ValueError, match=r"\.mp4 or a \.gif file, not film\.avi"):
        write_video(tmp_path / "film.avi", images)
    with pytest.raises(ValueError, match="no rollout 5"):
        next(comparison_video(comparison, rollouts=[5]))
    pytest.importorskip("imageio")
    with pytest.raises(ValueError, match="no images"):
        write_video(tmp_path / "film.gif", [])
