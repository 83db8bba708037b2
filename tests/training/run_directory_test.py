import json
import subprocess

import pytest

from simple_tf.training.run_directory import (
    RunDescription,
    RunDirectory,
    RunError,
    commit_of,
)

SAME = RunDescription("pong", 3, {"Schedule.iterations": "15", "PPOLearner.discount": "0.99"})
OTHER = RunDescription("pong", 4, {"Schedule.iterations": "15", "PPOLearner.clip": "0.1"})


def test_a_new_directory_is_claimed_and_described(tmp_path):
    run = RunDirectory(tmp_path / "runs" / "a")
    assert run.claim(SAME) is False
    description, fields = run.read()
    assert description == SAME
    (start,) = fields["starts"]
    assert start["versions"]["tensorflow"].startswith("2.15")
    assert start["command"][0].startswith("python")
    assert start["machine"]["cores"] >= 1


def test_the_same_run_goes_on_and_every_start_is_noted(tmp_path):
    RunDirectory(tmp_path).claim(SAME)
    run = RunDirectory(tmp_path)
    assert run.claim(SAME) is True
    assert len(run.read()[1]["starts"]) == 2


def test_never_refuses_to_touch_a_run(tmp_path):
    RunDirectory(tmp_path).claim(SAME)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(RunError, match="--resume=never"):
        RunDirectory(tmp_path).claim(SAME, resume="never")
    assert (tmp_path / "run.json").read_bytes() == before


def test_another_configuration_is_refused_with_what_differs(tmp_path):
    RunDirectory(tmp_path).claim(SAME)
    with pytest.raises(RunError) as refusal:
        RunDirectory(tmp_path).claim(OTHER)
    text = str(refusal.value)
    assert "--seed: 3 in the run, 4 now" in text
    assert "PPOLearner.discount: 0.99 in the run, not set now" in text
    assert "PPOLearner.clip: not set in the run, 0.1 now" in text
    assert "Schedule.iterations" not in text


def test_the_same_number_written_otherwise_is_the_same_run(tmp_path):
    RunDirectory(tmp_path).claim(RunDescription("pong", 3, {"BUDGET": "100000.0", "name": "'a'"}))
    again = RunDescription("pong", 3, {"BUDGET": "100000", "name": "'a'"})
    assert RunDirectory(tmp_path).claim(again) is True


def test_something_else_is_not_overwritten(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError, match=r"thesis\.tex"):
        RunDirectory(tmp_path).claim(SAME)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="is a file"):
        RunDirectory(tmp_path / "file").claim(SAME)


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"game": "pong"})])
def test_a_damaged_description_is_said_to_be_one(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunError, match="cannot be read"):
        RunDirectory(tmp_path).claim(SAME)


@pytest.mark.parametrize("record", ["evaluations/final.json", "policies/iteration_001/policy.json"])
def test_records_without_checkpoints_are_not_overwritten(tmp_path, record):
    RunDirectory(tmp_path).claim(SAME)
    (tmp_path / record).parent.mkdir(parents=True)
    (tmp_path / record).write_text("{}")
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(RunError, match="records of a run without its checkpoints"):
        RunDirectory(tmp_path).claim(SAME)
    assert (tmp_path / "run.json").read_bytes() == before
    (tmp_path / "checkpoints" / "000003").mkdir(parents=True)
    assert RunDirectory(tmp_path).claim(SAME) is True


def test_a_file_is_not_read_as_a_run(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="is a file, not the directory of a run"):
        RunDirectory(tmp_path / "file").read()


def test_policies_are_found_by_iteration(tmp_path):
    run = RunDirectory(tmp_path)
    for iteration in (10, 2):
        run.policy(iteration).mkdir(parents=True)
        (run.policy(iteration) / "policy.json").write_text("{}")
    run.policy(3).mkdir()  # Unfinished: no description.
    assert run.policy_iterations() == [2, 10]


def test_the_commit_is_that_of_the_file_and_not_of_whatever_folder_it_lies_in(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *identity, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    module = tmp_path / "module.py"
    module.touch()
    git("init", "-q")
    assert commit_of(module) is None  # Nothing has been committed.
    (tmp_path / "thesis.tex").touch()
    git("add", "thesis.tex")
    git("commit", "-qm", "Begin")
    assert commit_of(module) is None  # Installed beside something else.
    git("add", "module.py")
    git("commit", "-qm", "Add")
    assert commit_of(module) == git("rev-parse", "HEAD")
    (tmp_path / "thesis.tex").write_text("Changed.")
    assert commit_of(module) == git("rev-parse", "HEAD") + "+"
