from pathlib import Path

import numpy as np
import pytest

from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import UnknownGameError, find_game
from simple_tf.envs.gymnasium_game import GymnasiumGame
from simple_tf.envs.settings import GymnasiumSettings


@pytest.fixture(autouse=True)
def _tiny_games_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def _frame(game):
    frame = np.zeros(game.frame_shape, np.uint8)
    game.write_frame(frame)
    return frame


def test_an_environment_of_the_user_s_own_plays_by_id():
    game = find_game("tiny_games:Corridor-v0").make()
    assert game.action_meanings == ("action_1", "action_2")
    game.reset(seed=3)
    outcomes = [game.step(1)]
    while not outcomes[-1].terminated:
        outcomes.append(game.step(1))
    assert outcomes[-1].raw_reward == 5.0
    assert _frame(game)[4:8, 15].min() == 255


def test_a_batch_of_them_uses_workers_and_clips_rewards():
    with GameBatch(find_game("tiny_games:Corridor-v0"), 3, num_workers=2) as batch:
        step = batch.reset()
        while not step.terminated.all():
            step = batch.step(np.array([1, 1, 0]), active=~step.terminated)
        np.testing.assert_array_equal(step.raw_reward, [5.0, 5.0, -2.0])
        np.testing.assert_array_equal(step.reward, [1.0, 1.0, -1.0])


def test_images_without_a_channel_axis_get_one():
    game = find_game("tiny_games:GrayCorridor-v0").make()
    game.reset(0)
    assert _frame(game).shape == (12, 16, 1)
    assert game.screen().shape == (12, 16, 3)


def test_frame_skip_resize_and_grayscale():
    game = GymnasiumGame("tiny_games:Corridor-v0", GymnasiumSettings(3, 2, grayscale=True))
    plain = GymnasiumGame("tiny_games:Corridor-v0", GymnasiumSettings())
    assert game.frame_shape == (6, 8, 1)
    game.reset(5)
    plain.reset(5)
    game.step(1)
    for _ in range(3):
        plain.step(1)
    lit, expected = np.argwhere(_frame(game)[..., 0]), np.argwhere(_frame(plain)[..., 0]) // 2
    np.testing.assert_array_equal(np.unique(lit, axis=0), np.unique(expected, axis=0))


@pytest.mark.parametrize("name", ["NotAnImage-v0", "ContinuousActions-v0"])
def test_what_cannot_be_played_is_refused_with_what_can(name):
    with pytest.raises(ValueError, match=r"plays environments whose observations are uint8 images"):
        find_game(f"tiny_games:{name}").make()


def test_an_image_of_another_shape_than_promised_is_refused():
    game = find_game("tiny_games:BrokenPromise-v0").make()
    with pytest.raises(ValueError, match=r"promised images of shape \(12, 16, 3\)"):
        game.reset(0)


@pytest.mark.parametrize("name", ["no_such_module:Foo-v0", "json:Foo-v0", "tiny_games:Corridr-v0"])
def test_an_id_that_does_not_exist_is_refused(name):
    with pytest.raises(UnknownGameError, match="is no Gymnasium environment"):
        find_game(name)


def test_atari_through_gymnasium_works_too():
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    game = find_game("ALE/Pong-v5").make()
    game.reset(0)
    assert _frame(game).shape == (210, 160, 3)
