import numpy as np
import pytest
import tensorflow as tf

from simple_tf.evaluation.rollout import RolloutSimulator
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.patch import PatchModel
from simple_tf.models.stochastic_discrete import StochasticDiscreteModel
from simple_tf.player.dream import Dream

SHAPE, ACTIONS, STEPS = (16, 12, 3), 5, 6
RANDOM = np.random.RandomState(0)
FRAMES = RANDOM.randint(0, 256, (4, *SHAPE)).astype(np.uint8)
PLAYED = RANDOM.randint(0, ACTIONS, 3 + STEPS)


def followed(dream, actions=PLAYED):
    dream.start(FRAMES, actions[:3], age=2)
    frames, rewards = [], []
    for action in actions[3:].tolist():
        rewards.append(dream.step(action))
        frames.append(dream.observation[-1])
    return np.stack(frames), np.stack(rewards)


def test_step_by_step_as_in_one_call():
    # Past actions are the model's state; frames come back as its input.
    head = SoftmaxHead(SHAPE[2])
    model = PatchModel(SHAPE, ACTIONS, head, hidden_size=16, past_actions=True, seed=3)
    for variable in model.trainable_variables:  # A new model's frames are all black.
        variable.assign(tf.constant(RANDOM.normal(size=variable.shape, scale=0.3), tf.float32))
    frames, rewards = followed(Dream(model))
    simulated, likeliest = RolloutSimulator(model, STEPS)(
        tf.constant(FRAMES[None]), tf.constant(PLAYED[None], tf.int32), tf.constant([0, 0])
    )
    np.testing.assert_array_equal(frames, simulated[0])
    np.testing.assert_array_equal(rewards.argmax(-1) - 1, likeliest[0])
    np.testing.assert_allclose(rewards.sum(-1), 1.0, rtol=1e-5)
    other = np.where(np.arange(3 + STEPS) < 4, PLAYED, (PLAYED + 1) % ACTIONS)
    changed, _ = followed(Dream(model), other)
    assert (changed[0] == frames[0]).all()
    assert (changed[1:] != frames[1:]).any()


@pytest.fixture(scope="module")
def drawn():
    return StochasticDiscreteModel(
        SHAPE,
        ACTIONS,
        SoftmaxHead(SHAPE[2]),
        hidden_size=8,
        compress_steps=2,
        middle_layers=1,
        seed=1,
    )


def test_draws_depend_on_the_seed_and_on_what_came_before(drawn):
    dream, again = Dream(drawn, seed=4), Dream(drawn, seed=4)
    first, second = followed(dream)[0], followed(dream)[0]
    np.testing.assert_array_equal(first, followed(again)[0])
    np.testing.assert_array_equal(second, followed(again)[0])
    assert (first != second).any()
    assert (first != followed(Dream(drawn, seed=5))[0]).any()


def test_a_thousand_steps_are_one_trace(drawn):
    dream = Dream(drawn)
    followed(dream)
    followed(dream)
    assert dream._advance.experimental_get_tracing_count() == 1
    assert dream._begin.experimental_get_tracing_count() == 1
