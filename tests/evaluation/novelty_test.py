"""Which states are new, on frames where it is known."""

import numpy as np

from simple_tf.evaluation.novelty import EXPECTED_SHARE, measure_novelty, nearest_distances, shrunk


def dots(columns, rng):
    """Frames of 52 x 40 with a dot in a column, and noise that no frame repeats."""
    frames = rng.integers(0, 8, (len(columns), 52, 40, 1)).astype(np.uint8)
    for frame, column in zip(frames, columns, strict=True):
        frame[20:24, column : column + 4] = 200
    return frames


def test_the_same_play_is_not_new_and_other_play_is():
    rng = np.random.default_rng(0)
    seen, held_out, same = (dots(rng.integers(0, 20, n), rng) for n in (400, 200, 200))
    other = dots(rng.integers(26, 36, 200), rng)
    assert measure_novelty(seen, held_out, same).new_share < EXPECTED_SHARE + 0.07
    assert measure_novelty(seen, held_out, other).new_share == 1.0
    mixed = measure_novelty(seen, held_out, np.concatenate([same, other]))
    assert 0.5 <= mixed.new_share < 0.57
    assert mixed.visited[0] <= mixed.limit < mixed.visited[-1]
    assert len(mixed.visited) == len(mixed.held_out) == 21


def test_distances_are_to_the_nearest():
    rng = np.random.default_rng(1)
    queries, data = rng.normal(size=(300, 7)), rng.normal(size=(50, 7))
    direct = np.sqrt(((queries[:, None] - data) ** 2).mean(axis=-1)).min(axis=1)
    np.testing.assert_allclose(nearest_distances(queries, data), direct, rtol=1e-6)
    assert nearest_distances(data, data).max() < 1e-6


def test_small_pictures_are_means():
    frames = np.random.default_rng(2).integers(0, 256, (2, 105, 80, 3)).astype(np.uint8)
    small = shrunk(frames).reshape(2, 13, 10)
    np.testing.assert_allclose(small[1, 12, 9], frames[1, 96:104, 72:80].mean(), rtol=1e-5)
    assert shrunk(frames[:, :5, :4]).shape == (2, 20)  # Smaller than the cells: as it is.
