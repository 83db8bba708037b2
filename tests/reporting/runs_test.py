"""Runs are found and read, whole or not."""

import pytest
from synthetic_runs import write_run

from simple_tf.reporting.runs import DAMAGED, FINISHED, UNFINISHED, find_runs
from simple_tf.training.run_directory import RunError


def test_a_whole_run(tmp_path):
    write_run(tmp_path / "a" / "pong", seed=4, curve=(-20.0, 3.0), final=(10.0, 14.0))
    (run,) = find_runs([tmp_path])
    assert (run.name, run.game, run.seed, run.status) == ("a/pong", "pong", 4, FINISHED)
    assert run.configuration == "sd"
    assert [card.statistics.mean for card in run.in_training] == [-20.0, 3.0]
    assert run.score.statistics.mean == 12.0
    assert run.random.statistics.mean == -20.5
    assert run.iterations == (2, 2)
    assert run.seconds == 200.0
    assert run.problems == ()


def test_a_budget_with_an_exponent_is_a_number_of_iterations(tmp_path):
    schedule = {"ModelFreeSchedule.interactions": "%BUDGET", "BUDGET": "100000.0"}
    bindings = schedule | {"ModelFreeSchedule.evaluate_every": "40000"}
    write_run(tmp_path / "ppo", curve=(1.0, 2.0), bindings=bindings)
    (run,) = find_runs([tmp_path])
    assert run.iterations == (2, 3)


def test_a_run_by_its_own_path_and_again_in_its_folder_is_one_run(tmp_path):
    path = write_run(tmp_path / "pong")
    assert [run.name for run in find_runs([path, tmp_path])] == ["pong"]


def test_what_is_under_an_underscore_is_left_out(tmp_path):
    write_run(tmp_path / "pong")
    aside = write_run(tmp_path / "_tried" / "pong")
    assert [run.name for run in find_runs([tmp_path])] == ["pong"]
    assert [run.path for run in find_runs([aside])] == [aside]


def test_configurations_are_told_by_their_command(tmp_path):
    write_run(tmp_path / "b", gin_file="/somewhere/cpu.gin")
    path = write_run(tmp_path / "a", seed=1)
    text = (path / "run.json").read_text()
    extra = '"--gin_bindings=Schedule.iterations=3", "--gin_bindings", "A.b=1", "--game=pong"'
    (path / "run.json").write_text(text.replace('"--game=pong"', extra))
    names = {run.name: run.configuration for run in find_runs([tmp_path])}
    assert names == {"a": "sd, Schedule.iterations=3, A.b=1", "b": "cpu"}


def test_a_run_by_bindings_that_has_used_what_the_file_says_is_the_file_s(tmp_path):
    write_run(tmp_path / "plain")
    path = write_run(tmp_path / "bound", seed=1)
    text = (path / "run.json").read_text()
    bound = text.replace('"--game=pong"', '"--gin_bindings=A.b=1", "--game=pong"')
    (path / "run.json").write_text(bound)
    for name, settings in (("plain", "A.b = 1\nC.d = 2\n"), ("bound", "C.d = 2\nA.b = 1\n")):
        (tmp_path / name / "config.gin").write_text(settings)
    assert {run.configuration for run in find_runs([tmp_path])} == {"sd"}
    (path / "config.gin").write_bytes(b"\xff\xfe")
    assert [run.configuration for run in find_runs([tmp_path])] == ["sd", "sd, A.b=1"]


def test_a_half_finished_run_counts_with_its_latest_evaluation(tmp_path):
    write_run(tmp_path / "pong", curve=(-20.0, -7.0), final=None, planned=15)
    (run,) = find_runs([tmp_path])
    assert run.status == UNFINISHED
    assert run.score.statistics.mean == -7.0
    assert run.iterations == (2, 15)


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("run.json", "{", "run.json cannot be read"),
        ("run.json", None, "it has no run.json"),
        ("evaluations/final.json", "[]", "final.json cannot be read"),
        ("metrics.jsonl", '{"iteration": 1}\n', "has 1 damaged line"),
        ("metrics.jsonl", b"\xff\xfe", "metrics.jsonl cannot be read"),
    ],
)
def test_damage_is_told_and_the_rest_is_read(tmp_path, file, content, sentence):
    path = write_run(tmp_path / "pong")
    if content is None:
        (path / file).unlink()
    else:
        (path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    (run,) = find_runs([tmp_path])
    assert run.status == DAMAGED
    assert sentence in " ".join(run.problems)
    assert run.game == "pong"
    assert run.score is not None


def test_a_run_that_has_just_begun(tmp_path):
    path = write_run(tmp_path / "pong", curve=(1.0,), final=None)
    for trace in (path / "metrics.jsonl", path / "evaluations" / "iteration_001.json"):
        trace.unlink()
    (run,) = find_runs([tmp_path])
    assert (run.status, run.score, run.seconds) == (UNFINISHED, None, 0.0)


def test_folders_that_hold_no_run(tmp_path):
    assert find_runs([tmp_path]) == []
    with pytest.raises(RunError, match="There is no folder"):
        find_runs([tmp_path / "nowhere"])
