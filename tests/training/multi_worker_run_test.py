"""Whole runs on one machine as two workers: to the end, and with one of them killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120
import killed_runs

pytestmark = pytest.mark.slow

SMALL = (
    "Schedule.iterations=1",
    "Schedule.initial_interactions=300",
    "Schedule.interactions_per_iteration=100",
    "Schedule.world_model_steps=30",
    "Schedule.policy_updates=6",
    "SimpleLoop.seconds_between_saves=2.0",
    "WorldModelEvaluationPhase.every=0",
    "FinalEvaluationPhase.videos=False",
    "in_training/EvaluationProtocol.max_steps=20",
    "final/EvaluationProtocol.max_steps=20",
)


def _start_workers(run, *bindings):
    with socket.socket() as first, socket.socket() as second:
        for one in (first, second):
            one.bind(("localhost", 0))
        addresses = [f"localhost:{one.getsockname()[1]}" for one in (first, second)]
    return [
        subprocess.Popen(
            [*killed_runs.command(run, *SMALL, *bindings), "--strategy=multi_worker"],
            env={**os.environ, "TF_CONFIG": _config(addresses, index)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]


def _config(addresses, index):
    cluster = {"worker": addresses}
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})


@pytest.mark.parametrize("victim", [0, 1])
def test_when_a_worker_is_killed_the_other_stops_and_one_process_goes_on(tmp_path, victim):
    run = tmp_path / "run"
    workers = _start_workers(run)
    while "world_model" not in killed_runs.place(run) or killed_runs.place(run).endswith(" 0"):
        assert all(worker.poll() is None for worker in workers), workers[0].communicate()
        time.sleep(0.2)
    workers[victim].send_signal(signal.SIGKILL)
    begin = time.monotonic()
    printed, errors = workers[1 - victim].communicate(timeout=120)
    seconds = time.monotonic() - begin
    assert workers[1 - victim].returncode == 1, printed + errors
    assert "Error: Another worker of this run has stopped" in errors
    assert "the same command on every worker goes on from there" in errors
    assert seconds < 60, seconds
    print(f"worker {victim} killed: the other stopped after {seconds:.1f} s")
    assert "going on in iteration 1, world model" in killed_runs.finish(run, *SMALL)
    starts = json.loads((run / "run.json").read_text())["starts"]
    assert [start["devices"]["replicas"] for start in starts] == [2, 1]
    assert [start["devices"]["strategy"] for start in starts] == ["multi_worker", "cpu"]


def test_two_workers_finish_a_run_that_one_process_began(tmp_path):
    run = tmp_path / "run"
    begun = killed_runs.kill_once(run, 0.0, *SMALL, after_progress=True)
    assert begun != "finished"
    workers = _start_workers(run)
    (printed, errors), (other, _) = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], printed + errors
    assert "Done: 400 interactions" in printed
    assert "going on in iteration 1" in printed
    assert not other  # The chief speaks for both.
    assert len(killed_runs.episodes(run)) == len(list(run.glob("episodes/*/*.tfrecord")))
    assert (run / "report").is_dir()


def test_the_chief_evaluates_beside_the_loop_while_all_go_on(tmp_path):
    run = tmp_path / "run"
    bindings = ("Schedule.iterations=2", "EvaluationPhase.background=True")
    workers = _start_workers(run, *bindings)
    (printed, errors), (other, _) = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], printed + errors
    assert printed.count("(evaluated meanwhile)") == 1
    assert not other
    cards = {path.stem for path in (run / "evaluations").iterdir()}
    assert cards == {"iteration_001", "iteration_002", "final", "random"}
