from pathlib import Path

import ale_py
import numpy as np
import pytest

from simple_tf.envs.atari import PAPER_GAMES, AtariGame, AtariSource, atari_names
from simple_tf.envs.settings import AtariSettings

GOLDEN = Path(__file__).parent / "golden"


def _frame(game):
    frame = np.zeros(game.frame_shape, np.uint8)
    game.write_frame(frame)
    return frame


def _play(game, seed, actions):
    """Returns frames, raw rewards and the number of steps until the game was over."""
    game.reset(seed)
    frames, rewards = [_frame(game)], []
    for action in actions:
        outcome = game.step(int(action))
        frames.append(_frame(game))
        rewards.append(outcome.raw_reward)
        if outcome.terminated:
            break
    return np.stack(frames), rewards


# The recordings hold several episodes; their first step and the no-ops that came before it.
@pytest.mark.parametrize(
    ("name", "first", "last", "noops"),
    [("pong", 0, 795, 7), ("pong", 796, 1766, 7), ("pong", 1767, 1999, 1), ("freeway", 0, 1999, 7)],
)
def test_equals_the_original_s_recording_to_the_bit(name, first, last, noops):
    with np.load(GOLDEN / f"dataset_{name}_random2000.npz") as golden:
        frames, actions = golden["frames"], golden["actions"]
        rewards, dones = golden["rewards"], golden["dones"]
    game = AtariGame(name, AtariSettings(noop_range=(noops, noops)))
    assert len(game.action_meanings) == {"pong": 6, "freeway": 3}[name]
    game.reset(seed=0)
    np.testing.assert_array_equal(_frame(game), frames[first])
    for t in range(first, last):
        outcome = game.step(int(actions[t]))
        np.testing.assert_array_equal(_frame(game), frames[t + 1], err_msg=f"frame {t + 1}")
        assert np.sign(outcome.raw_reward) == rewards[t + 1]
        assert outcome.terminated == dones[t + 1]


def test_the_paper_s_36_games_are_there():
    assert len(set(PAPER_GAMES)) == 36
    assert set(PAPER_GAMES) <= set(atari_names())


def test_a_cartridge_for_two_players_is_refused():
    # ale_py would end the whole process.
    assert "combat" not in atari_names()
    with pytest.raises(ValueError, match="no Atari game called 'combat'"):
        AtariGame("combat", AtariSettings())


@pytest.mark.parametrize("name", atari_names())
def test_every_game_plays(name):
    game = AtariGame(name, AtariSettings())
    frames, rewards = _play(game, 1, range(min(3, len(game.action_meanings))))
    assert len(rewards) == 3
    assert frames.shape[2:] == (80, 3)
    assert game.screen().shape[2] == 3


def test_same_seed_and_actions_same_episode_whatever_was_played_before():
    actions = np.random.default_rng(0).integers(0, 6, 300)
    fresh, used = AtariGame("pong", AtariSettings()), AtariGame("pong", AtariSettings())
    _play(used, 3, actions[::-1][:123])
    np.testing.assert_array_equal(_play(fresh, 5, actions)[0], _play(used, 5, actions)[0])


def test_noop_starts_are_uniform_over_the_range():
    game = AtariGame("freeway", AtariSettings(noop_range=(1, 8)))
    counts = np.zeros(10, int)
    emulator = game._ale
    for seed in range(80):
        game.reset(seed)
        counts[emulator.getEpisodeFrameNumber() // 4] += 1
    assert counts[0] == 0
    assert counts[9] == 0
    assert counts[1:9].min() >= 3  # 10 expected of each.


def test_without_noops_the_episode_starts_at_the_first_screen():
    game = AtariGame("breakout", AtariSettings(noop_range=(0, 0), resize_factor=1))
    game.reset(seed=0)
    emulator = ale_py.ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(ale_py.roms.get_rom_path("breakout"))
    emulator.reset_game()
    np.testing.assert_array_equal(_frame(game), emulator.getScreenRGB())


def test_frame_skip_sums_rewards_and_takes_the_maximum_of_the_last_two_frames():
    settings = AtariSettings(noop_range=(0, 0), resize_factor=1)
    skipping = AtariGame("space_invaders", settings)
    single = AtariGame("space_invaders", AtariSettings(1, 1, noop_range=(0, 0)))
    skipping.reset(0)
    single.reset(0)
    total = 0.0
    for _ in range(250):
        frames, raw_reward = [], 0.0
        for _ in range(4):
            raw_reward += single.step(1).raw_reward
            frames.append(_frame(single))
        outcome = skipping.step(1)
        assert outcome.raw_reward == raw_reward
        np.testing.assert_array_equal(_frame(skipping), np.maximum(frames[2], frames[3]))
        total += raw_reward
        if outcome.terminated:
            break
    assert total > 0


def test_sticky_actions_repeat_the_last_frame_s_action_as_often_as_asked():
    game = AtariGame("pong", AtariSettings(sticky_probability=0.25))
    game.reset(seed=0)
    wishes = [ale_py.Action.LEFT, ale_py.Action.RIGHT] * 10_000
    fulfilled = np.mean([game._executed(wish) == wish for wish in wishes])
    # A wish fails if its frame is sticky and the one before, which had the other wish, was
    # fulfilled: 1 - f = p * f.
    assert fulfilled == pytest.approx(1 / 1.25, abs=0.01)


def test_sticky_episodes_replay_from_their_seed():
    actions = np.random.default_rng(0).integers(0, 6, 150)
    settings = AtariSettings(sticky_probability=0.25)
    first = _play(AtariGame("pong", settings), 9, actions)[0]
    np.testing.assert_array_equal(first, _play(AtariGame("pong", settings), 9, actions)[0])
    assert not np.array_equal(first, _play(AtariGame("pong", settings), 10, actions)[0])
    assert not np.array_equal(first, _play(AtariGame("pong", AtariSettings()), 9, actions)[0])


def test_resize_and_grayscale_options_set_the_frame_shape():
    game = AtariGame("pong", AtariSettings(resize_factor=4, grayscale=True))
    game.reset(0)
    assert _frame(game).shape == (52, 40, 1)


def test_whole_blocks_of_pong_show_fewer_shades():
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 6, 300)

    def shades(whole_blocks):
        settings = AtariSettings(resize_factor=4, grayscale=True, whole_blocks=whole_blocks)
        return len(np.unique(_play(AtariGame("pong", settings), 0, actions)[0]))

    assert shades(True) < shades(False) / 2


def test_stores_are_told_of_whole_blocks_only_where_there_are_some():
    assert "whole_blocks" not in AtariSource("pong", AtariSettings()).settings_dict()
    source = AtariSource("pong", AtariSettings(whole_blocks=True))
    assert source.settings_dict()["whole_blocks"] is True


@pytest.mark.parametrize("shape", [(84, 84, 1), (30, 20, 3)])
def test_a_frame_shape_wins_over_resize_and_grayscale(shape):
    game = AtariGame("pong", AtariSettings(resize_factor=2, grayscale=True, frame_shape=shape))
    game.reset(0)
    frame = _frame(game)
    assert frame.shape == shape
    assert len(np.unique(frame)) > 2


@pytest.mark.parametrize(
    "bad",
    [
        {"frame_skip": 0},
        {"frame_skip": 2.5},
        {"resize_factor": 0},
        {"noop_range": (3, 2)},
        {"noop_range": (-1, 2)},
        {"noop_range": 3},
        {"frame_shape": (84, 84)},
        {"frame_shape": (84, 84, 2)},
        {"sticky_probability": 1.0},
        {"sticky_probability": "high"},
    ],
)
def test_impossible_settings_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        AtariSettings(**bad)
