"""From costs of single pieces to the cost of a run."""

import dataclasses
import os
import re
import subprocess
import sys

import gin
import pytest

from simple_tf.training.arithmetic import Arithmetic, count_arithmetic
from simple_tf.training.configuration import configure
from simple_tf.training.estimate import describe, estimate
from simple_tf.training.experiment import build_learners
from simple_tf.training.hardware import ACCELERATORS, Accelerator
from simple_tf.training.schedule import Schedule
from simple_tf.training.trial import Cost, Measurements

ARITHMETIC = Arithmetic(
    training_step=100, simulated_step=10, acting_step=1, learning=50, steps_per_update=5
)
NOTHING = Cost(0.0)
# Nothing costs anything; a test adds what it is about.
FREE = Measurements(
    arithmetic=ARITHMETIC,
    environments=4,
    looks_at_everything=False,
    starts_from_everything=False,
    **dict.fromkeys(
        "random_play policy_play world_model policy comparison evaluation final final_random "
        "video save".split(),
        NOTHING,
    ),
    comparisons=3,
    evaluations=6,
    finals=2,
    final_randoms=1,
    videos=2,
    saves=20,
    episode_steps=250.0,
    bytes_per_step=10.0,
    checkpoint_bytes=1_000,
    policy_bytes=100,
    peak_bytes=10**9,
)
SCHEDULE = Schedule(
    iterations=3,
    initial_interactions=2_000,
    interactions_per_iteration=1_000,
    max_interactions=4_500,  # The last collection has only 500 left.
    world_model_steps=10,
    world_model_multipliers={1: 3},
    policy_updates=4,
    policy_multipliers={-1: 2},
)


@pytest.fixture(autouse=True)
def _clean_gin():
    gin.clear_config()
    yield
    gin.clear_config()


def _seconds(**costs):
    return estimate(SCHEDULE, dataclasses.replace(FREE, **costs)).seconds


def test_each_kind_of_work_is_multiplied_by_the_schedule():
    assert _seconds() == 0.0
    assert _seconds(random_play=Cost(0.01)) == pytest.approx(20)
    assert _seconds(policy_play=Cost(0.01, start=7)) == pytest.approx(25 + 3 * 7)
    assert _seconds(world_model=Cost(2, compiling=30)) == pytest.approx(50 * 2 + 30)
    assert _seconds(policy=Cost(2, compiling=30)) == pytest.approx(16 * 2 + 30)
    assert _seconds(comparison=Cost(5, compiling=9)) == pytest.approx(3 * 5 + 9)
    assert _seconds(save=Cost(0.5)) == pytest.approx(20 * 0.5)


def test_reading_grows_with_what_is_read():
    # 2,000, 1,000 and 1,000 steps before the three iterations; or 2,000, 3,000 and 4,000.
    assert _seconds(policy=Cost(0, start=1)) == pytest.approx(4)
    assert _seconds(world_model=Cost(0, start=1)) == pytest.approx(4)
    everything = {"starts_from_everything": True}
    assert _seconds(policy=Cost(0, start=1), **everything) == pytest.approx(9)
    assert _seconds(world_model=Cost(0, start=1), **everything) == pytest.approx(4)
    everything = {"looks_at_everything": True}
    assert _seconds(policy=Cost(0, start=1), **everything) == pytest.approx(4)
    assert _seconds(world_model=Cost(0, start=1), **everything) == pytest.approx(9)


def test_episodes_are_as_long_as_at_random_up_to_the_cap():
    gin.bind_parameter("in_training/EvaluationProtocol.max_steps", 100)
    assert _seconds(evaluation=Cost(0.1, start=2)) == pytest.approx(6 * (100 * 0.1 + 2))
    assert _seconds(final=Cost(0.1)) == pytest.approx(2 * 250 * 0.1)
    assert _seconds(final_random=Cost(0.1)) == pytest.approx(250 * 0.1)
    assert _seconds(video=Cost(0.1)) == pytest.approx(2 * 250 * 0.1)


def test_work_between_saves_is_saved_too():
    gin.bind_parameter("SimpleLoop.seconds_between_saves", 10.0)
    assert _seconds(world_model=Cost(2), save=Cost(1)) == pytest.approx(100 + 20 + 10)


def test_disk_and_arithmetic():
    result = estimate(SCHEDULE, FREE)
    assert result.disk_bytes == 4_500 * 10 + 3 * 1_000 + 3 * 100
    assert result.flops == 50 * 100 + 16 * (50 + 5 * (10 + 1))


def test_a_projection_replaces_only_what_an_accelerator_does():
    measured = dataclasses.replace(FREE, random_play=Cost(0.01), world_model=Cost(100))
    text = describe("pong", estimate(SCHEDULE, measured))
    assert re.search(r"in all +1:23:40 ", text)
    for device in ACCELERATORS:
        assert re.search(rf"{device.name} +0:00:20 ", text)  # The play, and next to nothing.


def test_an_accelerator_reaches_its_share_of_the_peak():
    assert Accelerator("toy", "float32", 1e9, 0.25, 1).seconds(1e9) == 4.0


def test_the_steps_of_a_real_configuration_are_counted():
    configure(["smoke.gin"], [])
    learners = build_learners((52, 40, 1), 6, 0)
    counted = count_arithmetic(learners.model_trainer, 4, 2, learners.policy_trainer)
    # Forwards and twice as much backwards, for 4 windows of 2 targets; a step has 8 games.
    assert counted.training_step == pytest.approx(3 * counted.simulated_step, rel=0.001)
    # The policy, by hand: two convolutions of 5x5 with stride 2 and 32 filters on four grey
    # frames of 52x40, which leave 26x20 and 13x10 places, then 128 units and the two heads.
    first, second = 26 * 20 * 25 * 4 * 32, 13 * 10 * 25 * 32 * 32
    dense = 13 * 10 * 32 * 128
    assert counted.acting_step == pytest.approx(8 * 2 * (first + second + dense), rel=0.01)
    # Three passes over the 20 steps of an update, forwards and backwards.
    assert counted.learning == 3 * 3 * 20 * counted.acting_step


@pytest.mark.slow
def test_the_binary_estimates_and_leaves_nothing_behind(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "simple_tf.train", "--estimate", "--gin_file=smoke.gin"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = ["random play", "play", "world model", "policy", "final evaluation", "saving", "in all"]
    for row in rows:
        assert re.search(rf"^  {row} +0:0\d:\d\d ", done.stdout, re.MULTILINE), row
    assert not list(tmp_path.iterdir())
