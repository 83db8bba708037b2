"""The trainer: learning, metrics, precision, XLA, resuming; replicas: tests/replicas_test.py."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.loss_scaling import LossScale
from simple_tf.models.bits import BitOptions
from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.gaussian import GaussianModel
from simple_tf.models.heads import L2Head, PaletteHead, SoftmaxHead
from simple_tf.models.palette import Palette
from simple_tf.models.recurrent import RecurrentModel
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel
from simple_tf.models.trainer import WorldModelTrainer

SHAPE = (12, 10, 3)
SMALL = {"hidden_size": 8, "compress_steps": 1, "doubling_steps": 1, "dropout": 0.0}
QUIET_BITS = BitOptions(
    num_bits=16,
    predictor_units=16,
    posterior_filters=(8, 16),
    flip_probability=0.0,
    logit_noise=0.0,
    discrete_steps=1,
    mixing_steps=2,
    max_mixing=0.0,
    max_use=1.0,
)
BITS = {"bits": QUIET_BITS, "temperature": 0.0}
MIDDLE = {"middle_layers": 1, "middle_dropout": 0.0}
MODELS = {
    "deterministic": (DeterministicModel, {"pixel_noise": 0.0, **MIDDLE}),
    "stacked": (StochasticDiscreteModel, {**BITS, **MIDDLE}),
    "carried": (
        StochasticDiscreteModel,
        {"inputs": "carried", "memory_channels": 8, **BITS, **MIDDLE},
    ),
    "recurrent": (RecurrentModel, BITS),
    "gaussian": (
        GaussianModel,
        {"latent_size": 8, "posterior_filters": (8, 16), "kl_weight": 1e-4, **MIDDLE},
    ),
}


def moving_square(length=6, batch=1, seed=0):
    """Returns windows in which a square moves; the action says where to."""
    rng = np.random.RandomState(seed)
    frames = np.full((batch, length, *SHAPE), 20, np.uint8)
    actions = rng.randint(0, 4, (batch, length - 1))
    for b in range(batch):
        row, column = 4, 4
        for t in range(length):
            frames[b, t, row : row + 3, column : column + 3] = (200, 60, 60)
            if t < length - 1:
                row = (row + (1, 0, -1, 0)[actions[b, t]]) % 9
                column = (column + (0, 1, 0, -1)[actions[b, t]]) % 7
    rewards = (actions % 3).astype(np.int32)
    return tf.constant(frames), tf.constant(actions, tf.int32), tf.constant(rewards)


def palette_head(clip=0.03):
    palette = Palette(4)
    palette.update(moving_square()[0].numpy())
    return PaletteHead(palette, clip)


def trainer_of(name="deterministic", head=None, trainer=None, learning_rate=0.003, **options):
    constructor, extra = MODELS[name]
    model = constructor(SHAPE, 4, head or palette_head(), **{**SMALL, **extra, **options})
    return WorldModelTrainer(model, tf.keras.optimizers.Adam(learning_rate), **(trainer or {}))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_overfits_one_window_to_under_the_clipping_floor(name):
    trainer = trainer_of(name)
    window = moving_square()
    for _ in range(400):
        metrics = trainer.train_step(*window)
        if float(metrics["pixel_loss"] + metrics["reward_loss"] + metrics["context_loss"]) == 0.0:
            break
    assert float(metrics["pixel_loss"]) < 0.002
    assert float(metrics["reward_loss"]) < 0.002
    assert float(metrics["reward_accuracy"]) == 1.0


@pytest.mark.parametrize("head", [SoftmaxHead(3), L2Head(3)])
def test_the_other_heads_learn_too(head):
    trainer = trainer_of(head=head)
    window = moving_square()
    losses = [float(trainer.train_step(*window)["pixel_loss"]) for _ in range(150)]
    assert losses[-1] < 0.05 * losses[0]


def test_metrics_are_complete_and_a_missing_class_is_not_a_number():
    trainer = trainer_of()
    frames, actions, _ = moving_square(batch=2)
    metrics = trainer.train_step(frames, actions, tf.ones([2, 5], tf.int32))
    parts = [f"{name}_loss" for name in ("pixel", "reward", "latent", "context")]
    assert set(metrics) == {
        *parts,
        *(f"reward_accuracy_{c}" for c in range(3)),
        *("loss", "reward_accuracy", "gradient_norm", "learning_rate"),
    }
    assert float(metrics["loss"]) == pytest.approx(sum(float(metrics[p]) for p in parts), rel=1e-5)
    assert np.isnan(metrics["reward_accuracy_0"])
    assert float(metrics["reward_accuracy_1"]) == float(metrics["reward_accuracy"])
    assert float(metrics["gradient_norm"]) > 0


def test_train_averages_over_the_steps_and_measures_their_rate():
    names = ("frames", "actions", "reward_classes")
    batches = [dict(zip(names, moving_square(seed=s), strict=True)) for s in range(3)]
    metrics = trainer_of().train(iter(batches), 3)
    single = trainer_of()
    losses = [float(single.train_step(**batch)["loss"]) for batch in batches]
    assert float(metrics["loss"]) == pytest.approx(np.mean(losses), rel=1e-5)
    assert int(single.global_step) == 3
    assert float(metrics["examples_per_second"]) > 0


def test_train_says_when_the_windows_run_out():
    with pytest.raises(ValueError, match="Only 0 of 2 batches"):
        trainer_of().train(iter([]), 2)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "name",
    ["deterministic", *(pytest.param(name, marks=SLOW) for name in ("carried", "recurrent"))],
)
def test_xla_computes_the_same_step(name):
    window = moving_square(batch=2)
    losses = [
        [float(trainer.train_step(*window)["loss"]) for _ in range(3)]
        for trainer in (trainer_of(name, trainer={"jit_compile": jit}) for jit in (False, True))
    ]
    # Bit noise is drawn by another generator under XLA: exact only without a latent.
    np.testing.assert_allclose(*losses, rtol=1e-3 if name == "deterministic" else 0.1)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_windows_in_parts_give_the_same_step(jit_compile):
    window = moving_square(batch=4)
    steps = []
    for parts in (1, 2):
        trainer = trainer_of("carried", trainer={"jit_compile": jit_compile, "parts": parts})
        metrics = [trainer.train_step(*window) for _ in range(2)]
        assert int(trainer.global_step) == 2
        steps.append([float(m[key]) for m in metrics for key in ("loss", "gradient_norm")])
    np.testing.assert_allclose(*steps, rtol=1e-3)


def test_an_odd_number_of_windows_has_no_halves():
    with pytest.raises(ValueError, match=r"WorldModelTrainer\.parts is 2, but a batch of 3"):
        trainer_of(trainer={"parts": 2}).train_step(*moving_square(batch=3))
    with pytest.raises(ValueError, match=r"WorldModelTrainer\.parts must be a whole number"):
        trainer_of(trainer={"parts": 0})


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("carried", "mixed_bfloat16"),
        ("carried", "mixed_float16"),
        pytest.param("recurrent", "mixed_bfloat16", marks=SLOW),
    ],
)
def test_mixed_precision_trains(name, precision):
    scale = 2.0**10 if precision == "mixed_float16" else 0.0
    trainer = trainer_of(name, trainer={"loss_scale": scale}, precision=precision)
    assert all(v.dtype == tf.float32 for v in trainer.model.trainable_variables)
    window = moving_square()
    history = [trainer.train_step(*window) for _ in range(40)]
    losses = [float(metrics["pixel_loss"] + metrics["reward_loss"]) for metrics in history]
    assert np.isfinite([float(metrics["loss"]) for metrics in history]).all()
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])


def test_an_overflow_skips_the_step_and_halves_the_loss_scale():
    scale = LossScale(8.0, growth_steps=2)
    counter = tf.Variable(0)

    def update():
        counter.assign_add(1)

    scale.guard(tf.constant(False), update)
    assert (int(counter), float(scale.value)) == (0, 4.0)
    scale.guard(tf.constant(True), update)
    scale.guard(tf.constant(True), update)
    assert (int(counter), float(scale.value), int(scale.good_steps)) == (2, 8.0, 0)


def test_a_restored_trainer_continues_as_if_never_stopped(tmp_path):
    options = {"dropout": 0.2}
    window = moving_square(batch=2)
    first = trainer_of(**options)
    for _ in range(3):
        first.train_step(*window)
    path = tf.train.Checkpoint(trainer=first).write(str(tmp_path / "trainer"))
    second = trainer_of(**options, seed=5)
    tf.train.Checkpoint(trainer=second).read(path).assert_consumed()
    expected = [float(first.train_step(*window)["loss"]) for _ in range(3)]
    assert [float(second.train_step(*window)["loss"]) for _ in range(3)] == expected
