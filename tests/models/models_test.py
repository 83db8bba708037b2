"""Every world model behind the one interface: shapes, states, XLA, errors, learning."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.bits import BitOptions
from simple_tf.models.deterministic import DeterministicModel, median_colour
from simple_tf.models.gaussian import GaussianModel
from simple_tf.models.heads import L2Head, PaletteHead, SoftmaxHead
from simple_tf.models.noise import FixedNoise, StatelessNoise
from simple_tf.models.palette import Palette
from simple_tf.models.recurrent import RecurrentModel
from simple_tf.models.schedules import ScheduledSampling
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel

SHAPE = (21, 18, 3)
SMALL_BITS = BitOptions(num_bits=16, predictor_units=16, posterior_filters=(8, 16))
SMALL = {"hidden_size": 8, "compress_steps": 2, "doubling_steps": 1}
MODELS = {
    "deterministic": (DeterministicModel, {}),
    "stacked": (StochasticDiscreteModel, {"inputs": "stacked", "bits": SMALL_BITS}),
    "carried": (
        StochasticDiscreteModel,
        {"inputs": "carried", "memory_channels": 8, "bits": SMALL_BITS},
    ),
    "recurrent": (RecurrentModel, {"bits": SMALL_BITS}),
    "gaussian": (GaussianModel, {"latent_size": 8, "posterior_filters": (8, 16)}),
}
COLOURS = np.array([[0, 0, 0], [200, 72, 72], [92, 186, 92], [236, 236, 236]], np.uint8)


def head_of(name):
    if name == "palette":
        palette = Palette(8)
        palette.update(COLOURS[None, None])
        return PaletteHead(palette)
    return {"softmax": SoftmaxHead, "l2": L2Head}[name](3)


def build(name, head="palette", **options):
    constructor, extra = MODELS[name]
    return constructor(SHAPE, 4, head_of(head), **SMALL, **extra, **options)


def window(length=6, batch=2, seed=0):
    rng = np.random.RandomState(seed)
    frames = COLOURS[rng.randint(0, 4, (batch, length, *SHAPE[:2]))]
    return (
        tf.constant(frames),
        tf.constant(rng.randint(0, 4, (batch, length - 1)), tf.int32),
        tf.constant(rng.randint(0, 3, (batch, length - 1)), tf.int32),
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("head", ["softmax", "l2", "palette"])
def test_every_model_works_with_every_head(name, head):
    model = build(name, head)
    frames, actions, rewards = window()
    state = model.initial_state(frames[:, :4], actions[:, :3])
    prediction = model.step(state, frames[:, :4], actions[:, 3], (0, 1))
    tf.nest.assert_same_structure(prediction.state, state)
    assert prediction.reward_logits.shape == (2, 3)
    decoded = model.decode(prediction.outputs)
    assert decoded.dtype == tf.uint8
    assert decoded.shape == (2, *SHAPE)
    losses = model.window_losses(frames, actions, rewards, 100, StatelessNoise((0, 2)))
    assert losses.total.shape == (2,)
    assert losses.reward_logits.shape == (2, 2, 3)
    assert bool(tf.reduce_all(tf.math.is_finite(losses.total)))


@pytest.mark.parametrize("name", MODELS)
def test_steps_run_in_a_compiled_loop_with_fixed_shapes(name):
    model = build(name, temperature=0.0) if name in TEMPERED else build(name)
    frames, actions, _ = window()

    def rollout(frames, actions):
        def body(t, state, frames):
            prediction = model.step(state, frames, actions[:, 0], tf.stack([0, t]))
            newest = model.decode(prediction.outputs)[:, None]
            return t + 1, prediction.state, tf.concat([frames[:, 1:], newest], 1)

        state = model.initial_state(frames, actions[:, :3])
        return tf.while_loop(lambda t, *_: t < 3, body, (0, state, frames))[-1]

    plain = tf.function(rollout)(frames[:, :4], actions)
    compiled = tf.function(rollout, jit_compile=True)(frames[:, :4], actions)
    assert plain.shape == compiled.shape == (2, 4, *SHAPE)
    if name != "gaussian":  # Its draws depend on the compiler's generator.
        assert np.mean(plain.numpy() == compiled.numpy()) > 0.99


TEMPERED = ("stacked", "carried", "recurrent")


@pytest.mark.parametrize("name", TEMPERED)
def test_draws_depend_on_the_seed_alone_and_temperature_zero_on_nothing(name):
    frames, actions, _ = window()

    def outputs(model, seed):
        state = model.initial_state(frames[:, :4], actions[:, :3])
        return model.step(state, frames[:, :4], actions[:, 3], seed).outputs.numpy()

    model = build(name)
    np.testing.assert_array_equal(outputs(model, (0, 1)), outputs(model, (0, 1)))
    assert not np.array_equal(outputs(model, (0, 1)), outputs(model, (0, 2)))
    model = build(name, temperature=0.0)
    np.testing.assert_array_equal(outputs(model, (0, 1)), outputs(model, (0, 2)))


@pytest.mark.parametrize("name", ["carried", "recurrent"])
def test_carrying_the_state_equals_warming_up_again(name):
    """Both for the first steps, when no step has yet forgotten the rollout's first frames."""
    model = build(name, temperature=0.0)
    frames, actions, _ = window()
    state = model.initial_state(frames[:, :4], actions[:, :3])
    carried = model.step(state, frames[:, :4], actions[:, 3], (0, 0)).state
    if name == "recurrent":
        again = model.initial_state(frames[:, 1:5], actions[:, 1:4])
    else:
        longer = build(name, temperature=0.0, num_input_frames=5)
        for ours, theirs in zip(longer.weights, model.weights, strict=True):
            ours.assign(theirs)
        again = longer.initial_state(frames[:, :5], actions[:, :4])
    np.testing.assert_allclose(carried, again, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_reach_every_trainable_variable(name):
    model = build(name, separate_target_actions=True)
    with tf.GradientTape() as tape:
        losses = model.window_losses(*window(), tf.constant(30_000), FixedNoise(0.4))
        loss = tf.reduce_mean(losses.total)
    gradients = tape.gradient(loss, model.trainable_variables)
    without = [
        variable.name
        for variable, gradient in zip(model.trainable_variables, gradients, strict=True)
        if gradient is None or not np.any(tf.convert_to_tensor(gradient).numpy())
    ]
    # A softmax over positions does not feel a common bias.
    assert [name for name in without if "attention/bias" not in name] == []


def test_scheduled_sampling_decides_what_later_steps_see():
    frames, actions, rewards = window(length=7)
    losses = {}
    for mode in ("ground_truth", "prediction"):
        model = build("deterministic", sampling=ScheduledSampling(mode))
        losses[mode] = model.window_losses(frames, actions, rewards, 0, FixedNoise(0.5))
    np.testing.assert_array_equal(*(x.reward_logits[:, 0] for x in losses.values()))
    assert not np.array_equal(*(x.reward_logits[:, 1] for x in losses.values()))


def test_evaluation_feeds_true_frames_and_has_no_training_losses():
    model = build("carried")
    first = model.window_losses(*window(), 0, StatelessNoise((0, 1)), training=False)
    assert not np.any(first.latent)
    assert not np.any(first.context)
    assert np.all(first.pixel > 0)


def test_median_colour():
    frames = np.random.RandomState(0).randint(0, 256, (3, 2, 5, 4, 3)).astype(np.uint8)
    ordered = np.sort(frames.reshape(-1, 3), axis=0)
    np.testing.assert_array_equal(
        median_colour(tf.constant(frames)), ordered[(len(ordered) - 1) // 2]
    )


def test_pixel_noise_replaces_whole_pixels_by_the_median_colour():
    model = build("deterministic", pixel_noise=0.3)
    frames = window()[0][:, :4]
    noisy = model.corrupt_inputs(frames, StatelessNoise((1, 2))).numpy()
    changed = (noisy != frames.numpy()).any(-1)
    assert 0.1 < changed.mean() < 0.35
    assert (noisy[changed] == median_colour(frames).numpy()).all()


@pytest.mark.parametrize("name", MODELS)
def test_a_checkpoint_restores_the_model(name, tmp_path):
    model = build(name, seed=1)
    path = tf.train.Checkpoint(model=model).write(str(tmp_path / "model"))
    other = build(name, seed=2)
    tf.train.Checkpoint(model=other).read(path).assert_consumed()
    for ours, theirs in zip(other.weights, model.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_frames_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"built for \(4, 21, 18, 3\)"):
        build("carried").initial_state(tf.zeros([1, 4, 20, 18, 3], tf.uint8), tf.zeros([1, 3]))
    model = build("deterministic")
    frames, actions, rewards = window()
    with pytest.raises(ValueError, match=r"built for \(4, 21, 18, 3\)"):
        model.step((), frames[:, :3], actions[:, 0], (0, 0))
    with pytest.raises(ValueError, match="must be uint8, not float32"):
        model.step((), tf.cast(frames[:, :4], tf.float32), actions[:, 0], (0, 0))
    with pytest.raises(ValueError, match="leaves nothing to predict"):
        model.window_losses(frames[:, :4], actions[:, :3], rewards[:, :3], 0, FixedNoise(0.5))
    with pytest.raises(ValueError, match=r"needs actions of shape \[B, 5\]"):
        model.window_losses(frames, actions[:, 1:], rewards, 0, FixedNoise(0.5))


def test_actions_out_of_range_are_refused_also_in_a_graph():
    model = build("deterministic")
    frames = window()[0][:, :4]
    with pytest.raises(ValueError, match=r"outside 0\.\.3"):
        model.step((), frames, tf.constant([0, 4]), (0, 0))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"outside 0\.\.3"):
        tf.function(model.step)((), frames, tf.constant([-1, 0]), tf.constant([0, 0]))


def test_unknown_inputs_are_refused():
    with pytest.raises(ValueError, match="Unknown inputs 'both'"):
        StochasticDiscreteModel(SHAPE, 4, head_of("l2"), inputs="both")


def test_arrays_are_as_good_as_tensors_and_checked_like_them():
    model = build("carried", temperature=0.0)
    frames, actions, _ = (value.numpy() for value in window())
    history, action = frames[:, :4], actions[:, 3]
    state = model.initial_state(history, actions[:, :3])
    tensors = model.step(state, tf.constant(history), tf.constant(action), (0, 0))
    np.testing.assert_array_equal(
        model.step(state, history, action, (0, 0)).outputs, tensors.outputs
    )
    with pytest.raises(ValueError, match="built for"):
        model.step(state, history[:, :, 1:], action, (0, 0))
    with pytest.raises(ValueError, match="must be uint8, not float32"):
        model.initial_state(history.astype(np.float32), actions[:, :3])
