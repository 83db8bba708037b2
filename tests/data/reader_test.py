"""Windows are read as they were stored, whichever episodes they come from."""

import numpy as np
import tensorflow as tf

from simple_tf.data import codec
from simple_tf.data.reader import WindowReader


def test_windows_of_several_episodes_in_any_order(make_store):
    episodes = make_store([[5, 9], [7]]).episodes
    places = [(2, 4), (0, 0), (1, 6), (0, 2), (1, 0), (1, 0)]
    batch = WindowReader(episodes, 4)(
        *(tf.constant(x, tf.int64) for x in zip(*places, strict=True))
    )
    for row, (episode, first) in enumerate(places):
        stored = episodes[episode]
        np.testing.assert_array_equal(batch["frames"][row], codec.read_frames(stored, first, 4))
        np.testing.assert_array_equal(batch["actions"][row], stored.actions[first : first + 3])
        np.testing.assert_array_equal(
            batch["reward_classes"][row], stored.rewards[first : first + 3] + 1
        )


def test_works_inside_a_function(make_store):
    reader = WindowReader(make_store([[9]]).episodes, 3)
    places = tf.constant([0, 0], tf.int64), tf.constant([0, 7], tf.int64)
    for eager, traced in zip(
        reader(*places).values(), tf.function(reader.__call__)(*places).values(), strict=True
    ):
        np.testing.assert_array_equal(eager, traced)
