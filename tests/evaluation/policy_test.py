"""Policies are scored in the real game as the protocol says."""

import dataclasses
from pathlib import Path

import gin
import numpy as np
import pytest
import tensorflow as tf

from simple_tf.envs.atari import AtariSource
from simple_tf.envs.catalog import find_game
from simple_tf.envs.settings import AtariSettings
from simple_tf.evaluation.card import RANDOM
from simple_tf.evaluation.episodes import EvaluationStopped
from simple_tf.evaluation.policy import Origin, PolicyEvaluator
from simple_tf.evaluation.progress import expected_total
from simple_tf.evaluation.protocol import IN_TRAINING, EvaluationProtocol, protocol_for


class Fixed(tf.keras.Model):
    """Prefers one action by `margin`, whatever it sees."""

    def __init__(self, action, num_actions=2, margin=50.0):
        super().__init__()
        self._logits = margin * tf.one_hot([action], num_actions)

    def call(self, observations, iteration=-1):
        batch = tf.shape(observations)[0]
        return tf.repeat(self._logits, batch, axis=0), tf.zeros([batch])


@pytest.fixture
def corridor(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
    return find_game("tiny_games:Corridor-v0")


def evaluate(source, network, seed=0, origin=None, **protocol):
    evaluator = PolicyEvaluator(source, EvaluationProtocol(**protocol), seed=seed, num_workers=0)
    return evaluator.evaluate(network, origin)


@pytest.mark.parametrize(("action", "score"), [(1, 5.0), (0, -2.0)])
@pytest.mark.parametrize("episodes", [1, 2, 7])
def test_a_known_policy_gets_the_known_score(corridor, action, score, episodes):
    evaluation = evaluate(corridor, Fixed(action), episodes=episodes)
    assert [episode.raw_return for episode in evaluation.episodes] == [score] * episodes
    assert evaluation.metrics()["mean_score"] == score


def test_more_episodes_than_slots(corridor):
    evaluator = PolicyEvaluator(
        corridor, EvaluationProtocol(episodes=13), max_slots=5, num_workers=0
    )
    episodes = evaluator.evaluate(Fixed(1)).episodes
    assert len(episodes) == 13
    assert len({episode.seed for episode in episodes}) == 13


def test_temperature(corridor):
    hesitant = Fixed(1, margin=1.0)
    greedy = evaluate(corridor, hesitant, temperature=0, episodes=12)
    assert {episode.raw_return for episode in greedy.episodes} == {5.0}
    sampled = evaluate(corridor, hesitant, temperature=1.0, episodes=12)
    share = np.mean(np.concatenate([episode.actions for episode in sampled.episodes]))
    assert share == pytest.approx(1 / (1 + np.exp(-1.0)), abs=0.12)


def test_seed_and_iteration_decide_everything(corridor):
    def played(seed, iteration):
        origin = Origin("somewhere", iteration, 100)
        evaluation = evaluate(corridor, Fixed(1, margin=0.1), seed, origin, episodes=5)
        return [(episode.seed, *episode.actions) for episode in evaluation.episodes]

    assert played(1, 2) == played(1, 2)
    assert played(1, 2) != played(1, 3)
    assert played(1, 2) != played(2, 2)


def test_the_random_player(corridor):
    evaluation = evaluate(corridor, None, episodes=20)
    assert {episode.raw_return for episode in evaluation.episodes} == {5.0, -2.0}
    card = evaluation.card()
    assert card.player == RANDOM
    assert (card.temperature, card.checkpoint, card.interactions) == (None, None, 0)


def test_the_card_says_how_the_game_was_played():
    source = AtariSource("pong", AtariSettings(resize_factor=5, grayscale=True))
    origin = Origin("policies/iteration_004", 4, 1234)
    protocol = {"noops": False, "sticky_probability": 0.25, "max_steps": 3, "episodes": 2}
    card = evaluate(source, Fixed(0, 6), 7, origin, **protocol).card()
    assert card.game == "pong"
    assert card.game_settings["noop_range"] == (0, 0)
    assert card.game_settings["sticky_probability"] == 0.25
    assert card.game_settings["resize_factor"] == 5
    assert (card.lengths, card.cut, card.returns) == ((3, 3), (True, True), (0.0, 0.0))
    assert (card.checkpoint, card.iteration, card.interactions) == (
        "policies/iteration_004",
        4,
        1234,
    )
    assert (card.temperature, card.seed, card.max_steps) == (0.5, 7, 3)
    assert card.versions["ale-py"]


def test_no_ops_are_those_of_the_game_unless_switched_off():
    source = AtariSource("pong", AtariSettings(noop_range=(2, 3)))
    assert EvaluationProtocol().applied_to(source) == source
    off = EvaluationProtocol(noops=False).applied_to(source)
    assert off.settings == dataclasses.replace(source.settings, noop_range=(0, 0))


def test_sticky_actions_of_a_game_that_has_none(corridor):
    with pytest.raises(ValueError, match="only Atari games have them"):
        EvaluationProtocol(sticky_probability=0.25).applied_to(corridor)


def test_a_stop_ends_it_without_scores(corridor):
    evaluator = PolicyEvaluator(corridor, EvaluationProtocol(episodes=2), num_workers=0)
    with pytest.raises(EvaluationStopped):
        evaluator.evaluate(None, should_stop=lambda: True)


@pytest.mark.parametrize(
    "wrong",
    [{"episodes": 0}, {"temperature": -1}, {"max_steps": 0}, {"noops": 8}, {"episodes": 2.5}],
)
def test_wrong_choices_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        EvaluationProtocol(**wrong)


def test_gin_binds_protocols_by_purpose():
    with gin.unlock_config():
        gin.parse_config(
            "EvaluationProtocol.temperature = 0.25\nin_training/EvaluationProtocol.episodes = 32"
        )
    try:
        assert protocol_for(IN_TRAINING) == EvaluationProtocol(episodes=32, temperature=0.25)
        assert protocol_for("final") == EvaluationProtocol(episodes=64, temperature=0.25)
    finally:
        gin.clear_config()


def test_the_expected_total_of_a_bar():
    # 100 steps played; episodes at 10 and 60 steps and two waiting, each to last 50.
    assert expected_total(100, [10, 60], 2, 50.0) == 100 + 40 + 0 + 100
