"""The ring game, some random play of it, and a session whose dream is perfect, or faulty."""

from __future__ import annotations

from pathlib import Path

import pytest

from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.player.critic import Critic
from simple_tf.player.dream import Dream
from simple_tf.player.places import Places
from simple_tf.player.real_game import RealGame
from simple_tf.player.session import Session
from simple_tf.training.collection import collect
from simple_tf.training.random_play import open_store

from ..evaluation.ring import STACK, RingModel, RingPolicy


@pytest.fixture(scope="session")
def source():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
        yield find_game("tiny_games:Ring-v0")


@pytest.fixture(scope="session")
def store(source, tmp_path_factory):
    """Two iterations of random play, with rewards in them."""
    store = open_store(tmp_path_factory.mktemp("player") / "episodes", source)
    for iteration in range(2):
        with GameBatch(source, 2, seed=iteration, stack=1, max_steps=150, num_workers=0) as batch:
            policy = RandomPolicy(batch.num_actions, iteration)
            collect(batch, store, policy, iteration, 500)
    assert any(episode.rewards.any() for episode in store.episodes)
    return store


@pytest.fixture
def make_session(source, store):
    """Returns a maker of sessions: of a model, by default one that knows the game."""

    def make(model=None, reward_kind="likeliest", critic=None):
        return Session(
            Places(store.episodes, STACK),
            Dream(model or RingModel()),
            RealGame(source, STACK),
            Critic(critic or RingPolicy()),
            reward_kind,
        )

    return make
