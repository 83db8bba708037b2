"""Videos of play: episodes of the real game, replayed, and rollouts of the policy in its dream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from simple_tf.envs.game import GameSource
from simple_tf.envs.simulated_environment import SimulatedEnvironment
from simple_tf.evaluation.captioned import captioned, reward_colour
from simple_tf.evaluation.episodes import PlayedEpisode, Player

# Twice the speed of the real game: 60 frames a second, 4 of them to an agent step.
FRAMES_PER_SECOND = 30
DREAM_FRAMES_PER_SECOND = 10

# How many images the colour of a reward stays.
_GLOW = 10
_PAUSE = 5


def episode_video(
    source: GameSource, episode: PlayedEpisode, max_steps: int = 1800
) -> Iterator[np.ndarray]:
    """Plays an episode again, from its seed and actions, and yields the screen with the score.

    Args:
        source: the game as it was played.
        episode: what was played.
        max_steps: how much of it to show.

    Yields:
        uint8 [height, width, 3] of one size, both even.
    """
    game = source.make()
    game.reset(episode.seed)
    score = glow = 0.0
    last = 0.0
    yield captioned(game.screen(), "STEP 0", "SCORE 0")
    for step, action in enumerate(episode.actions[:max_steps].tolist(), start=1):
        reward = game.step(action).raw_reward
        score += reward
        glow, last = (_GLOW, reward) if reward else (glow - 1, last)
        colour = reward_colour(last if glow > 0 else 0.0)
        yield captioned(game.screen(), f"STEP {step}", f"SCORE {score:g}", colour)
    game.close()


def dream_video(environment: SimulatedEnvironment, player: Player) -> Iterator[np.ndarray]:
    """Lets a policy play one batch of rollouts in the world model, and yields them in turn.

    Args:
        environment: the learned game.
        player: the policy.

    Yields:
        uint8 [height, width, 3] of one size, both even.
    """
    frames, rewards = _dream(environment, player)
    for rollout in range(frames.shape[1]):
        if rollout:
            blank = captioned(np.zeros_like(frames[0, 0]), "", "")
            yield from [blank] * _PAUSE
        yield captioned(frames[0, rollout], "DREAM 0", "REWARD 0")
        for step, reward in enumerate(rewards[:, rollout].tolist(), start=1):
            total = float(rewards[:step, rollout].sum())
            text = f"REWARD {total:+.3g}" if total else "REWARD 0"
            yield captioned(frames[step, rollout], f"DREAM {step}", text, reward_colour(reward))


def choose_episodes(episodes: Sequence[PlayedEpisode]) -> dict[str, PlayedEpisode]:
    """Returns the typical episode (the lower median) and the best one, by name."""
    ranked = sorted(episodes, key=lambda episode: episode.raw_return)
    return {"median_episode": ranked[(len(ranked) - 1) // 2], "best_episode": ranked[-1]}


def _dream(
    environment: SimulatedEnvironment, player: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns frames, uint8 [T + 1, B, H, W, C], and rewards, float32 [T, B]."""
    step = environment.reset()
    frames, rewards = [step.observation[:, -1].numpy()], []
    for _ in range(environment.rollout_length):
        step = environment.step(player(step.observation.numpy()))
        frames.append(step.observation[:, -1].numpy())
        rewards.append(step.reward.numpy())
    return np.stack(frames), np.stack(rewards)
