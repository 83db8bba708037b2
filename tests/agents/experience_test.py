"""What is collected is what was played, over the ends of episodes too."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents.experience import collect
from simple_tf.agents.policy_network import NO_ITERATION, PolicyNetwork

B, T = 5, 24


@pytest.fixture(scope="module")
def network():
    return PolicyNetwork((2, 6, 6, 1), 3, filters=4, hidden_size=16)


def collected(game, network, num_steps=T, seed=(1, 2)):
    run = tf.function(lambda seed: collect(game, network, num_steps, NO_ITERATION, seed))
    return tf.nest.map_structure(lambda x: x.numpy(), run(tf.constant(seed)))


@pytest.mark.parametrize("over", [False, True])
def test_every_row_is_a_step_of_the_game(signal_game, network, over):
    game = signal_game(B, length=7, over=over, stagger=2)
    played = collected(game, network)
    phase = 2 * np.arange(B) % 7
    for t in range(T):
        lamps = game.lamps(t).numpy()
        shown = played.observations[t, :, -1, 0, :, 0].argmax(-1) // 2
        np.testing.assert_array_equal(shown, lamps)
        restarting = phase == 7
        np.testing.assert_array_equal(played.mask[t], ~restarting)
        right = np.where(played.actions[t] == lamps, 1.0, -1.0)
        np.testing.assert_array_equal(played.rewards[t], np.where(restarting, 0.0, right))
        phase = np.where(restarting, 0, phase + 1)
        np.testing.assert_array_equal(played.ends[t], phase == 7)
        np.testing.assert_array_equal(played.discounts[t], 1.0 - (over & (phase == 7)))
    assert 0 < (played.mask == 0).sum() < B * T / 7 + 1


def test_log_probabilities_and_values_are_the_networks(signal_game, network):
    game = signal_game(B, length=7, stagger=1)
    played = collected(game, network)
    logits, values = network(played.observations.reshape(T * B, 2, 6, 6, 1))
    odds = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    chosen = odds[np.arange(T * B), played.actions.ravel()]
    np.testing.assert_allclose(played.log_probabilities.ravel(), np.log(chosen), atol=1e-5)
    np.testing.assert_allclose(played.values[:-1].ravel(), values, atol=1e-5)
    _, final = network(game.current_time_step().observation)
    np.testing.assert_allclose(played.values[-1], final, atol=1e-5)


def test_no_step_is_lost_where_all_end_together(signal_game, network):
    game = signal_game(B, length=T)
    for _ in range(3):
        played = collected(game, network)
        assert played.mask.all()
        assert played.ends[-1].all()
        assert not played.ends[:-1].any()


def test_the_seed_decides_the_actions(signal_game, network):
    one, same, other = (
        collected(signal_game(B), network, seed=seed).actions for seed in ((1, 2), (1, 2), (1, 3))
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert len(np.unique(one)) == 3
