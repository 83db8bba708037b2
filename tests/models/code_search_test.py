import numpy as np
import tensorflow as tf

from simple_tf.models.code_search import CodeSearch
from simple_tf.models.noise import StatelessNoise


def test_examples_are_repeated_for_every_code():
    (one, other), codes = CodeSearch(3, 4, 0).for_every_code(tf.constant([5, 6]), tf.eye(2))
    assert one.numpy().tolist() == [5, 5, 5, 6, 6, 6]
    assert other.shape == (6, 2)
    assert codes.numpy().tolist() == [0, 1, 2, 0, 1, 2]


def test_the_smallest_sum_of_losses_is_the_best():
    # Two examples, three codes, two patches; everything is explained by some code.
    patch_losses = tf.constant(
        [[0.0, 3.0], [1.0, 0.0], [0.0, 2.0], [4.0, 0.0], [0.0, 5.0], [1.0, 1.0]]
    )
    other = tf.constant([0.0, 0.0, 0.0, 0.0, 0.0, 9.0])
    search = CodeSearch(3, 4, 0)
    patches = tf.zeros([6, 2], tf.int32)
    assert search.best(patch_losses, patches, other).numpy().tolist() == [1, 0]


def test_what_no_code_explains_always_finds_the_same_code_at_the_same_place():
    search, rng = CodeSearch(8, 30, 0), np.random.RandomState(0)
    chosen = {}
    for place in range(30):
        # Codes that know nothing differ by next to nothing.
        losses = 2.0 + 1e-4 * rng.rand(5 * 8, 1)
        best = search.best(tf.constant(losses, tf.float32), tf.fill([40, 1], place), tf.zeros([40]))
        assert len(set(best.numpy())) == 1
        chosen[place] = int(best[0])
    assert len(set(chosen.values())) > 4


def test_a_code_that_explains_it_is_better_than_a_preferred_one():
    search = CodeSearch(4, 1, 3)
    losses = np.full((4, 1), 2.0, np.float32)
    for knowing in range(4):
        explained = losses.copy()
        explained[knowing] = 0.5
        best = search.best(tf.constant(explained), tf.zeros([4, 1], tf.int32), tf.zeros([4]))
        assert best.numpy().tolist() == [knowing]


def test_a_tenth_is_replaced_by_any_code():
    best = tf.zeros([4000], tf.int32)
    explored = CodeSearch(5, 1, 0).explored(best, StatelessNoise((1, 2))).numpy()
    counts = np.bincount(explored, minlength=5)
    assert len(counts) == 5
    np.testing.assert_allclose(counts[1:] / 4000, 0.02, atol=0.01)
