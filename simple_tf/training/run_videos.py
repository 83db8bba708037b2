"""The videos that a run leaves: how it plays, how it dreams, how true the dream is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from simple_tf.agents.acting import PolicyPlayer
from simple_tf.data.starts import StartSampler
from simple_tf.envs.simulated_environment import SimulatedEnvironment
from simple_tf.evaluation.comparison import Comparison
from simple_tf.evaluation.play_video import (
    DREAM_FRAMES_PER_SECOND,
    FRAMES_PER_SECOND,
    choose_episodes,
    dream_video,
    episode_video,
)
from simple_tf.evaluation.policy import PolicyEvaluation
from simple_tf.evaluation.video import comparison_video, write_video
from simple_tf.models.interface import WorldModel

_ROLLOUTS = 4


def write_play(folder: Path, name: str, evaluation: PolicyEvaluation) -> Iterator[Path]:
    """Writes a typical and the best episode of an evaluation; yields the paths."""
    for which, episode in choose_episodes(evaluation.episodes).items():
        images = episode_video(evaluation.source, episode)
        yield write_video(folder / f"{name}_{which}.mp4", images, FRAMES_PER_SECOND)


def write_dream(
    folder: Path, model: WorldModel, starts: StartSampler, network: tf.keras.Model, seed: int
) -> Path:
    """Writes a few rollouts of the policy in the world model."""
    # As a whole: parts that gin has for the rollouts of training need not divide these few.
    environment = SimulatedEnvironment(model, starts, batch_size=_ROLLOUTS, parts=1, seed=seed)
    images = dream_video(environment, PolicyPlayer(network, 1.0, seed))
    return write_video(folder / "dream.mp4", images, DREAM_FRAMES_PER_SECOND)


def write_comparison(folder: Path, comparison: Comparison) -> Path:
    """Writes a few rollouts of the world model beside the real game, and the difference."""
    rollouts = range(min(_ROLLOUTS, comparison.num_rollouts))
    return write_video(folder / "world_model.mp4", comparison_video(comparison, rollouts))
