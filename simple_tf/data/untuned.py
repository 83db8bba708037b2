"""Pipelines that have fixed numbers of threads and batches ahead, and nothing to tune."""

from __future__ import annotations

import tensorflow as tf


def untuned(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Returns the dataset without the thread that would tune it.

    That thread looks up at intervals that double, up to a minute, and TensorFlow 2.15 does not
    always wake it when its iterator is dropped: whoever has trained for 57 seconds waits for 25.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
