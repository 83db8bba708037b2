"""Diagnoses a run from what its directory holds."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
from tqdm import tqdm

from simple_tf.agents.acting import PolicyPlayer
from simple_tf.data.reward_ages import ages_along
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowDataset
from simple_tf.evaluation import diagnosis
from simple_tf.evaluation.dreams import Dreamer
from simple_tf.evaluation.novelty import Novelty, measure_novelty
from simple_tf.evaluation.policy import versions
from simple_tf.evaluation.rollout import LOWEST_REWARD
from simple_tf.evaluation.segments import (
    RecordedEpisode,
    Segments,
    cut_segments,
    record_episodes,
)
from simple_tf.seeding import derive_seed
from simple_tf.training.diagnosis_file import DiagnosisSize, RunDiagnosis
from simple_tf.training.experiment import Learners
from simple_tf.training.position import Position
from simple_tf.training.run_directory import RunDirectory, RunError
from simple_tf.training.saved_run import SavedRun

# Frames of each kind that novelty is measured with.
_SEEN, _HELD_OUT, _VISITED = 4096, 1024, 1024
_HELD_OUT_SEGMENTS = 64


def diagnose_run(
    run: SavedRun,
    size: DiagnosisSize,
    seed: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunDiagnosis:
    """Plays the real game with a run's latest policy and compares with its latest model.

    Args:
        run: finished or not.
        size: how much to play and dream.
        seed: of episodes, latents and actions.
        should_stop: asked before every step of the games, and every batch of dreams.

    Raises:
        RunError: the run has no trained policy yet.
        EvaluationStopped: if `should_stop` said so.
    """
    position = run.position()
    iteration = _policy_iteration(position, run.directory)
    learners = run.learners()
    store = EpisodeStore.open(run.directory.episodes)
    episodes = _play(run, learners, size, seed, should_stop)
    environment = learners.policy_trainer.environment
    segments = cut_segments(
        episodes,
        learners.model.num_input_frames,
        size.horizon or environment.rollout_length,
        learners.policy_trainer.learner.discount,
        size.segments,
        seed,
    )
    trained_on = [number for number in store.iterations if number < iteration]
    # Followed, acted, and foreseen.
    with tqdm(total=3 * segments.rewards.size, desc="dreaming", unit=" steps", disable=None) as bar:
        batch_size = min(size.batch_size, len(segments))
        dreamer = Dreamer(
            learners.model, learners.network, batch_size, seed, bar.update, should_stop
        )
        measured = diagnosis.measure(
            segments,
            dreamer,
            learners.model.num_actions,
            environment.reward_kind,
            _rewards_in(store, trained_on),
            sum(store.num_steps(number) for number in trained_on),
            _novelty(store, trained_on, episodes, seed),
            _held_out(store, trained_on, segments, seed),
        )
    return RunDiagnosis(
        game=run.source.name,
        seed=run.seed,
        iteration=iteration,
        scores=tuple(episode.raw_return for episode in episodes),
        size=size,
        measured=measured,
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        versions=versions(),
    )


def _policy_iteration(position: Position, directory: RunDirectory) -> int:
    """The iteration that trained the policy in the checkpoint, last or just now."""
    # At the beginning of its phase the policy is still what the iteration before has left.
    waiting = position.phase == "world_model" or (position.phase == "policy" and not position.step)
    is_previous = waiting and not position.finished
    iteration = position.iteration - 1 if is_previous else position.iteration
    if iteration < 1:
        raise RunError(
            f"{directory.path} has not trained a policy yet: it is in iteration "
            f"{position.iteration}, {position.phase.replace('_', ' ')}. Let it go on for a while."
        )
    return iteration


def _play(
    run: SavedRun,
    learners: Learners,
    size: DiagnosisSize,
    seed: int,
    should_stop: Callable[[], bool],
) -> list[RecordedEpisode]:
    """Plays with the policy as it plays in dreams and collections, at temperature 1."""
    play_seed = derive_seed(seed, "diagnosis")
    with tqdm(desc=f"playing {run.source.name}", unit=" steps", disable=None) as bar:
        player = PolicyPlayer(learners.network, 1.0, play_seed)

        def counted(observations: np.ndarray) -> np.ndarray:
            bar.update(len(observations))
            return player(observations)

        return record_episodes(
            run.source,
            counted,
            size.episodes,
            learners.model.num_input_frames,
            size.max_steps,
            play_seed,
            should_stop=should_stop,
        )


def _rewards_in(store: EpisodeStore, iterations: list[int]) -> dict[int, int]:
    """How often each reward but 0 occurs in some iterations."""
    rewards = [e.rewards for number in iterations for e in store.episodes_of(number)]
    together = np.concatenate(rewards) if rewards else np.zeros(0)
    return {reward: int((together == reward).sum()) for reward in (-1, 1)}


def _held_out(
    store: EpisodeStore, iterations: list[int], like: Segments, seed: int
) -> Segments | None:
    """Segments of held-out play with a reward, of the same length; None if there are none."""
    known = like.num_input_frames
    try:
        windows = WindowDataset(
            store,
            split="dev",
            num_input_frames=known,
            num_target_frames=like.horizon,
            batch_size=_HELD_OUT_SEGMENTS,
            seed=seed,
            iterations=iterations,
            rewarded_share=1.0,
        )
    except ValueError:  # Too little was played.
        return None
    batch = {name: values.numpy() for name, values in next(iter(windows.batches())).items()}
    rewards = batch["reward_classes"][:, known - 1 :] + LOWEST_REWARD
    unknown = np.full(len(rewards), np.nan)
    ages = ages_along(batch["ages"], batch["reward_classes"][:, : known - 1])[:, -1].numpy()
    return Segments(batch["frames"], batch["actions"], rewards, unknown, ages)


def _novelty(
    store: EpisodeStore, iterations: list[int], episodes: list[RecordedEpisode], seed: int
) -> Novelty | None:
    """Compares the policy's states with those trained on; None without held-out play."""
    visited = np.concatenate([episode.frames for episode in episodes])
    chosen = np.linspace(0, len(visited) - 1, min(len(visited), _VISITED)).astype(int)
    try:
        seen = _frames(store, "train", iterations, _SEEN, seed)
        held_out = _frames(store, "dev", iterations, _HELD_OUT, seed)
    except ValueError:  # Too little was played.
        return None
    return measure_novelty(seen, held_out, visited[chosen])


def _frames(
    store: EpisodeStore, split: Any, iterations: list[int], most: int, seed: int
) -> np.ndarray:
    """Frames drawn at random from one part of the data, uint8 [N, H, W, C]."""
    windows = WindowDataset(
        store,
        split=split,
        num_input_frames=1,
        num_target_frames=1,
        batch_size=1,
        seed=seed,
        iterations=iterations,
    )
    rng = np.random.default_rng(derive_seed(seed, f"novelty: {split}"))
    numbers = rng.permutation(windows.num_windows)[:most]
    return windows.read(np.sort(numbers))["frames"][:, 0].numpy()
