"""What a compiled function's body knows, and what XLA therefore has nothing to say about."""

import subprocess
import sys

import pytest
import tensorflow as tf

from simple_tf.compilation import compiled, is_for_xla


def _seen_by(jit_compile):
    seen = []

    def body(x):
        seen.append(is_for_xla())
        return x + 1.0

    assert float(compiled(body, jit_compile)(tf.constant(1.0))) == 2.0
    return seen


def test_a_body_knows_whether_it_is_for_xla():
    assert _seen_by(False) == [False]
    assert _seen_by(True) == [True]
    assert not is_for_xla()  # Only while it is traced.


def test_what_is_inside_is_for_xla_as_well():
    seen = []
    inner = compiled(lambda x: seen.append(is_for_xla()) or x * 2.0)
    assert float(compiled(lambda x: inner(x) + 1.0, True)(tf.constant(1.0))) == 3.0
    assert seen == [True]


def test_an_error_in_the_body_leaves_nothing_behind():
    def fails(x):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        compiled(fails, True)(tf.constant(1.0))
    assert not is_for_xla()


_STEP = """
import simple_tf
import tensorflow as tf
from simple_tf.compilation import compiled
from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.heads import SoftmaxHead

model = DeterministicModel((8, 8, 1), 4, SoftmaxHead(1), hidden_size=4, compress_steps=1)
frames = tf.zeros([1, 4, 8, 8, 1], tf.uint8)
compiled(model.step, True)((), frames, tf.constant([3]), tf.constant([0, 0]))
"""


def test_xla_does_not_speak_of_assertions():
    done = subprocess.run(
        [sys.executable, "-c", _STEP], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Assert" not in done.stderr
