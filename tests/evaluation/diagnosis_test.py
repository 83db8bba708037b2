"""Models and policies whose every fault is known, on real play of a game: the fault is named."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from simple_tf.agents.acting import PolicyPlayer
from simple_tf.data.reward_ages import LONG_AGO
from simple_tf.envs.catalog import find_game
from simple_tf.evaluation.diagnosis import Mean, measure
from simple_tf.evaluation.diagnosis_json import from_json, to_json
from simple_tf.evaluation.dreams import Dreamer
from simple_tf.evaluation.episodes import EvaluationStopped
from simple_tf.evaluation.gaps import find_gaps, largest, verdict
from simple_tf.evaluation.novelty import Novelty
from simple_tf.evaluation.reward_quality import RewardCounts
from simple_tf.evaluation.segments import cut_segments, record_episodes

from .ring import DISCOUNT, STACK, RingModel, RingPolicy

HORIZON = 20
PLENTY = {-1: 40, 1: 60}
FAMILIAR = Novelty(1.0, 0.05, (0.0, 2.0), (0.0, 2.0))


@pytest.fixture(scope="module")
def source():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
        yield find_game("tiny_games:Ring-v0")


def play(source, policy, episodes=8, max_steps=160, **options):
    player = PolicyPlayer(policy, 1.0, seed=3)
    return record_episodes(source, player, episodes, STACK, max_steps, 5, num_workers=0, **options)


def cut(episodes, most=1000):
    return cut_segments(episodes, STACK, HORIZON, DISCOUNT, most, seed=0)


def examine(segments, model, policy, kind="likeliest", novelty=FAMILIAR, held_out=None):
    dreamer = Dreamer(model, policy, batch_size=16, seed=1)
    return measure(segments, dreamer, 2, kind, PLENTY, 1000, novelty, held_out)


@pytest.fixture(scope="module")
def segments(source):
    return cut(play(source, RingPolicy()))


@pytest.fixture(scope="module")
def perfect(segments):
    return examine(segments, RingModel(), RingPolicy())


def test_a_perfect_model_has_no_gap(perfect, segments):
    assert largest(find_gaps(perfect)) is None
    assert verdict(find_gaps(perfect)).startswith("No gap is above its threshold")
    assert perfect.num_segments == len(segments) == 8 * 7
    assert perfect.returns.followed_excess == Mean(0.0, 0.0, 0.0)
    assert perfect.returns.real.mean == segments.rewards.sum() / len(segments) > 0
    assert perfect.motion.changed_right == (1.0,) * HORIZON
    assert perfect.motion.visible_mass == (1.0,) * HORIZON
    for one in perfect.rewards:
        assert one.at_sight.real == (segments.rewards == one.reward).sum() > 5
        assert (one.dreamed.recall, one.dreamed.precision, one.dreamed.f1) == (1.0, 1.0, 1.0)
        assert sum(counts.real for _, _, counts in one.by_depth) == one.dreamed.real


def test_segments_know_how_long_ago_the_last_reward_was(source):
    episodes = play(source, RingPolicy(), episodes=2)
    segments = cut(episodes)
    newest = STACK - 1 + HORIZON * np.arange(len(segments) // 2)
    expected = []
    for episode in episodes:
        rewarded = [np.flatnonzero(episode.rewards[:frame]) for frame in newest]
        expected += [
            frame - 1 - earlier[-1] if len(earlier) else None
            for frame, earlier in zip(newest, rewarded, strict=True)
        ]
    assert len(set(expected)) > 4
    for age, known in zip(segments.ages, expected, strict=True):
        assert age >= LONG_AGO if known is None else age == known


def test_a_model_that_never_pays(segments):
    measured = examine(segments, RingModel(pays="never"), RingPolicy())
    worst = largest(find_gaps(measured))
    assert worst.name == "the rewards at sight"
    assert (worst.error, worst.severity) == (1.0, 1.0)
    assert "finds 0% of the rewards -1 and 0% of the rewards +1" in verdict(find_gaps(measured))
    assert measured.returns.followed.mean == measured.returns.acted.mean == 0.0
    assert measured.returns.followed_excess.mean == -measured.returns.real.mean


def test_a_reward_one_step_late_is_no_fault(segments):
    measured = examine(segments, RingModel(pays="late"), RingPolicy())
    # What is due after the last step is lost, and nothing else.
    for one, reward in zip(measured.rewards, (-1, 1), strict=True):
        lost = np.sum(segments.rewards[:, -1] == reward)
        assert one.dreamed.found == one.dreamed.real - lost > 0
        assert one.dreamed.precision == 1.0
    assert all(one.bins[0].observed > 0 for one in measured.rewards)  # Calibration is strict.


def test_a_model_that_freezes(segments):
    measured = examine(segments, RingModel(moves=False), RingPolicy())
    worst = largest(find_gaps(measured))
    assert worst.name == "the picture of what moves"
    assert measured.motion.visible_mass == (1.0,) * HORIZON
    # Its dot stays where it was: wrong there, and wrong where the game's dot has gone.
    assert measured.motion.mean_changed_right == 0.0


def test_a_model_whose_things_fade(segments):
    measured = examine(segments, RingModel(dims=0.1), RingPolicy())
    mass = np.array(measured.motion.visible_mass)
    np.testing.assert_allclose(mass, 0.9 ** np.arange(1, HORIZON + 1), atol=0.02)
    assert largest(find_gaps(measured)).name == "the picture of what moves"
    assert "12% of its mass" in verdict(find_gaps(measured))


def test_a_value_that_hopes_for_too_much(segments):
    measured = examine(segments, RingModel(), RingPolicy(error=3.0))
    assert largest(find_gaps(measured)).name == "the value at the end of rollouts"
    assert measured.value.excess.mean == pytest.approx(3.0, abs=4 * measured.value.excess.error)
    assert measured.value.dreamed_excess == Mean(0.0, 0.0, 0.0)  # The dream ends where it should.
    # Of each episode's 7 segments the last one ends too close to the cap: 29 steps are needed.
    assert measured.value.segments == 8 * 6


def test_the_true_value_is_no_gap(perfect):
    assert abs(perfect.value.excess.mean) < 3 * perfect.value.excess.error


def test_a_policy_that_does_not_care(source):
    policy = RingPolicy(right=0.5)
    measured = examine(cut(play(source, policy)), RingModel(), policy)
    assert largest(find_gaps(measured)).name == "an undecided policy"
    assert measured.entropy.highest == math.log(2)
    np.testing.assert_allclose(measured.entropy.real, math.log(2), rtol=1e-5)
    np.testing.assert_allclose(measured.entropy.dreamed, math.log(2), rtol=1e-5)
    assert len(measured.entropy.real) == HORIZON + 1


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"rewards_in_data": {-1: 0, 1: 1}}, "the rewards in the data"),
        ({"novelty": Novelty(1.0, 0.9, (0.0, 9.0), (0.0, 2.0))}, "states never seen"),
    ],
)
def test_faults_of_the_data(perfect, changed, name):
    assert largest(find_gaps(dataclasses.replace(perfect, **changed))).name == name


def test_dreams_that_pay_too_much(perfect):
    returns = dataclasses.replace(perfect.returns, acted_excess=Mean(4.0, 0.1, 1.0))
    measured = dataclasses.replace(perfect, returns=returns)
    assert largest(find_gaps(measured)).name == "the dreamed return"
    noise = dataclasses.replace(perfect.returns, acted_excess=Mean(4.0, 2.1, 1.0))
    assert largest(find_gaps(dataclasses.replace(perfect, returns=noise))) is None
    less = dataclasses.replace(perfect.returns, acted_excess=Mean(-4.0, 0.1, 1.0))
    assert largest(find_gaps(dataclasses.replace(perfect, returns=less))) is None


def test_rewards_that_get_lost_on_the_way(perfect):
    lost = tuple(
        dataclasses.replace(one, dreamed=RewardCounts(one.dreamed.real, 4.0, 2.0, 2.0))
        for one in perfect.rewards
    )
    gaps = find_gaps(dataclasses.replace(perfect, rewards=lost))
    assert largest(gaps).name == "the rewards in dreams"
    # What is not found at sight cannot get lost: the cause is named, not its effect.
    blind = tuple(
        dataclasses.replace(one, at_sight=dataclasses.replace(one.at_sight, found=0.0))
        for one in lost
    )
    assert largest(find_gaps(dataclasses.replace(perfect, rewards=blind))).name == (
        "the rewards at sight"
    )


def test_a_policy_that_meets_no_rewards(source, segments):
    """It goes to and fro far from the seam: the data has to tell how rewards are predicted."""
    policy = RingPolicy()
    still = dataclasses.replace(segments, rewards=np.zeros_like(segments.rewards))
    measured = examine(still, RingModel(), policy, held_out=segments)
    assert measured.rewards_met == 0
    assert all(one.held_out for one in measured.rewards)
    assert all(one.at_sight.f1 == 1.0 for one in measured.rewards)
    gaps = find_gaps(measured)
    assert largest(gaps).name == "the rewards that the policy meets"
    blind = examine(still, RingModel(pays="never"), policy, held_out=segments)
    assert largest(find_gaps(blind)).name == "the rewards at sight"
    assert "0% of the rewards -1 in held-out data" in verdict(find_gaps(blind))
    assert from_json(json.loads(json.dumps(to_json(blind)))) == blind


def test_held_out_data_is_not_needed_where_play_has_rewards(segments, perfect):
    measured = examine(segments, RingModel(), RingPolicy(), held_out=segments)
    assert measured == perfect


def test_expected_rewards_count_in_parts(segments, perfect):
    sure = examine(segments, RingModel(), RingPolicy(), kind="expected")
    assert sure.returns.followed.mean == pytest.approx(perfect.returns.followed.mean, abs=1e-4)
    assert sure.rewards[1].dreamed.given == pytest.approx(
        perfect.rewards[1].dreamed.given, abs=1e-3
    )


def test_what_cannot_be_judged_is_no_gap(source):
    """Short episodes, cut: no reward in sight, no return known, no data to compare with."""
    policy = RingPolicy(right=0.99)
    measured = examine(
        cut(play(source, policy, episodes=1, max_steps=30)), RingModel(), policy, novelty=None
    )
    gaps = {gap.name: gap for gap in find_gaps(measured)}
    assert measured.value is None
    for name in ("the rewards at sight", "states never seen", "the value at the end of rollouts"):
        assert (gaps[name].error, gaps[name].severity) == (None, 0.0)
    assert from_json(json.loads(json.dumps(to_json(measured)))) == measured


def test_json_gives_back_everything(perfect):
    assert from_json(json.loads(json.dumps(to_json(perfect)))) == perfect


def test_segments_are_what_was_played(source):
    (episode,) = play(source, RingPolicy(), episodes=1, max_steps=70)
    pieces = cut([episode])
    assert len(episode.frames) == 71
    assert len(pieces) == 3  # Of 67 steps after the first stack.
    for number in range(3):
        begin = number * HORIZON
        np.testing.assert_array_equal(
            pieces.frames[number], episode.frames[begin : begin + STACK + HORIZON]
        )
        steps = slice(begin + STACK - 1, begin + STACK - 1 + HORIZON)
        np.testing.assert_array_equal(pieces.rewards[number], episode.rewards[steps])
        np.testing.assert_array_equal(pieces.played_actions[number], episode.actions[steps])
    # Where the dot is says what was played: the actions lead from frame to frame.
    columns = episode.frames[:, 5, :, 0].argmax(axis=1)
    np.testing.assert_array_equal((columns[1:] - columns[:-1]) % 16, (2 * episode.actions - 1) % 16)
    assert len(cut([episode], most=2)) == 2


def test_returns_to_go_are_discounted_and_cut(source):
    (episode,) = play(source, RingPolicy(), episodes=1, max_steps=70)
    returns = episode.returns_to_go(DISCOUNT)
    assert np.isnan(returns[-29:]).all()  # 0.9 ** 29 is below 0.05, 0.9 ** 28 above.
    assert np.isfinite(returns[:-29]).all()
    direct = (episode.rewards[10:] * DISCOUNT ** np.arange(60)).sum()
    assert returns[10] == pytest.approx(direct)
    over = dataclasses.replace(episode, terminated=True).returns_to_go(DISCOUNT)
    assert np.isfinite(over).all()
    assert over[-1] == 0.0


def test_episodes_too_short_for_a_segment(source):
    with pytest.raises(ValueError, match=r"has 22 steps, too few for 4 frames .* 20 steps"):
        cut(play(source, RingPolicy(), episodes=1, max_steps=22))
    assert len(cut(play(source, RingPolicy(), episodes=1, max_steps=23))) == 1


def test_it_stops_when_asked(source, segments):
    with pytest.raises(EvaluationStopped):
        play(source, RingPolicy(), should_stop=lambda: True)
    with pytest.raises(EvaluationStopped):
        Dreamer(RingModel(), RingPolicy(), should_stop=lambda: True).follow(segments)
