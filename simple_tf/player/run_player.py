"""Puts together what is needed to play a run's learned game."""

from __future__ import annotations

from pathlib import Path

from simple_tf.data.store import EpisodeStore
from simple_tf.evaluation.comparison import Comparison
from simple_tf.evaluation.motion_quality import TOLERANCE
from simple_tf.evaluation.video import comparison_video, write_video
from simple_tf.player.api import Api
from simple_tf.player.critic import Critic
from simple_tf.player.dream import Dream
from simple_tf.player.places import Places
from simple_tf.player.real_game import RealGame
from simple_tf.player.session import Session
from simple_tf.training.saved_run import SavedRun


def player_of_run(run: SavedRun, seed: int, videos: Path) -> Api:
    """Returns a player of a run's latest world model, with its latest policy.

    Args:
        run: finished, or at work; it has played at least once.
        seed: of all draws.
        videos: where videos go.

    Raises:
        RunError: the run has no world model.
    """
    learners = run.learners()
    store = EpisodeStore.open(run.directory.episodes)
    model = learners.model
    real = RealGame(run.source, model.num_input_frames)
    places = Places(store.episodes, model.num_input_frames, seed)
    environment = learners.policy_trainer.environment
    dream, critic = Dream(model, seed), Critic(learners.network)

    def begin() -> Session:
        return Session(places, dream, real, critic, environment.reward_kind, seed)

    # What has to be compiled is compiled now, while nobody waits for a game.
    first = begin()
    first.start(places.draw("anywhere"))
    first.step(0)
    position = run.position()
    about = {
        "game": run.source.name,
        "run": str(run.directory.path),
        "iteration": position.iteration,
        "interactions": position.interactions,
        "actions": list(real.action_meanings),
        "rollout_length": environment.rollout_length,
        "reward_kind": environment.reward_kind,
    }
    return Api(begin(), places, about, lambda comparison: _write(videos, comparison))


def _write(videos: Path, comparison: Comparison) -> Path:
    """Writes a video beside those that are there."""
    number = 1
    while any(videos.glob(f"played_{number:03d}.*")):
        number += 1
    return write_video(
        videos / f"played_{number:03d}.mp4", comparison_video(comparison, (0,), tolerance=TOLERANCE)
    )
