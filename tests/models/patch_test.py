"""The patch model: every head, exact layout, what it starts from, XLA, checkpoints, learning."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.heads import L2Head, PaletteHead, SoftmaxHead
from simple_tf.models.noise import FixedNoise, StatelessNoise
from simple_tf.models.palette import Palette
from simple_tf.models.patch import PatchModel
from simple_tf.models.patch_layers import LocalSummary, PatchSize
from simple_tf.models.patch_outputs import PatchOutputs
from simple_tf.models.schedules import ScheduledSampling
from simple_tf.models.trainer import WorldModelTrainer

SHAPE = (10, 9, 1)  # Not a whole number of patches.
GREYS = np.array([0, 90, 140, 250], np.uint8)
SMALL = {"hidden_size": 8, "num_blocks": 1, "summary_units": 8, "reward_units": 8}


def palette_head(capacity=6):
    palette = Palette(capacity, channels=1)
    palette.update(GREYS.reshape(1, 1, 4, 1))
    return PaletteHead(palette)


def build(head=None, shape=SHAPE, **options):
    return PatchModel(shape, 4, head or palette_head(), **{**SMALL, **options})


def window(length=7, batch=3, seed=0, shape=SHAPE):
    rng = np.random.RandomState(seed)
    return (
        tf.constant(GREYS[rng.randint(0, 4, (batch, length, *shape))]),
        tf.constant(rng.randint(0, 4, (batch, length - 1)), tf.int32),
        tf.constant(rng.randint(0, 3, (batch, length - 1)), tf.int32),
    )


def randomised(model, seed=0):
    """Gives weights to the layers that start with zeros."""
    rng = np.random.RandomState(seed)
    for variable in model.outputs_layer.trainable_variables:
        variable.assign(rng.normal(0.0, 0.5, variable.shape))
    return model


@pytest.mark.parametrize("head", [palette_head(), SoftmaxHead(1), L2Head(1)])
def test_it_works_with_every_head(head):
    model = randomised(build(head))
    frames, actions, rewards = window()
    assert model.initial_state(frames[:, :4], actions[:, :3]) == ()
    prediction = model.step((), frames[:, :4], actions[:, 3], (0, 1))
    decoded = model.decode(prediction.outputs)
    assert decoded.dtype == tf.uint8
    assert decoded.shape == (3, *SHAPE)
    assert prediction.reward_logits.shape == (3, 3)
    losses = model.window_losses(frames, actions, rewards, 0, StatelessNoise((0, 2)))
    assert losses.total.shape == (3,)
    assert losses.reward_logits.shape == (3, 3, 3)
    assert np.isfinite(losses.total).all()
    assert not np.any(losses.latent)


def test_colours_need_no_training_to_be_known():
    """Three channels, too: the palette's colours are the only ones that are ever predicted."""
    palette = Palette(8)
    colours = np.array([[0, 0, 0], [200, 72, 72], [92, 186, 92]], np.uint8)
    palette.update(colours[None, None])
    model = randomised(build(PaletteHead(palette), (10, 9, 3)))
    frames = tf.constant(colours[np.random.RandomState(0).randint(0, 3, (2, 4, 10, 9))])
    decoded = model.decode(model.step((), frames, tf.constant([0, 1]), (0, 0)).outputs).numpy()
    assert (decoded[..., None, :] == colours).all(-1).any(-1).all()
    assert not np.array_equal(decoded, frames[:, -1])


def test_shades_that_it_cannot_predict_are_not_shown_to_it_either():
    model = randomised(build(motion_radius=1))
    frames, actions, rewards = window()
    shades = frames + tf.constant(np.random.RandomState(1).randint(0, 5, frames.shape), tf.uint8)
    for shown in (frames, shades):
        outputs = model.step((), shown[:, :4], actions[:, 3], (0, 0)).outputs
        losses = model.window_losses(shown, actions, rewards, 0, StatelessNoise((0, 2)))
        if shown is frames:
            expected = outputs, losses.total
    assert not np.array_equal(frames, shades)
    np.testing.assert_array_equal(outputs, expected[0])
    np.testing.assert_array_equal(losses.total, expected[1])


def test_before_training_nothing_changes():
    model = build()
    frames, actions, _ = window()
    outputs = model.step((), frames[:, :4], actions[:, 3], (0, 0)).outputs
    np.testing.assert_array_equal(model.decode(outputs), frames[:, 3])


def test_the_palette_in_patches_agrees_with_the_plain_head():
    """Loss, gradient and frame are the head's own, computed in another order."""
    model = randomised(build())
    frames, actions, _ = window()
    outputs = model.step((), frames[:, :4], actions[:, 3], (0, 0)).outputs
    layer, target = model.outputs_layer, frames[:, 4]
    results = []
    for functions in (layer, super(type(layer), layer)):
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            loss = functions.loss(outputs, target)
        results.append((loss, tape.gradient(loss, outputs), functions.decode(outputs)))
    assert isinstance(layer, PatchOutputs)
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-7)
    np.testing.assert_array_equal(results[0][2], results[1][2])


def test_a_local_reader_knows_in_all_places_what_it_has_learned_in_one():
    """Features at one position count the same wherever they are."""
    size = PatchSize((16, 12, 1), 4)
    layer = LocalSummary(size, 3, 5, 2, name="reward", seed=0)
    layer.kernel.assign(np.random.RandomState(0).normal(size=layer.kernel.shape))
    x = np.zeros((2, 4, 3, 3), np.float32)
    x[0, 1, 1] = x[1, 3, 2] = (1.0, -2.0, 0.5)
    logits = layer(tf.constant(x)).numpy()
    np.testing.assert_allclose(logits[0], logits[1], rtol=1e-6)
    assert np.abs(logits - layer(tf.zeros_like(x))).min() > 1e-3


@pytest.mark.parametrize("option", ["block", "reward_reader"])
def test_an_unknown_part_is_refused_with_the_choices(option):
    with pytest.raises(ValueError, match=rf"PatchModel.{option} must be one of \w+, \w+"):
        build(**{option: "nonsense"})


def test_patches_are_cut_and_joined_without_loss():
    size = PatchSize((10, 9, 1), 4)
    x = np.random.RandomState(0).rand(2, 10, 9, 3).astype(np.float32)
    patches = size.cut(tf.constant(x))
    assert patches.shape == (2, 3, 3, 48)
    np.testing.assert_array_equal(size.join(patches), x)
    # Pixel (row, column) of a patch has its channels at (row * side + column) * 3.
    np.testing.assert_array_equal(patches[1, 1, 0, (2 * 4 + 3) * 3 :][:3], x[1, 6, 3])


@pytest.mark.parametrize("position", [(0, 0), (9, 8), (4, 2)])
def test_every_pixel_of_every_input_frame_matters(position):
    model = randomised(build(summary_units=8))
    frames, actions, _ = window()

    def outputs(history):
        return model.step((), history, actions[:, 3], (0, 0)).outputs.numpy()

    before = outputs(frames[:, :4])
    for k in range(4):
        changed = frames[:, :4].numpy()
        changed[(slice(None), k, *position)] ^= 255
        assert not np.allclose(outputs(tf.constant(changed)), before)


def test_the_action_changes_the_prediction():
    model = randomised(build())
    frames, _, _ = window()
    one, other = (model.step((), frames[:, :4], tf.fill([3], a), (0, 0)) for a in (0, 3))
    assert not np.allclose(one.outputs, other.outputs)
    assert not np.allclose(one.reward_logits, other.reward_logits)


@pytest.mark.parametrize("moment", [0, 1, 2])
def test_past_actions_change_the_prediction_where_they_are_shown(moment):
    frames, actions, _ = window()
    past = actions[:, :3].numpy()
    past[:, moment] = (past[:, moment] + 1) % 4
    for past_actions in (False, True):
        model = randomised(build(past_actions=past_actions))
        one, other = (
            model.step(model.initial_state(frames[:, :4], a), frames[:, :4], actions[:, 3], (0, 0))
            for a in (actions[:, :3], tf.constant(past))
        )
        assert np.allclose(one.outputs, other.outputs) == (not past_actions)


def test_compiled_rollouts_agree_with_plain_ones():
    model = randomised(build())
    frames, actions, _ = window()

    def rollout(frames, actions):
        def body(t, frames):
            prediction = model.step((), frames, actions[:, 0], tf.stack([0, t]))
            newest = model.decode(prediction.outputs)[:, None]
            return t + 1, tf.concat([frames[:, 1:], newest], 1)

        return tf.while_loop(lambda t, *_: t < 3, body, (0, frames))[-1]

    plain = tf.function(rollout)(frames[:, :4], actions)
    compiled = tf.function(rollout, jit_compile=True)(frames[:, :4], actions)
    assert np.mean(plain.numpy() == compiled.numpy()) > 0.99


@pytest.mark.parametrize(
    "sees_more",
    [
        {},
        {"past_actions": True},
        {"motion_radius": 2},
        {"reward_ages": 4},
        {"reward_ages": 4, "past_actions": True},
    ],
)
def test_the_window_is_the_model_applied_step_by_step(sees_more):
    """Losses of all steps at once are those of a rollout that feeds back its own frames."""
    options = {"reward_weights": (3.0, 1.0, 2.0), "pixel_weight": 5.0}
    model = randomised(build(**sees_more, **options))
    frames, actions, rewards = window()
    ages = [0, 2, 50]
    losses = model.window_losses(
        frames, actions, rewards, 0, FixedNoise(0.5), ages=tf.constant(ages)
    )
    for t in range(3):
        ages = counted(ages, rewards[:, t])
    state = model.initial_state(frames[:, :4], actions[:, :3], ages=tf.constant(ages))
    history, pixel, reward = frames[:, :4], [], []
    for t in range(3):
        prediction = model.step(state, history, actions[:, 3 + t], (0, 0))
        state = prediction.state
        pixel.append(model.outputs_layer.loss(prediction.outputs, frames[:, 4 + t]))
        classes = rewards[:, 3 + t]
        if "reward_ages" in sees_more:  # In training it counts from the true rewards.
            ages = counted(ages, classes)
            state = (*state[:-1], tf.constant(ages))
        entropy = tf.keras.losses.sparse_categorical_crossentropy(
            classes, prediction.reward_logits, from_logits=True
        )
        weights = np.array([3.0, 1.0, 2.0])[classes.numpy()]
        reward.append(np.maximum(entropy - model.reward_loss.clip, 0.0) * weights)
        np.testing.assert_allclose(
            losses.reward_logits[:, t], prediction.reward_logits, rtol=1e-4, atol=1e-5
        )
        newest = model.decode(prediction.outputs)[:, None]
        history = tf.concat([history[:, 1:], newest], axis=1)
    np.testing.assert_allclose(losses.pixel, 5.0 * np.mean(pixel, axis=0), rtol=1e-4)
    np.testing.assert_allclose(losses.reward, np.mean(reward, axis=0), rtol=1e-4)


def counted(ages, classes):
    """Ages after a step with these reward classes."""
    return [age + 1 if c == 1 else 0 for age, c in zip(ages, classes.numpy(), strict=True)]


def test_scheduled_sampling_decides_what_later_steps_see():
    window_ = window()
    logits = {}
    for mode in ("ground_truth", "prediction"):
        model = randomised(build(sampling=ScheduledSampling(mode)))
        logits[mode] = model.window_losses(*window_, 0, FixedNoise(0.5)).reward_logits
    evaluated = model.window_losses(*window_, 0, FixedNoise(0.5), training=False).reward_logits
    np.testing.assert_allclose(logits["ground_truth"], evaluated, atol=1e-6)
    np.testing.assert_allclose(logits["prediction"][:, 0], evaluated[:, 0], atol=1e-6)
    assert not np.allclose(logits["prediction"][:, 1], evaluated[:, 1])


def test_gradients_reach_every_trainable_variable():
    model = randomised(build())
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model.window_losses(*window(), 0, FixedNoise(0.4)).total)
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        assert gradient is not None, variable.name
        assert np.any(tf.convert_to_tensor(gradient).numpy()), variable.name


def test_training_on_chosen_patches_leaves_out_what_stands_still():
    model, all_patches = (randomised(build(loss_patches=n, pixel_prior=False)) for n in (2, 9))
    frames = window(length=5)[0].numpy()
    frames[:, 4] = frames[:, 3]
    frames[:, 4, 0, 0] ^= 255  # Patch 0 changes, and
    frames[:, 4, 9, 8] ^= 255  # patch 8 does.
    arguments = (tf.constant(frames), *window(length=5)[1:], 0)
    # Chosen are exactly these two; their loss is what the other frames lose in them.
    loss = model.window_losses(*arguments, StatelessNoise((0, 1))).pixel
    prediction = model.step((), arguments[0][:, :4], arguments[1][:, 3], (0, 0))
    layer, target = model.outputs_layer, arguments[0][:, 4]
    inside = tf.gather(layer._inside, [0, 8], axis=1)
    outputs, slots = (
        tf.gather(x, [0, 8], axis=1) for x in (prediction.outputs, layer._slots(target))
    )
    np.testing.assert_allclose(loss, layer._loss(outputs, slots, inside), rtol=1e-5)
    everything = all_patches.window_losses(*arguments, StatelessNoise((0, 1))).pixel
    np.testing.assert_allclose(everything, layer.loss(prediction.outputs, target), rtol=1e-5)


def test_with_a_spread_a_near_colour_is_better_than_a_far_one():
    """GREYS are 0, 90, 140 and 250; the palette has two empty slots beside them."""
    model = build(colour_spread=40.0)
    layer = model.outputs_layer
    table = layer._spread_table().numpy()
    np.testing.assert_allclose(table[:4, :4].sum(axis=1), 1.0, rtol=1e-6)
    assert not table[:4, 4:].any()
    expected = np.exp(-((GREYS.astype(float) - 140.0) ** 2) / (2 * 40.0**2))
    grey = int(model.head.palette.encode(tf.constant([[[140]]], tf.uint8))[0, 0])
    order = model.head.palette.encode(tf.constant(GREYS[None, :, None]))[0].numpy()
    np.testing.assert_allclose(table[grey][order], expected / expected.sum(), rtol=1e-5)
    frames = tf.constant(np.full((1, *SHAPE), 140, np.uint8))
    outputs = np.zeros((4, 9, 6, 16), np.float32)
    for row, slot in enumerate(order):
        outputs[row, :, slot] = 5.0
    losses = layer.loss(tf.constant(outputs), tf.tile(frames, [4, 1, 1, 1])).numpy()
    assert losses[2] < losses[1] < losses[3] < losses[0] + 1e-6
    perfect = np.log(np.maximum(table[grey], 1e-9))[None, None, :, None] * np.ones((1, 9, 1, 16))
    np.testing.assert_allclose(layer.loss(tf.constant(perfect, tf.float32), frames), 0, atol=1e-5)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (0, lambda f, b: f[:, 3]),
        (1, lambda f, b: np.concatenate([f[:, 3, :1], f[:, 3, :-1]], axis=1)),
        (4, lambda f, b: np.concatenate([f[:, 3, :, 1:], f[:, 3, :, -1:]], axis=2)),
        (5, lambda f, b: f[:, 2]),
        (6, lambda f, b: np.broadcast_to(b, f[:, 3].shape)),
    ],
)
def test_a_pixel_can_take_its_colour_from_a_source(source, expected):
    model = build(copy_strength=0.0)
    model.normaliser.background.assign(window(seed=9)[0][0, 0])
    frames = window()[0][:, :4]
    kernel = np.zeros(model.outputs_layer.sources_kernel.shape, np.float32)
    kernel[:, source * 16 : (source + 1) * 16] = 1.0
    model.outputs_layer.sources_kernel.assign(kernel)
    outputs = model.outputs_layer(tf.ones([3, 3, 3, 8]), frames)
    background = model.normaliser.background.numpy()
    np.testing.assert_array_equal(model.decode(outputs), expected(frames.numpy(), background))


def test_a_pixel_can_take_its_colour_from_what_goes_on_moving():
    model = build(copy_strength=0.0, motion_radius=2)
    model.normaliser.background.assign(np.full(SHAPE, GREYS[0], np.uint8))
    frames = np.full((2, 5, *SHAPE), GREYS[0], np.uint8)
    for step in range(5):
        frames[0, step, 4, 2 + step] = GREYS[2]
        frames[1, step, 9 - 2 * step, 6] = GREYS[1]
    kernel = np.zeros(model.outputs_layer.sources_kernel.shape, np.float32)
    kernel[:, 7 * 16 :] = 1.0
    model.outputs_layer.sources_kernel.assign(kernel)
    shown = model._as_shown(tf.constant(frames[:, :4]))
    outputs = model.outputs_layer(tf.ones([2, 3, 3, 8]), shown)
    np.testing.assert_array_equal(model.decode(outputs), frames[:, 4])


def test_before_training_everything_goes_on_moving_if_motion_is_shown():
    model = build(motion_radius=2)
    model.normaliser.background.assign(np.full(SHAPE, GREYS[0], np.uint8))
    frames = np.full((1, 5, *SHAPE), GREYS[0], np.uint8)
    for step in range(5):
        frames[0, step, 1 + step, 7 - step] = GREYS[3]
    prediction = model.step((), tf.constant(frames[:, :4]), tf.constant([1]), (0, 0))
    np.testing.assert_array_equal(model.decode(prediction.outputs), frames[:, 4])


def test_wrong_reward_weights():
    with pytest.raises(ValueError, match="needs 3 numbers"):
        build(reward_weights=(1.0, 2.0))


def test_a_checkpoint_of_the_trainer_has_weights_palette_and_background(tmp_path):
    model = randomised(build())
    model.adapt(window()[0].numpy().reshape(-1, *SHAPE))
    trainer = WorldModelTrainer(model, tf.keras.optimizers.Adam(0.01))
    trainer.train_step(*window())
    path = tf.train.Checkpoint(trainer=trainer).write(str(tmp_path / "model"))
    other = build(PaletteHead(Palette(6, channels=1)), seed=5)
    restored = WorldModelTrainer(other, tf.keras.optimizers.Adam(0.01))
    tf.train.Checkpoint(trainer=restored).read(path).assert_consumed()
    frames, actions, _ = window(seed=3)
    ours, theirs = (m.step((), frames[:, :4], actions[:, 3], (0, 0)) for m in (model, other))
    np.testing.assert_array_equal(ours.outputs, theirs.outputs)
    np.testing.assert_array_equal(model.decode(ours.outputs), other.decode(theirs.outputs))
    other.adapt(np.zeros((2, *SHAPE), np.uint8))  # Knows that its background has been set.
    again = other.step((), frames[:, :4], actions[:, 3], (0, 0))
    np.testing.assert_array_equal(again.outputs, theirs.outputs)


def moving_dots(count=64, length=8, seed=0):
    """A dot that the action moves left or right, and a reward at the edge it comes to."""
    rng = np.random.RandomState(seed)
    frames = np.zeros((count, length, *SHAPE), np.uint8)
    place = rng.randint(0, SHAPE[1], count)
    row = rng.randint(0, SHAPE[0], count)
    actions = rng.randint(0, 2, (count, length - 1))
    classes = np.ones((count, length - 1), np.int32)
    for t in range(length):
        frames[np.arange(count), t, row, place, 0] = 250
        if t < length - 1:
            place = np.clip(place + 2 * actions[:, t] - 1, 0, SHAPE[1] - 1)
            classes[:, t] += (place == SHAPE[1] - 1).astype(int) - (place == 0).astype(int)
    return tf.constant(frames), tf.constant(actions, tf.int32), tf.constant(classes)


def test_it_learns_a_small_game():
    model = PatchModel(SHAPE, 4, palette_head(), hidden_size=16, num_blocks=1, pixel_weight=20.0)
    model.adapt(moving_dots()[0].numpy().reshape(-1, *SHAPE))
    trainer = WorldModelTrainer(model, tf.keras.optimizers.Adam(0.005), jit_compile=True)
    for step in range(300):
        metrics = trainer.train_step(*moving_dots(seed=step))
    assert metrics["reward_accuracy"] > 0.95
    frames, actions, _ = moving_dots(seed=1000)
    prediction = model.step((), frames[:, :4], actions[:, 3], (0, 0))
    right = (model.decode(prediction.outputs).numpy() == frames[:, 4].numpy()).all((1, 2, 3))
    assert right.mean() > 0.9


@pytest.mark.parametrize("jit", [False, True])
def test_shifts_show_every_position_its_neighbours(jit):
    """A change is seen one patch further with every block, and in the patch itself."""
    wide = {"hidden_size": 64, "summary_units": 0}
    for blocks in (1, 2):
        model = build(shape=(28, 28, 1), block="shift", num_blocks=blocks, **wide)
        model.normaliser.adapt(np.zeros((1, 28, 28, 1), np.uint8))
        features = tf.function(model._features, jit_compile=jit)
        frames = np.zeros((1, 4, 28, 28, 1), np.uint8)
        before = features(tf.constant(frames), tf.constant([[0]])).numpy()
        frames[0, :, 12:16, 12:16] = 250  # The patch in the middle of 7x7.
        changed = features(tf.constant(frames), tf.constant([[0]])).numpy() != before
        reach = np.zeros((7, 7), bool)
        reach[3 - blocks : 4 + blocks, 3 - blocks : 4 + blocks] = True
        np.testing.assert_array_equal(changed.any(-1)[0], reach)


def test_unknown_blocks_and_odd_channels_are_refused():
    with pytest.raises(ValueError, match="must be one of convolution, shift, not 'swift'"):
        build(block="swift")
    with pytest.raises(ValueError, match="multiples of 8, not 12"):
        build(block="shift", hidden_size=12)
