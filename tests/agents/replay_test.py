"""Replay on a real Reverb server: what is written, what is drawn, what survives."""

import sys

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.agents import replay as replay_module
from simple_tf.agents.replay import Replay, ReplayError, ReplaySpec
from simple_tf.agents.replay_writer import ReplayWriter

pytestmark = pytest.mark.usefixtures("reverb")


def _spec(**options):
    return ReplaySpec(
        **{
            "frame_shape": (2, 2, 1),
            "stack": 3,
            "num_steps": 2,
            "capacity": 100,
            "batch_size": 10,
            **options,
        }
    )


@pytest.fixture
def make_replay(tmp_path):
    made = []

    def make(**options):
        made.append(Replay(_spec(**options), tmp_path / "replay"))
        return made[-1]

    yield make
    for one in made:
        one.close()


def _frame(number):
    return np.full((2, 2, 1), number, np.uint8)


def _play(writer, length, terminated, first=0, priority=1.0):
    """Frame t shows first + t, action t is t, reward t is 10 * t."""
    writer.begin(np.stack([_frame(first)] * 3))
    for t in range(length):
        over = terminated and t == length - 1
        writer.add(_frame(first + t), t, 10.0 * t, 0.0 if over else 1.0, priority)
    writer.end(_frame(first + length), terminated, priority)


def _items(replay, batches=40):
    """All different items that are drawn, by the first action and the newest frame."""
    found = {}
    for _ in range(batches):
        sample = replay.sample()
        for i in range(10):
            frames = sample.frames.numpy()[i, :, 0, 0, 0].tolist()
            numbers = sample.rewards.numpy()[i].tolist(), sample.discounts.numpy()[i].tolist()
            found[frames[2], int(sample.actions[i])] = (frames, *numbers)
    return found


def test_items_are_what_the_agent_saw_did_and_earned(make_replay):
    replay = make_replay()
    _play(ReplayWriter(replay), 4, terminated=True, first=50)
    assert replay.size == 4
    assert _items(replay) == {
        (50, 0): ([50, 50, 50, 51, 52], [0.0, 10.0], [1.0, 1.0]),
        (51, 1): ([50, 50, 51, 52, 53], [10.0, 20.0], [1.0, 1.0]),
        (52, 2): ([50, 51, 52, 53, 54], [20.0, 30.0], [1.0, 0.0]),
        # After the end nothing is worth anything: the frame there does not matter.
        (53, 3): ([51, 52, 53, 54, 54], [30.0, 0.0], [0.0, 0.0]),
    }


def test_what_was_cut_off_makes_no_item_and_episodes_do_not_mix(make_replay):
    replay = make_replay()
    writer = ReplayWriter(replay)
    _play(writer, 4, terminated=False, first=50)
    _play(writer, 3, terminated=True, first=80)
    found = _items(replay)
    assert sorted(found) == [(50, 0), (51, 1), (52, 2), (80, 0), (81, 1), (82, 2)]
    assert found[80, 0][0] == [80, 80, 80, 81, 82]
    assert found[52, 2] == ([50, 51, 52, 53, 54], [20.0, 30.0], [1.0, 1.0])


def _shares(replay, batches):
    drawn, told = np.zeros(256), np.zeros(256)
    for _ in range(batches):
        sample = replay.sample()
        newest = sample.frames.numpy()[:, 2, 0, 0, 0]
        np.add.at(drawn, newest, 1.0)
        told[newest] = sample.probabilities.numpy()
    return drawn / drawn.sum(), told


def test_items_are_drawn_in_proportion_to_their_priorities(make_replay):
    replay = make_replay()
    writer = ReplayWriter(replay)
    for number in range(5):
        _play(writer, 1, terminated=True, first=number, priority=number + 1.0)
    expected = np.arange(1, 6) / 15.0
    drawn, told = _shares(replay, 200)
    np.testing.assert_allclose(told[:5], expected, rtol=1e-6)
    deviation = np.sqrt(expected * (1 - expected) / 2000)
    assert (abs(drawn[:5] - expected) < 4.5 * deviation).all()


def test_new_priorities_count_and_lost_items_are_passed_over(make_replay):
    replay = make_replay()
    writer = ReplayWriter(replay)
    for number in range(3):
        _play(writer, 1, terminated=True, first=number)
    keys = {}
    while len(keys) < 3:
        sample = replay.sample()
        keys |= dict(zip(sample.frames.numpy()[:, 2, 0, 0, 0], sample.keys.numpy(), strict=True))
    chosen = np.array([keys[0], keys[1], keys[2], 12345], np.uint64)
    replay.set_priorities(chosen, np.array([0.0, 1.0, 3.0, 7.0]))
    replay.flush()
    replay._samples = None  # Those that wait already were drawn by the old ones.
    drawn, told = _shares(replay, 100)
    np.testing.assert_allclose(told[1:3], [0.25, 0.75], rtol=1e-6)
    assert drawn[0] == 0.0
    assert abs(drawn[2] - 0.75) < 0.07


def test_without_priorities_all_are_alike_and_the_oldest_go_first(make_replay):
    replay = make_replay(prioritized=False, capacity=4)
    writer = ReplayWriter(replay)
    for number in range(6):
        _play(writer, 1, terminated=True, first=number, priority=1.0 + 9 * number)
    assert replay.size == 4
    drawn, _ = _shares(replay, 100)
    assert set(np.flatnonzero(drawn)) == {2, 3, 4, 5}
    assert (abs(drawn[2:6] - 0.25) < 0.07).all()


def _saves(folder):
    return sorted(path.name for path in (folder / "replay").glob("[0-9]*"))


def test_a_checkpoint_brings_items_and_priorities_back(make_replay, tmp_path):
    replay = make_replay()
    writer = ReplayWriter(replay)
    for number in range(3):
        _play(writer, 1, terminated=True, first=number, priority=number + 1.0)
    path = tf.train.Checkpoint(replay=replay).write(str(tmp_path / "state"))
    assert _saves(tmp_path) == ["000001"]
    _play(writer, 1, terminated=True, first=9)
    tf.train.Checkpoint(replay=replay).write(str(tmp_path / "later"))
    replay.close()
    other = make_replay()
    tf.train.Checkpoint(replay=other).read(path).assert_consumed()
    assert other.size == 3
    _, told = _shares(other, 60)
    np.testing.assert_allclose(told[:3], np.array([1, 2, 3]) / 6, rtol=1e-6)
    assert told[9] == 0.0
    _play(ReplayWriter(other), 2, terminated=True, first=20)
    assert other.size == 5


def test_a_lost_replay_is_filled_again(make_replay, tmp_path):
    replay = make_replay()
    _play(ReplayWriter(replay), 3, terminated=True)
    path = tf.train.Checkpoint(replay=replay).write(str(tmp_path / "state"))
    (tmp_path / "replay" / "000001" / "DONE").unlink()
    replay.close()
    other = make_replay()
    tf.train.Checkpoint(replay=other).read(path).assert_consumed()
    assert other.size == 0
    _play(ReplayWriter(other), 3, terminated=True)
    assert other.size == 3


def test_only_the_newest_saves_are_kept(make_replay, tmp_path):
    replay = make_replay()
    _play(ReplayWriter(replay), 1, terminated=True)
    names = [replay.serialize() for _ in range(6)]
    assert names[-4:] == _saves(tmp_path) == ["000003", "000004", "000005", "000006"]


def test_without_reverb_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "reverb", None)
    with pytest.raises(ReplayError, match=r"pip install '\.\[baselines\]'"):
        replay_module.import_reverb()
