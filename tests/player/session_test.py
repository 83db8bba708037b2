"""A dream and the real game, the one a model of the other whose faults are known."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.codec import read_frames
from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.player.critic import Critic
from simple_tf.player.dream import Dream
from simple_tf.player.places import Place, Places
from simple_tf.player.real_game import RealGame
from simple_tf.player.session import Session

from ..evaluation.ring import COLUMNS, SHAPE, STACK, RingModel, RingPolicy

START = Place(1, 1, 40)


def play(session, chooser, temperature=1.0):
    return session.step(session.choice(chooser, temperature))


def test_the_real_game_goes_on_as_it_did_when_the_same_actions_are_taken(make_session, store):
    session = make_session()
    episode = store.get((1, 1))
    truth = read_frames(episode)
    moment = session.start(START)
    np.testing.assert_array_equal(moment.real.frame, truth[40])
    np.testing.assert_array_equal(moment.dream.frame, truth[40])
    assert (moment.step, moment.action, moment.score, moment.over) == (0, None, 0.0, False)
    for step in range(40, 100):
        moment = session.step(int(episode.actions[step]))
        np.testing.assert_array_equal(moment.real.frame, truth[step + 1])
        assert moment.real.reward == episode.rewards[step]
    assert moment.score == episode.raw_rewards[40:100].sum()
    assert moment.real.total == episode.rewards[40:100].sum()
    assert (moment.step, moment.place) == (60, START)


def test_a_perfect_dream_stays_beside_the_game(make_session):
    session = make_session()
    session.start(START)
    for _ in range(3 * COLUMNS):
        moment = session.step(1)
        np.testing.assert_array_equal(moment.dream.frame, moment.real.frame)
        assert (moment.dream.reward, moment.dream.total) == (moment.real.reward, moment.real.total)
    assert moment.real.total == 3  # Three times round.


def test_a_dream_that_never_pays_is_seen_not_to(make_session):
    session = make_session(RingModel(pays="never"))
    session.start(START)
    for _ in range(COLUMNS):
        moment = session.step(1)
    assert (moment.dream.total, moment.real.total) == (0, 1)


def test_dreams_pay_what_the_run_s_dreams_pay(make_session):
    unsure = RingModel()
    step = unsure.step

    def hesitant(*arguments):  # 1 with three quarters, 0 with one.
        prediction = step(*arguments)
        return prediction._replace(
            reward_logits=0 * prediction.reward_logits + [-99.0, 0.0, np.log(3)]
        )

    unsure.step = hesitant
    for kind, paid in (("likeliest", 1.0), ("expected", 0.75)):
        session = make_session(unsure, kind)
        session.start(START)
        assert session.step(0).dream.reward == pytest.approx(paid)


class Homing(tf.keras.Model):
    """Goes towards column 8, and says where it sees the dot."""

    def call(self, observations, iteration=-1):
        column = tf.argmax(observations[:, -1, 5, :, 0], axis=-1)
        right = tf.where(column < 8, 99.0, -99.0)
        return tf.stack([-right, right], axis=-1), tf.cast(column, tf.float32)


def test_the_policy_acts_on_what_it_sees(make_session):
    still = RingModel(moves=False)  # In this dream the dot stays where it is.
    session = make_session(still, critic=Homing())
    start = session.start(START)
    in_dream = [play(session, "dream") for _ in range(40)]
    assert len({moment.action for moment in in_dream}) == 1
    assert {moment.dream.opinion.value for moment in in_dream} == {start.dream.opinion.value}
    in_game = [play(session, "real") for _ in range(40)]
    assert {moment.real.opinion.value for moment in in_game[20:]} == {7.0, 8.0}
    assert [moment.action for moment in in_game[20:24]] in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_opinions_at_other_temperatures(make_session):
    session = make_session(critic=RingPolicy(right=0.8))
    opinion = session.start(START).dream.opinion
    np.testing.assert_allclose(opinion.probabilities(), [0.2, 0.8], rtol=1e-5)
    np.testing.assert_array_equal(opinion.probabilities(0), [0, 1])
    np.testing.assert_allclose(opinion.probabilities(0.5), np.array([4, 64]) / 68, rtol=1e-5)
    assert {play(session, "dream", 0.0).action for _ in range(20)} == {1}
    assert {play(session, "dream", 1.0).action for _ in range(60)} == {0, 1}


def test_the_same_seed_plays_the_same(make_session):
    def actions():
        session = make_session()
        session.start(START)
        return [play(session, "dream").action for _ in range(30)]

    assert actions() == actions()


def test_what_was_played_can_be_shown_again(make_session):
    session = make_session(RingModel(pays="never"))
    with pytest.raises(ValueError, match="nothing has been played"):
        session.comparison()
    session.start(START)
    session.step(0)
    moment = session.start(START)  # Forgets what came before.
    played = [session.step(1) for _ in range(COLUMNS)]
    comparison = session.comparison()
    assert (comparison.num_rollouts, comparison.horizon) == (1, COLUMNS)
    np.testing.assert_array_equal(comparison.start[0], moment.dream.frame)
    np.testing.assert_array_equal(comparison.simulated[0], [m.dream.frame for m in played])
    np.testing.assert_array_equal(comparison.real[0], [m.real.frame for m in played])
    assert comparison.real_rewards.sum() == 1
    assert comparison.simulated_rewards.sum() == 0


def test_steps_that_cannot_be_played(make_session):
    session = make_session()
    for impossible in (lambda: session.step(0), lambda: session.choice("dream")):
        with pytest.raises(ValueError, match="nothing has been started"):
            impossible()
    session.start(START)
    for action in (2, -1):
        with pytest.raises(ValueError, match=rf"there is no action {action}: they are 0\.\.1"):
            session.step(action)
    with pytest.raises(ValueError, match="'cat' is none of those who can play"):
        session.choice("cat")
    with pytest.raises(ValueError, match="a temperature is 0 or more"):
        session.choice("dream", -1.0)
    assert session.step(0).step == 1  # Nothing was spoilt.


def test_the_record_plays_what_was_played(make_session, store):
    session = make_session()
    episode = store.get((1, 1))
    session.start(START)
    for step in range(40, episode.num_steps):
        assert play(session, "record").action == episode.actions[step]
    with pytest.raises(ValueError, match="the record of this episode ends here"):
        session.choice("record")
    assert session.step(0).step == episode.num_steps - 40 + 1


def test_a_game_that_fails_leaves_the_dream_where_it_was(make_session, monkeypatch):
    session = make_session()
    session.start(START)
    before = session.step(1)

    def fail(action):
        raise RuntimeError("the cat sat on the joystick")

    with monkeypatch.context() as patch:
        patch.setattr(session._real, "step", fail)
        with pytest.raises(RuntimeError, match="the cat"):
            session.step(1)
    after = session.step(1)
    assert after.step == before.step + 1
    np.testing.assert_array_equal(after.dream.frame, after.real.frame)


def test_a_game_that_does_not_come_to_the_same_moment_is_left_out(tmp_path, source):
    """Its episodes say that the dot jumped; no game with this seed does that."""
    store = EpisodeStore.create_or_open(
        tmp_path, StoreDescription(source.name, SHAPE, ("LEFT", "RIGHT"))
    )
    frames = np.zeros((9, *SHAPE), np.uint8)
    frames[np.arange(9), 4:8, [1, 8, 2, 9, 3, 10, 4, 11, 5]] = 255
    recorder = EpisodeRecorder(0, 0, 0, frames[0])
    for frame in frames[1:]:
        recorder.add(1, 0.0, 0, frame)
    store.append(recorder.finish(False, True))
    session = Session(
        Places(store.episodes, STACK),
        Dream(RingModel()),
        RealGame(source, STACK),
        Critic(RingPolicy()),
        "likeliest",
    )
    moment = session.start(Place(0, 0, 5))
    np.testing.assert_array_equal(moment.dream.frame, frames[5])
    assert (moment.real, moment.screen) == (None, None)
    moment = session.step(1)
    assert moment.dream.frame[5, 11, 0] == 255  # The dream goes on.
    assert moment.real is None
    with pytest.raises(ValueError, match="not beside this dream"):
        session.choice("real")
    with pytest.raises(ValueError, match="nothing has been played beside the real game"):
        session.comparison()
