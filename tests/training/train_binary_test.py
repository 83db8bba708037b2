"""The real program on the real game: stopped, killed, refused, resumed."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120
import killed_runs

# Less of everything than smoke.gin: compiling is most of what is left.
SMALL = (
    "Schedule.iterations=1",
    "Schedule.initial_interactions=300",
    "Schedule.interactions_per_iteration=100",
    "Schedule.world_model_steps=30",
    "Schedule.policy_updates=6",
    "SimpleLoop.seconds_between_saves=0.5",
    "WorldModelEvaluationPhase.every=0",
    "in_training/EvaluationProtocol.max_steps=20",
    "final/EvaluationProtocol.max_steps=20",
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    printed = killed_runs.finish(run, *SMALL)
    assert "Done: 400 interactions" in printed
    return run


def _refused(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "simple_tf.train", *arguments], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr


def test_everything_is_where_the_documents_say(undisturbed):
    for name in (
        "run.json",
        "config.gin",
        "metrics.jsonl",
        "tensorboard",
        "episodes/manifest.json",
        "policies/iteration_001/policy.json",
        "evaluations/iteration_001.json",
        "evaluations/final.json",
        "evaluations/random.json",
    ):
        assert (undisturbed / name).exists(), name
    policy = json.loads((undisturbed / "policies/iteration_001/policy.json").read_text())
    assert policy == {"iteration": 1, "interactions": 300}
    # Defaults that no file binds are in the operative configuration, too.
    assert "PPOLearner.advantage_epsilon" in (undisturbed / "config.gin").read_text()


def test_killed_at_random_moments_it_ends_the_same_to_the_bit(undisturbed, tmp_path):
    run = tmp_path / "run"
    first = killed_runs.kill_once(run, 1.0, *SMALL)
    second = killed_runs.kill_once(run, 1.0, *SMALL, after_progress=True)
    assert first != second != "finished"
    killed_runs.finish(run, *SMALL)
    killed_runs.check_equal(run, undisturbed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_says_how_to_go_on(undisturbed, tmp_path, number):
    run = tmp_path / "run"
    process = subprocess.Popen(
        killed_runs.command(run, *SMALL), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    while not list(run.glob("checkpoints/[0-9]*")):  # Into the first iteration.
        time.sleep(0.1)
    process.send_signal(number)
    printed, errors = process.communicate()
    assert process.returncode == 128 + number, errors
    assert f"Stopped by {signal.Signals(number).name}" in printed
    assert "the same command goes on" in printed
    if number == signal.SIGINT:
        printed = killed_runs.finish(run, *SMALL)
        assert "going on in iteration 1" in printed
        killed_runs.check_equal(run, undisturbed)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 6 MB, and a way to make it larger."""
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", mount]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a tmpfs")
    yield mount
    subprocess.run(["umount", mount], check=True)


def test_a_full_disk_is_said_to_be_one_and_the_run_goes_on_when_there_is_room(
    undisturbed, small_disk
):
    run = small_disk / "run"
    message = _refused(*killed_runs.command(run, *SMALL)[3:])
    assert "the disk is full" in message.lower()
    subprocess.run(["mount", "-o", "remount,size=100m", small_disk], check=True)
    killed_runs.finish(run, *SMALL)
    killed_runs.check_equal(run, undisturbed)


def test_a_budget_that_ends_early_leaves_iterations_without_play(tmp_path):
    short = {"iterations": 3, "max_interactions": 400, "world_model_steps": 2, "policy_updates": 1}
    bindings = [f"Schedule.{name}={value}" for name, value in short.items()]
    printed = killed_runs.finish(tmp_path / "run", *SMALL, *bindings)
    assert "Done: 400 interactions" in printed
    assert "   3/3 " in printed


def test_a_finished_run_says_so_and_changes_nothing(undisturbed):
    before = (undisturbed / "metrics.jsonl").read_bytes()
    assert "finished already" in killed_runs.finish(undisturbed, *SMALL)
    assert (undisturbed / "metrics.jsonl").read_bytes() == before


def test_another_configuration_is_refused(undisturbed):
    command = killed_runs.command(undisturbed, *SMALL, "PPOLearner.discount=0.5")
    message = _refused(*command[3:])
    assert "PPOLearner.discount: 0.99 in the run, 0.5 now" in message


def test_resume_never_refuses(undisturbed):
    command = killed_runs.command(undisturbed, *SMALL)
    assert "--resume=never" in _refused(*command[3:], "--resume=never")


def test_who_chooses_no_size_on_a_cpu_is_told_what_it_takes(tmp_path):
    message = _refused("--game=pung", "--strategy=cpu", f"--output_dir={tmp_path}")
    assert "this is sd.gin, the paper's size" in message
    assert "--gin_file=cpu.gin" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game=pung"], "pong"),
        (["--gin_file=sd_longest.gin"], "sd_long.gin"),
        (["--gin_bindings=PPOLearner.discont=0.9"], "discont"),
        (["--gin_bindings=Schedule.iterations=0"], "Schedule.iterations"),
        (["--gin_bindings=build_world_model.model=@Nothing"], "Nothing"),
    ],
)
def test_mistakes_are_named_and_leave_nothing_behind(tmp_path, arguments, message):
    run = tmp_path / "run"
    defaults = ["--gin_file=smoke.gin"] if "gin_file" not in arguments[0] else []
    assert message in _refused(*defaults, *arguments, f"--output_dir={run}")
    assert not run.exists()
