"""Training the policy inside the world model, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

from simple_tf.agents.policy_network import PolicyNetwork
from simple_tf.agents.ppo import PPOTrainer
from simple_tf.data.frame_sample import sample_frames
from simple_tf.data.starts import StartSampler
from simple_tf.data.store import EpisodeStore
from simple_tf.training.phase import Advance, Pacer
from simple_tf.training.schedule import Schedule
from simple_tf.training.workers import Workers


class PolicyPhase:
    """See `Phase`.

    Args:
        trainer: PPO in the simulated environment.
        starts: where simulated rollouts begin; loaded here with what was played last.
        store: the episodes.
        schedule: how many updates.
        workers: who trains together.
    """

    name = "policy"
    unit = "updates"
    headline = ("return", "entropy")
    resumable = True

    def __init__(
        self,
        trainer: PPOTrainer,
        starts: StartSampler,
        store: EpisodeStore,
        schedule: Schedule,
        workers: Workers | None = None,
    ) -> None:
        self._trainer = trainer
        self._starts = starts
        self._store = store
        self._schedule = schedule
        self._workers = workers or Workers()

    def size(self, iteration: int) -> int:
        """See `Phase`."""
        return self._schedule.policy_updates_of(iteration)

    def global_step(self) -> int:
        """See `Phase`."""
        return int(self._trainer.updates_done.numpy())

    def run(self, iteration: int, step: int) -> Iterator[Advance]:
        """See `Phase`."""
        played = self._schedule.last_played(iteration - 1)
        self._starts.load(self._store, played)
        if step == 0:
            self._trainer.reset_environment()  # The model has changed, and so have the starts.
            self._show_game(played)
        size = self.size(iteration)
        pacer = Pacer(multiple=self._trainer.updates_per_call, agree=self._workers.chief_says)
        while step < size:
            count = pacer.next(size - step)
            metrics = self._trainer.train(count, iteration - 1)
            step += count
            yield Advance(step, {name: float(value) for name, value in metrics.items()})
            pacer.done()

    def _show_game(self, iteration: int) -> None:
        """Lets a network that asks for it see what the game looks like, before it learns."""
        network = self._trainer.network
        if isinstance(network, PolicyNetwork) and network.has_to_see_the_game:
            network.adapt(sample_frames(self._store, iteration))
