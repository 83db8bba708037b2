"""Sweeps: from a small file to commands, and what is refused before anything is spent."""

import dataclasses
import subprocess
import sys
import time
from pathlib import Path

import gin
import pytest

from simple_tf.envs.catalog import UnknownGameError
from simple_tf.training.configuration import configure, parsed_bindings
from simple_tf.training.gin_files import ConfigurationError
from simple_tf.training.program import check_program, program_of
from simple_tf.training.run_directory import RunDescription, RunDirectory, RunError
from simple_tf.training.sweep import SweepError, read_sweep
from simple_tf.training.sweep_check import _check_writable, check_sweep

LAUNCH = Path(__file__).resolve().parents[2] / "launch"

TWO_CONFIGURATIONS = """
# A comment.
[sweep]
games = pong
    my_games:Maze-v0       # A Gymnasium game.
seeds = 7 0..1
output_dir = OUTPUT
flags = --resume=never

[smoke]
gin_files = smoke.gin

[short]
gin_files = smoke.gin more.gin
gin_bindings =
    PPOTrainer.collect_steps = %ROLLOUT_LENGTH
    Schedule.iterations = 1
"""

SMOKE = """
[sweep]
games = pong freeway
seeds = 0 1
output_dir = OUTPUT
[smoke]
gin_files = smoke.gin
"""


@pytest.fixture(autouse=True)
def _clean_gin():
    gin.clear_config()
    yield
    gin.clear_config()


@pytest.fixture
def sweep_of(tmp_path):
    """Reads a description whose runs go to a directory of the test."""

    def read(text, **options):
        path = tmp_path / "sweep.ini"
        path.write_text(text.replace("OUTPUT", str(tmp_path / "runs")))
        return read_sweep(path, **options)

    return read


def test_every_game_configuration_and_seed_is_a_run(sweep_of):
    tasks = sweep_of(TWO_CONFIGURATIONS).tasks()
    assert [task.name for task in tasks] == [
        f"{game}-{configuration}-{seed}"
        for seed in (7, 0, 1)
        for configuration in ("smoke", "short")
        for game in ("pong", "my_games_Maze-v0")
    ]


def test_the_command_of_a_run(sweep_of, tmp_path):
    sweep = sweep_of(TWO_CONFIGURATIONS, further_flags=["--verbosity=1"])
    assert sweep.task(3).command() == [
        *(sys.executable, "-m", "simple_tf.train", "--gin_file=smoke.gin", "--gin_file=more.gin"),
        "--gin_bindings=PPOTrainer.collect_steps = %ROLLOUT_LENGTH",
        "--gin_bindings=Schedule.iterations = 1",
        *("--game=my_games:Maze-v0", "--seed=7"),
        f"--output_dir={tmp_path / 'runs' / 'my_games_Maze-v0-short-7'}",
        *("--resume=never", "--verbosity=1"),
    ]
    with pytest.raises(SweepError, match="has 0 to 11"):
        sweep.task(12)


def test_what_a_configuration_learns_decides_which_program_runs_it(tmp_path):
    mine = tmp_path / "mine.gin"
    mine.write_text("include 'rainbow_der.gin'\nBUDGET = 5000\n")
    model_free = "simple_tf.train_model_free"
    assert program_of(["ppo.gin"], []) == program_of([str(mine)], []) == model_free
    assert program_of(["sd.gin"], ["ModelFreeExperiment.learner = @PPOInRealGame"]) == model_free
    for name in ("cpu.gin", "sd.gin", "there_is_none.gin"):
        assert program_of([name], ["# ModelFreeExperiment.learner = @x"]) == "simple_tf.train"
    check_program("simple_tf.train", ["cpu.gin"], [])
    with pytest.raises(ConfigurationError, match=r"ppo\.gin is .* python -m simple_tf\.train_mod"):
        check_program("simple_tf.train", ["ppo.gin"], [])
    mine.write_text(f"include '{mine}'\n")  # Endless: for gin to complain of.
    assert program_of([str(mine)], []) == "simple_tf.train"


@pytest.mark.usefixtures("reverb")
def test_the_whole_claim_is_one_sweep(tmp_path):
    sweep = read_sweep(LAUNCH / "sweeps" / "claim.ini", tmp_path)
    programs = {task.configuration.name: task.command()[2] for task in sweep.tasks()}
    model_free = "simple_tf.train_model_free"
    assert programs == {
        "cpu": "simple_tf.train",
        "cpu_ppo": model_free,
        "cpu_rainbow": model_free,
    }
    two_games = dataclasses.replace(sweep, games=("freeway", "road_runner"))
    assert check_sweep(two_games)[0].startswith("6 runs (games x configurations x seeds = 2 x 3 x")
    too_small = dataclasses.replace(sweep.configurations[1], gin_bindings=("BUDGET = 10",))
    with pytest.raises(ValueError, match="less than the 800 steps of one update"):
        check_sweep(dataclasses.replace(two_games, configurations=(too_small,)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds = 0 1", "seeds = 0 1 0..3", "0, 1 is named twice in seeds"),
        ("seeds = 0 1", "seeds = one", "seeds are whole numbers"),
        ("seeds = 0 1", "seeds =", "seeds is missing"),
        ("seeds = 0 1", "seed = 0", "seed is none of"),
        ("pong freeway", "pong pong", "pong is named twice"),
        ("[sweep]", "[sweeps]", r"no section \[sweep\]"),
        ("[smoke]\ngin_files = smoke.gin", "", "no configuration"),
        ("[smoke]", "[a/b]", "no name for a directory"),
        ("[smoke]", "[smoke", "The sweep is wrong"),
        ("gin_files = smoke.gin", "gin_file = smoke.gin", "gin_file is none of"),
    ],
)
def test_mistakes_in_the_file_are_named(sweep_of, old, new, message):
    assert old in SMOKE
    with pytest.raises(SweepError, match=message):
        sweep_of(SMOKE.replace(old, new))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SweepError, match=r"nothing\.ini cannot be read: No such file"):
        read_sweep(tmp_path / "nothing.ini")


def test_a_sweep_in_order_says_what_will_happen(sweep_of, tmp_path):
    configure(["smoke.gin"], [])
    started = RunDirectory(tmp_path / "runs" / "pong-smoke-0")
    started.claim(RunDescription("pong", 0, parsed_bindings()))
    gin.clear_config()
    lines = check_sweep(sweep_of(SMOKE))
    assert lines[0].startswith("4 runs")
    assert "1 of them have been started before" in lines[0]


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("freeway", "fleeway", UnknownGameError, "Did you mean freeway"),
        ("smoke.gin", "smok.gin", ConfigurationError, "no gin file 'smok.gin'"),
        ("smoke.gin", "smoke.gin\ngin_bindings = A.b=1", ConfigurationError, "A.b"),
        ("smoke.gin", "simple.gin", RuntimeError, "Required bindings"),
        ("smoke.gin", "smoke.gin\ngin_bindings = Schedule.iterations=0", ValueError, "iterations"),
        ("output_dir = OUTPUT", "output_dir = /proc/runs", SweepError, "cannot be written"),
        ("seeds = 0 1", "seeds = 0\nflags = --strange", SweepError, "'strange'"),
        ("pong freeway", "a:B-v0 a_B-v0", SweepError, "have one name"),
    ],
)
def test_what_no_run_could_begin_with_is_found_first(sweep_of, old, new, error, message):
    assert old in SMOKE
    with pytest.raises(error, match=message):
        check_sweep(sweep_of(SMOKE.replace(old, new)))


def test_trying_to_write_leaves_nothing_behind(tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    assert _check_writable(there / "runs" / "deeper") > 0
    assert _check_writable(there) > 0
    assert list(tmp_path.rglob("*")) == [there]


def test_the_run_of_another_configuration_in_the_way_is_found(sweep_of, tmp_path):
    configure(["smoke.gin"], ["Schedule.iterations = 1"])
    other = RunDirectory(tmp_path / "runs" / "freeway-smoke-1")
    other.claim(RunDescription("freeway", 1, parsed_bindings()))
    with pytest.raises(RunError, match=r"Schedule\.iterations: 1 in the run, 2 now"):
        check_sweep(sweep_of(SMOKE))


def test_the_binary_becomes_the_run(tmp_path):
    """The process stays the same one, so that a scheduler's signals reach the training."""
    path = tmp_path / "sweep.ini"
    path.write_text(SMOKE.replace("OUTPUT", str(tmp_path / "runs")))
    arguments = [f"--file={path}", "--run=2", "--train_flag=--only_check_args"]
    process = subprocess.Popen([sys.executable, "-m", "simple_tf.sweep", *arguments])
    seen = set()
    while process.poll() is None:
        words = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
        seen.update(words[2:3])
        time.sleep(0.05)
    assert process.returncode == 0
    # What it began as may be over before anybody looks; what it has become lasts for seconds.
    assert seen - {"simple_tf.sweep"} == {"simple_tf.train"}


def test_the_binary_says_what_is_wrong_in_one_sentence(tmp_path):
    path = tmp_path / "sweep.ini"
    path.write_text(SMOKE.replace("OUTPUT", str(tmp_path / "runs")))
    done = subprocess.run(
        [sys.executable, "-m", "simple_tf.sweep", f"--file={path}", "--command=4"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "Error: There is no task 4: the sweep has 0 to 3.\n"
