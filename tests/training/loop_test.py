"""The loop with phases that only count, so that every interruption can be tried."""

import math

import pytest
import tensorflow as tf

from simple_tf.training.checkpoints import RunCheckpoints
from simple_tf.training.loop import DivergedError, SimpleLoop
from simple_tf.training.metrics import MetricsLog, read_metrics
from simple_tf.training.phase import Advance
from simple_tf.training.position import Position
from simple_tf.training.run_directory import RunDirectory
from simple_tf.training.schedule import Schedule

SCHEDULE = Schedule(
    iterations=2,
    initial_interactions=50,
    interactions_per_iteration=30,
    max_interactions=100,
    world_model_steps=6,
    policy_updates=4,
)


class _CountingPhase:
    """Adds 1 to its variable per step, and keeps a diary."""

    unit = "steps"
    headline = ("loss",)

    def __init__(self, world, name, sizes, resumable=True):
        self.name = name
        self.resumable = resumable
        self._world = world
        self._sizes = sizes

    def size(self, iteration):
        return self._sizes(iteration)

    def global_step(self):
        return int(self._world.counters[self.name].numpy())

    def run(self, iteration, step):
        for done in range(step + 1, self.size(iteration) + 1):
            self._world.counters[self.name].assign_add(1)
            self._world.diary.append((iteration, self.name, done))
            loss = self._world.losses.get((iteration, self.name, done), 1.0)
            played = int(self.name == "collection")
            yield Advance(done, {"loss": loss}, interactions=played)


class _World:
    """One process: everything that a resumed run builds anew."""

    def __init__(self, directory, stop_after=None, losses=None):
        self.run_directory = RunDirectory(directory)
        self.counters = {
            name: tf.Variable(0) for name in ("world_model", "policy", "collection", "evaluation")
        }
        self.diary = []
        self.losses = losses or {}
        self.bad_weights = []
        self.iterations = []
        self._stop_after = stop_after
        checkpoint = tf.train.Checkpoint(**self.counters)
        self.checkpoints = RunCheckpoints(self.run_directory.checkpoints, checkpoint)
        fields = self.checkpoints.restore()
        self.position = Position.from_json(fields) if fields else Position()

    def run(self, **options):
        log = MetricsLog(self.run_directory, self.position.metric_lines)
        phases = [
            _CountingPhase(self, "world_model", SCHEDULE.world_model_steps_of),
            _CountingPhase(self, "policy", SCHEDULE.policy_updates_of),
            _CountingPhase(self, "collection", SCHEDULE.interactions, resumable=False),
            _CountingPhase(self, "evaluation", lambda iteration: 2 if iteration == 2 else 0),
        ]
        loop = SimpleLoop(
            phases,
            SCHEDULE,
            self.checkpoints,
            log,
            self.position,
            should_stop=lambda: (
                self._stop_after is not None and len(self.diary) >= self._stop_after
            ),
            non_finite_weights=lambda: self.bad_weights,
            on_iteration=lambda position: self.iterations.append(position.iteration),
            **options,
        )
        try:
            return loop.run()
        finally:
            log.close()

    def values(self):
        return {name: int(variable.numpy()) for name, variable in self.counters.items()}


@pytest.fixture
def whole(tmp_path):
    world = _World(tmp_path / "whole")
    assert world.run()
    return world


def test_the_order_is_the_paper_s(whole):
    order = list(dict.fromkeys((iteration, phase) for iteration, phase, _ in whole.diary))
    assert order == [
        (0, "collection"),
        (1, "world_model"),
        (1, "policy"),
        (1, "collection"),
        (2, "world_model"),
        (2, "policy"),
        (2, "collection"),
        (2, "evaluation"),
    ]
    assert whole.iterations == [0, 1, 2]


def test_interactions_are_counted_to_the_budget(whole):
    assert whole.values()["collection"] == 50 + 30 + 20
    assert whole.position.interactions == SCHEDULE.total_interactions == 100
    last = read_metrics(whole.run_directory)[-1]
    assert (last["phase"], last["interactions"]) == ("iteration", 100)
    assert {"time/world_model", "time/policy", "time/collection"} <= last["metrics"].keys()


def test_a_finished_run_does_nothing_more(whole):
    again = _World(whole.run_directory.path)
    assert again.position.finished
    assert again.run()
    assert not again.diary


def test_stopped_anywhere_it_ends_with_the_same_state(tmp_path, whole):
    for stop_after in range(1, len(whole.diary), 7):
        directory = tmp_path / f"stopped_{stop_after}"
        first = _World(directory, stop_after)
        assert not first.run()
        second = _World(directory)
        assert second.run()
        assert second.values() == whole.values(), stop_after
        assert second.position.interactions == 100
        # Only a collection is begun again; all else goes on where it was.
        again = set(first.diary) & set(second.diary)
        assert all(phase == "collection" for _, phase, _ in again)


def test_metrics_after_a_stop_are_those_of_an_undisturbed_run(tmp_path, whole):
    _World(tmp_path / "stopped", stop_after=54).run()
    second = _World(tmp_path / "stopped")
    second.run()
    places = [
        [(r["iteration"], r["phase"], r["step"]) for r in read_metrics(world.run_directory)]
        for world in (second, whole)
    ]
    assert places[0] == places[1]


def test_saving_often_changes_nothing(tmp_path, whole):
    often = _World(tmp_path / "often")
    often.run(seconds_between_saves=0.0)
    assert often.values() == whole.values()
    assert often.checkpoints.numbers()[-1] > whole.checkpoints.numbers()[-1]


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_state(tmp_path):
    place = (1, "policy", 3)
    world = _World(tmp_path, losses={place: math.nan})
    with pytest.raises(DivergedError, match="policy/loss is nan in iteration 1, by step 3"):
        world.run(seconds_between_saves=0.0)
    after = _World(tmp_path)
    assert (after.position.phase, after.position.step) == ("policy", 2)
    assert after.values()["policy"] == 2


def test_a_weight_that_is_no_number_is_never_saved(tmp_path):
    world = _World(tmp_path)
    world.bad_weights = ["encoder/kernel"]
    with pytest.raises(DivergedError, match="encoder/kernel"):
        world.run()
    assert not world.checkpoints.numbers()


def test_a_phase_adds_a_limited_number_of_records(tmp_path):
    world = _World(tmp_path)
    world.run(records_per_phase=5)
    records = [r for r in read_metrics(world.run_directory) if r["phase"] == "collection"]
    first = [r["step"] for r in records if r["iteration"] == 0]
    assert first == [10, 20, 30, 40, 50]
