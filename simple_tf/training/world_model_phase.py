"""Training the world model on everything that has been played so far."""

from __future__ import annotations

from collections.abc import Iterator

import gin

from simple_tf.data.rewards import num_reserved_each
from simple_tf.data.store import EpisodeStore
from simple_tf.data.windows import WindowDataset
from simple_tf.models.calibration import calibrate
from simple_tf.models.surprise import frame_surprises
from simple_tf.models.trainer import WorldModelTrainer
from simple_tf.training.phase import Advance, Pacer
from simple_tf.training.schedule import Schedule
from simple_tf.training.workers import Workers


@gin.configurable(denylist=["trainer", "store", "schedule", "seed", "workers"])
class WorldModelPhase:
    """See `Phase`. Batch number s depends on the seed, s and the episodes alone.

    It is counted by the schedule and not by the optimiser, which leaves out steps that overflow.

    Args:
        trainer: applies the steps.
        store: the episodes; those of iterations before the current one are trained on.
        schedule: how many steps.
        num_target_frames: n, frames to predict in a window.
        batch_size: windows per step, over all devices and workers.
        rewarded_share: share of windows with a reward, see `WindowDataset`; 0 as in the original.
        surprising_share: share of windows that are drawn in proportion to how much in them happens
            that motion does not explain, see `frame_surprises`; 0 as in the original.
        seed: of the choice of windows.
        workers: who trains together.
    """

    name = "world_model"
    unit = "steps"
    headline = ("loss", "reward_accuracy")
    resumable = True

    def __init__(
        self,
        trainer: WorldModelTrainer,
        store: EpisodeStore,
        schedule: Schedule,
        num_target_frames: int = gin.REQUIRED,
        batch_size: int = gin.REQUIRED,
        rewarded_share: float = 0.0,
        surprising_share: float = 0.0,
        seed: int = 0,
        workers: Workers | None = None,
    ) -> None:
        self._trainer = trainer
        self._store = store
        self._schedule = schedule
        self.num_target_frames = num_target_frames
        self.batch_size = batch_size
        num_reserved_each(rewarded_share, surprising_share, batch_size)  # Raises before any play.
        self._rewarded_share = rewarded_share
        self.surprising_share = surprising_share
        self._seed = seed
        self._workers = workers or Workers()
        rows = self._workers.rows_per_replica(batch_size, "WorldModelPhase.batch_size")
        trainer.check_batch_size(rows)

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return self._schedule.world_model_steps_of(iteration)

    def global_step(self) -> int:
        """See `Phase`."""
        return int(self._trainer.global_step.numpy())

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        played = self._schedule.last_played(iteration - 1)
        looks = {} if step else calibrate(self._trainer.model, self._store, played)
        workers = self._workers
        batches = iter(
            self._windows(iteration).batches(
                self._batches_before(iteration) + step, (workers.index, workers.count)
            )
        )
        pacer, size = Pacer(agree=workers.chief_says), self.size(iteration)
        while step < size:
            count = pacer.next(size - step)
            metrics = self._trainer.train(batches, count)
            step += count
            yield Advance(step, looks | {name: float(value) for name, value in metrics.items()})
            pacer.done()

    def _batches_before(self, iteration: int) -> int:
        return sum(map(self.size, range(1, iteration)))

    def _windows(self, iteration: int) -> WindowDataset:
        return WindowDataset(
            self._store,
            split="train",
            num_input_frames=self._trainer.model.num_input_frames,
            num_target_frames=self.num_target_frames,
            batch_size=self.batch_size,
            seed=self._seed,
            # After falling back to an older checkpoint the store may hold later ones.
            iterations=range(self._schedule.last_played(iteration - 1) + 1),
            rewarded_share=self._rewarded_share,
            surprising_share=self.surprising_share,
            surprises=frame_surprises,
        )
