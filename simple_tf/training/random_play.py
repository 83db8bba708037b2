"""Random play into a store: the data that SimPLe starts from."""

from __future__ import annotations

import time
from pathlib import Path

import gin
from tqdm import tqdm

from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.data.description import StoreDescription
from simple_tf.data.store import EpisodeStore
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.envs.game import GameSource
from simple_tf.seeding import derive_seed
from simple_tf.training.collection import (
    CollectionSummary,
    check_num_interactions,
    collect,
)
from simple_tf.training.interruption import Interruption


def describe_game(source: GameSource) -> StoreDescription:
    """What a store of a game's episodes is about."""
    game = source.make()
    description = StoreDescription(
        source.name, game.frame_shape, game.action_meanings, source.settings_dict()
    )
    game.close()
    return description


def open_store(directory: Path, source: GameSource) -> EpisodeStore:
    """Opens the store for a game's episodes, or creates it."""
    return EpisodeStore.create_or_open(directory, describe_game(source))


@gin.configurable(denylist=["game", "seed", "store_dir"])
def collect_random_play(
    game: str,
    seed: int,
    store_dir: Path,
    num_interactions: int = gin.REQUIRED,
    num_slots: int = gin.REQUIRED,
) -> str | None:
    """Plays at random into the next free iteration of a store, and prints what was added.

    Args:
      game: name of the game, see `catalog.find_game`.
      seed: decides every random draw, together with the iteration.
      store_dir: the episode store; made if there is none.
      num_interactions: how many agent steps to play.
      num_slots: how many games side by side.

    Returns:
      The name of the signal that ended the collection early, or None.
    """
    check_num_interactions(num_interactions)
    source = find_game(game)
    store = open_store(store_dir, source)
    iteration = max(store.iterations, default=-1) + 1
    play_seed = derive_seed(seed, "collection", iteration)
    begin = time.perf_counter()
    with (
        # A random player looks at nothing: one frame per observation is enough.
        GameBatch(source, num_slots, play_seed, stack=1) as batch,
        tqdm(total=num_interactions, desc=f"playing {game}", unit=" steps", disable=None) as bar,
        Interruption() as interruption,
    ):
        policy = RandomPolicy(batch.num_actions, play_seed)
        summary = collect(
            batch, store, policy, iteration, num_interactions, bar.update, interruption.requested
        )
    if interruption.requested():
        print(
            f"Stopped by {interruption.signal_name} after {summary.interactions} of "
            f"{num_interactions} interactions; all of them are stored."
        )
    _print(game, iteration, summary, time.perf_counter() - begin, store_dir)
    return interruption.signal_name


def _print(
    game: str, iteration: int, summary: CollectionSummary, seconds: float, store_dir: Path
) -> None:
    rate = summary.interactions / seconds
    score = f"{summary.mean_raw_return:.1f} (finished episodes)" if summary.finished else "none yet"
    print(
        f"{game}, random play, iteration {iteration}\n"
        f"  interactions  {summary.interactions} in {seconds:.1f} s ({rate:.0f} per second)\n"
        f"  episodes      {summary.episodes}, {summary.finished} of them finished\n"
        f"  mean score    {score}\n"
        f"  stored in     {store_dir}\n"
        f"  look at it    python -m simple_tf.data.inspect --store_dir={store_dir}"
    )
