r"""How well a world model knows a game after so many training steps on random play.

    python benchmarks/model_quality.py --games=pong,boxing --steps=500 \
        [--gin_file=cpu.gin] [--gin_bindings=PatchModel.pixel_weight=1.0]

For each game: plays at random (once; the episodes are kept in --work_dir), trains the configured
model, and prints one line: frames trained per second of processor time, and, about open-loop
rollouts on held-out play,

- `reward`: share of rollouts with the right cumulative reward after 12 and 50 steps, beside that
  of a model that never gives a reward;
- `recall`: share of the real rewards (-1, +1) that the model gives within one step, in rollouts of
  12 steps that have one;
- `changed`: share of the pixels changed by then (by more than 12 of 255) that are right within
  12, after 1, 4, 12 and 50 steps.
"""

from __future__ import annotations

import simple_tf  # noqa: F401  # Before TensorFlow: sets what it needs at start-up.

# isort: split
import time
from pathlib import Path

import gin
import numpy as np
import tensorflow as tf
from absl import app, flags

from simple_tf.agents.random_policy import RandomPolicy
from simple_tf.data.reward_ages import ages_along
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowDataset
from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.evaluation.rollout import RolloutSimulator
from simple_tf.models.calibration import calibrate
from simple_tf.models.interface import WorldModel
from simple_tf.models.trainer import WorldModelTrainer
from simple_tf.training import experiment  # noqa: F401  # Makes everything known to gin.
from simple_tf.training.collection import collect
from simple_tf.training.configuration import configure
from simple_tf.training.networks import build_world_model
from simple_tf.training.random_play import open_store
from simple_tf.training.schedule import Schedule
from simple_tf.training.world_model_phase import WorldModelPhase

_GAMES = flags.DEFINE_list("games", ["pong"], "Games to look at.")
_STEPS = flags.DEFINE_integer("steps", 500, "Training steps.")
_PLAY = flags.DEFINE_integer("interactions", 12_800, "Random play to train and evaluate on.")
_HOLD = flags.DEFINE_integer("hold", 1, "Steps for which random actions are held, on average.")
_WORK_DIR = flags.DEFINE_string("work_dir", "/tmp/simple_tf_model_quality", "For the episodes.")
_GIN_FILE = flags.DEFINE_multi_string("gin_file", ["cpu.gin"], "As for training.")
_GIN_BINDINGS = flags.DEFINE_multi_string("gin_bindings", [], "Further bindings.")

_HORIZON = 50
_SHORT = 12
_TOLERANCE = 12
_BATCH = 64
_NUM_BATCHES = 3


def play(game: str) -> EpisodeStore:
    """Returns a store with random play of a game, played now or earlier."""
    source = find_game(game)
    settings = "_".join(f"{value}" for value in source.settings_dict().values())
    name = f"{game}_{_PLAY.value}_{_HOLD.value}_{settings}".replace(" ", "")
    store = open_store(Path(_WORK_DIR.value) / name, source)
    if not store.iterations:
        with GameBatch(source, 8, seed=0, stack=1) as batch:
            policy = RandomPolicy(batch.num_actions, 0, _HOLD.value)
            collect(batch, store, policy, 0, _PLAY.value)
    return store


def train(model: WorldModel, store: EpisodeStore) -> float:
    """Trains as a first iteration of so many steps would.

    Returns:
        Frames per second of processor time.
    """
    trainer = WorldModelTrainer(model)
    schedule = Schedule(
        iterations=1,
        initial_interactions=1,
        interactions_per_iteration=0,
        max_interactions=1,
        world_model_steps=_STEPS.value,
        policy_updates=1,
        world_model_multipliers={},
        policy_multipliers={},
    )
    phase = WorldModelPhase(trainer, store, schedule)
    windows = iter(phase._windows(1).batches())
    calibrate(model, store, 0)
    metrics = trainer.train(windows, 1)  # Compiles.
    begin = time.process_time()
    for _ in range(_STEPS.value - 1):
        batch = next(windows)
        metrics = trainer.train_step(**batch)
    float(metrics["loss"])
    targets = batch["actions"].shape[1] + 1 - model.num_input_frames
    count = (_STEPS.value - 1) * batch["actions"].shape[0] * targets
    return count / (time.process_time() - begin)


class Rollouts:
    """Open-loop rollouts beside held-out play."""

    def __init__(self, model: WorldModel, store: EpisodeStore) -> None:
        self._known = model.num_input_frames
        self._store = store
        self._simulate = RolloutSimulator(model, _HORIZON, jit_compile=True)

    def compare(self, steps: int, rewarded_share: float) -> tuple[np.ndarray, ...]:
        """Returns start, real and simulated frames, and real and simulated rewards."""
        windows = WindowDataset(
            self._store,
            split="dev",
            num_input_frames=self._known,
            num_target_frames=steps,
            batch_size=_BATCH,
            seed=1,
            rewarded_share=rewarded_share,
        )
        parts = [self._one(window, steps) for window in windows.batches().take(_NUM_BATCHES)]
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def _one(self, window: dict[str, tf.Tensor], steps: int) -> tuple[np.ndarray, ...]:
        # Always the same number of steps, so that it compiles once; the rest is thrown away.
        actions = np.zeros((_BATCH, self._known - 1 + _HORIZON), np.int32)
        actions[:, : window["actions"].shape[1]] = window["actions"]
        history = window["frames"][:, : self._known]
        ages = ages_along(window["ages"], window["reward_classes"][:, : self._known - 1])[:, -1]
        frames, rewards = self._simulate(history, tf.constant(actions), tf.constant([0, 1]), ages)
        real = window["frames"].numpy().astype(np.int32)
        return (
            real[:, self._known - 1 : self._known],
            real[:, self._known :],
            frames[:, :steps].astype(np.int32),
            window["reward_classes"].numpy()[:, self._known - 1 :] - 1,
            rewards[:, :steps],
        )


def describe(model: WorldModel, store: EpisodeStore) -> str:
    """Returns what the rollouts show, on one line."""
    rollouts = Rollouts(model, store)
    start, real, shown, rewards, given = rollouts.compare(_HORIZON, 0.0)
    right = [
        f"{(rewards[:, :t].sum(1) == given[:, :t].sum(1)).mean():.2f} "
        f"({(rewards[:, :t].sum(1) == 0).mean():.2f})"
        for t in (_SHORT, _HORIZON)
    ]
    changed = np.abs(real - start) > _TOLERANCE
    hits = changed & (np.abs(shown - real) <= _TOLERANCE)
    pixels = [
        f"{hits[:, t - 1].sum() / max(changed[:, t - 1].sum(), 1):.2f}" for t in (1, 4, 12, 50)
    ]
    *_, rewards, given = rollouts.compare(_SHORT, 1.0)
    recalls = [_recall(rewards == reward, given == reward) for reward in (-1, 1)]
    return f"reward {' '.join(right)}, recall {' '.join(recalls)}, changed {' '.join(pixels)}"


def _recall(real: np.ndarray, given: np.ndarray) -> str:
    near = given.copy()
    near[:, 1:] |= given[:, :-1]
    near[:, :-1] |= given[:, 1:]
    return f"{(near & real).sum() / real.sum():.2f}" if real.any() else "-"


def main(_: list[str]) -> None:
    configure(_GIN_FILE.value, _GIN_BINDINGS.value)
    with gin.unlock_config():  # A rate that falls reaches its end with the last step.
        gin.bind_parameter("FallingSchedule.steps", _STEPS.value)
        gin.bind_parameter("FallingSchedule.first_multiplier", 1)
    for game in _GAMES.value:
        store = play(game)
        description = store.description
        model = build_world_model(description.frame_shape, description.num_actions, seed=0)
        rate = train(model, store)
        print(f"{game:15s} {rate:5.0f} frames/s, {describe(model, store)}", flush=True)


if __name__ == "__main__":
    app.run(main)
