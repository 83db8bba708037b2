"""Videos of play show what was played, with the right score."""

from pathlib import Path

import numpy as np
import pytest

from simple_tf.data.starts import StartSampler
from simple_tf.envs.catalog import find_game
from simple_tf.envs.simulated_environment import SimulatedEnvironment
from simple_tf.evaluation import panes
from simple_tf.evaluation.captioned import HEADER, captioned, reward_colour
from simple_tf.evaluation.episodes import PlayedEpisode
from simple_tf.evaluation.play_video import choose_episodes, dream_video, episode_video

from .conftest import SHAPE, STACK, CountingModel


def has_colour(image, colour):
    return bool((image[:HEADER] == colour).all(axis=-1).any())


@pytest.fixture
def corridor(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
    return find_game("tiny_games:Corridor-v0")


def played(raw_return, actions=(), seed=0):
    return PlayedEpisode(raw_return, len(actions), False, seed, np.array(actions, np.int16))


def test_an_episode_is_shown_again_with_its_score(corridor):
    game = corridor.make()
    game.reset(11)
    steps = 1
    while not game.step(1).terminated:
        steps += 1
    images = list(episode_video(corridor, played(5.0, [1] * steps, seed=11)))
    assert len(images) == steps + 1
    assert {image.shape for image in images} == {images[0].shape}
    assert images[0].shape[0] % 2 == images[0].shape[1] % 2 == 0
    # The dot moves right by one of the game's pixels with every image, 20 of the video's.
    columns = [image[HEADER + 100].max(axis=-1).argmax() for image in images]
    assert np.diff(columns).tolist() == [20] * steps
    assert columns[-1] == 15 * 20
    assert [has_colour(image, panes.RIGHT) for image in images] == [False] * steps + [True]


def test_a_long_episode_is_cut(corridor):
    back_and_forth = [0, 1] * 50
    assert len(list(episode_video(corridor, played(0.0, back_and_forth), max_steps=30))) == 31


def test_the_typical_and_the_best_episode():
    episodes = [played(score) for score in (3.0, 9.0, 1.0, 4.0)]
    chosen = choose_episodes(episodes)
    assert chosen["median_episode"].raw_return == 3.0
    assert chosen["best_episode"].raw_return == 9.0


def test_a_dream_shows_the_model_s_frames_and_rewards(counting_store):
    starts = StartSampler(SHAPE, STACK, random_starts=False)
    starts.load(counting_store())
    environment = SimulatedEnvironment(CountingModel(), starts, batch_size=2, rollout_length=6)
    earn_once = iter([1, 0, 0, 2, 0, 0])
    images = list(dream_video(environment, lambda seen: np.full(len(seen), next(earn_once))))
    assert len(images) == 2 * 7 + 5
    # Frame number n has the value n in its first pixel; a rollout starts at number 3.
    assert [int(image[HEADER, 0, 0]) for image in images[:7]] == [3, 4, 5, 6, 7, 8, 9]
    assert [has_colour(image, panes.RIGHT) for image in images[:7]] == [False, True] + [False] * 5
    assert [has_colour(image, panes.WRONG) for image in images[:7]] == [False] * 4 + [
        True,
        False,
        False,
    ]
    assert len(np.unique(images[8])) <= 2  # The pause between rollouts.


def test_captions_fit_gray_and_tiny_images():
    image = captioned(np.full((3, 2, 1), 9, np.uint8), "LEFT", "RIGHT")
    assert image.shape[1] == 320
    assert image.shape[0] % 2 == 0
    assert (image[HEADER : HEADER + 480] == 9).all()
    assert reward_colour(-3.0) == panes.WRONG
