import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.muon import Muon, orthogonal

RANDOM = np.random.RandomState(0)


@pytest.mark.parametrize("shape", [(40, 56), (64, 40), (48, 48), (40, 200), (200, 40)])
def test_singular_vectors_stay_and_singular_values_are_near_one(shape):
    # Values from 1 down to 0.02, as those of a gradient of few examples are.
    rows, _ = np.linalg.qr(RANDOM.normal(size=(shape[0], shape[0])))
    columns, _ = np.linalg.qr(RANDOM.normal(size=(shape[1], shape[1])))
    values = np.geomspace(1.0, 0.02, min(shape))
    spread = np.zeros(shape)
    np.fill_diagonal(spread, values)
    found = orthogonal(tf.constant(rows @ spread @ columns, tf.float32)).numpy()
    inner = rows.T @ found @ columns.T
    diagonal = np.diag(inner).copy()
    np.fill_diagonal(inner, 0.0)
    np.testing.assert_allclose(inner, 0.0, atol=1e-3)
    assert diagonal.min() > 0.6
    assert diagonal.max() < 1.25


def _nearly_nothing_known():
    """A long matrix with singular values from 1 to 1e-7: float32 cannot hold their squares."""
    rows, _ = np.linalg.qr(RANDOM.normal(size=(32, 32)))
    columns, _ = np.linalg.qr(RANDOM.normal(size=(160, 32)))
    return (rows * np.geomspace(1.0, 1e-7, 32)) @ columns.T


@pytest.mark.parametrize("repetitions", [1, 5, 10])
def test_the_short_way_for_long_matrices_is_the_same_even_where_next_to_nothing_is_known(
    repetitions,
):
    matrix = _nearly_nothing_known()
    long_way = matrix / np.linalg.norm(matrix)
    for _ in range(repetitions):
        square = long_way @ long_way.T
        long_way = 3.4445 * long_way + (-4.7750 * square + 2.0315 * square @ square) @ long_way
    found = orthogonal(tf.constant(matrix, tf.float32), repetitions).numpy()
    assert np.linalg.norm(found, 2) < 1.25
    if repetitions < 10:  # Then what was too small to be told from rounding is as large as all.
        np.testing.assert_allclose(found, long_way, atol=2e-4)


@pytest.mark.parametrize("shape", [(32, 160), (64, 192), (48, 56)])
def test_singular_values_stay_bounded_with_the_products_of_a_tpu(shape, monkeypatch):
    # There the factors of a product are rounded to bfloat16, and the sums are not.
    exact = tf.matmul

    def rounded(a, b, **options):
        a, b = (tf.cast(tf.cast(x, tf.bfloat16), tf.float32) for x in (a, b))
        return exact(a, b, **options)

    monkeypatch.setattr(tf, "matmul", rounded)
    rows, _ = np.linalg.qr(RANDOM.normal(size=(shape[0], shape[0])))
    columns, _ = np.linalg.qr(RANDOM.normal(size=(shape[1], shape[0])))
    matrix = (rows * np.geomspace(1.0, 1e-7, shape[0])) @ columns.T
    assert np.linalg.norm(orthogonal(tf.constant(matrix, tf.float32)).numpy(), 2) < 1.4


def test_steps_of_matrices_have_the_size_that_is_asked_for_whatever_the_gradient():
    variable = tf.Variable(tf.zeros([64, 192]), name="kernel")
    optimizer = Muon(learning_rate=0.01, scale=0.2)
    gradient = tf.constant(RANDOM.normal(size=(64, 192)) * 1e-4, tf.float32)
    optimizer.apply_gradients([(gradient, variable)])
    assert np.sqrt(np.mean(np.square(variable.numpy()))) == pytest.approx(0.002, rel=0.15)
    assert np.sum(variable.numpy() * gradient.numpy()) < 0.0


def test_a_matrix_without_any_gradient_soon_stands_still():
    variable, optimizer = tf.Variable(tf.zeros([64, 192])), Muon(learning_rate=0.01)
    apply = tf.function(lambda gradient: optimizer.apply_gradients([(gradient, variable)]))
    optimizer.build([variable])
    apply(tf.constant(RANDOM.normal(size=(64, 192)), tf.float32))
    nothing, sizes, before = tf.zeros([64, 192]), [], variable.numpy()
    for _ in range(200):
        apply(nothing)
        sizes.append(np.linalg.norm(variable.numpy() - before))
        before = variable.numpy()
    # Momentum carries it on for a while; without an end to it, it would go as far in every step.
    assert sizes[50] > 0.8 * sizes[0]
    assert sizes[150] < 0.1 * sizes[0]
    assert sizes[199] < 0.01 * sizes[0]
    gradient = tf.constant(RANDOM.normal(size=(64, 192)), tf.float32)
    apply(gradient)  # And it goes on as soon as there is something to learn.
    assert np.linalg.norm(variable.numpy() - before) > 0.8 * sizes[0]


def test_vectors_narrow_matrices_and_what_is_left_out_follow_adam():
    def variables():
        return [
            tf.Variable(tf.ones([40]), name="bias"),
            tf.Variable(tf.ones([40, 8]), name="narrow"),
            tf.Variable(tf.ones([40, 40]), name="outputs/kernel"),
        ]

    ours, theirs = variables(), variables()
    muon, adam = Muon(learning_rate=0.01), tf.keras.optimizers.Adam(0.01)
    for _ in range(5):
        gradients = [tf.constant(RANDOM.normal(size=v.shape), tf.float32) for v in ours]
        muon.apply_gradients(zip(gradients, ours, strict=True))
        adam.apply_gradients(zip(gradients, theirs, strict=True))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-5)


def test_each_step_takes_a_share_of_every_weight_away():
    def apply(weight_decay):
        matrix, bias = tf.Variable(tf.ones([32, 40]) * 3.0), tf.Variable(tf.ones([40]) * 5.0)
        random = np.random.RandomState(1)
        gradients = [tf.constant(random.normal(size=v.shape), tf.float32) for v in (matrix, bias)]
        optimizer = Muon(learning_rate=0.01, weight_decay=weight_decay)
        optimizer.apply_gradients(zip(gradients, (matrix, bias), strict=True))
        return matrix.numpy(), bias.numpy()

    kept, decayed = apply(0.0), apply(0.5)
    np.testing.assert_allclose(kept[0] - decayed[0], 3.0 * 0.01 * 0.5, rtol=1e-3)
    np.testing.assert_allclose(kept[1] - decayed[1], 5.0 * 0.01 * 0.5, rtol=1e-3)


def test_a_restored_optimizer_goes_on_as_if_never_stopped(tmp_path):
    def make():
        matrix, bias = tf.Variable(tf.ones([32, 40])), tf.Variable(tf.zeros([40]))
        optimizer = Muon(learning_rate=0.01)
        optimizer.build([matrix, bias])
        return tf.train.Checkpoint(matrix=matrix, bias=bias, optimizer=optimizer)

    gradients = [
        [tf.constant(RANDOM.normal(size=shape), tf.float32) for shape in ((32, 40), (40,))]
        for _ in range(4)
    ]

    def apply(run, steps):
        for step in steps:
            run.optimizer.apply_gradients(zip(gradients[step], [run.matrix, run.bias], strict=True))

    whole, stopped, resumed = make(), make(), make()
    apply(whole, range(4))
    apply(stopped, range(2))
    path = stopped.save(str(tmp_path / "state"))
    resumed.restore(path).assert_consumed()
    apply(resumed, range(2, 4))
    for name in ("matrix", "bias"):
        np.testing.assert_array_equal(getattr(resumed, name).numpy(), getattr(whole, name).numpy())
