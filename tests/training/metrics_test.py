import json
import math

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.training.metrics import MetricsLog, RunningMean, read_metrics
from simple_tf.training.run_directory import RunDirectory


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


def _write(log, step):
    place = {"iteration": 1, "phase": "policy", "step": step, "interactions": 64, "seconds": 1.5}
    log.write(place, {"policy/return": 0.5 * step, "policy/kl": math.nan}, step)


def test_records_are_lines_of_json(run):
    log = MetricsLog(run)
    _write(log, 1)
    log.close()
    (record,) = read_metrics(run)
    assert record.pop("time") > 1e9
    assert record == {
        "iteration": 1,
        "phase": "policy",
        "step": 1,
        "interactions": 64,
        "seconds": 1.5,
        "metrics": {"policy/return": 0.5, "policy/kl": None},
    }


def test_tensorboard_has_them_too(run):
    log = MetricsLog(run)
    _write(log, 7)
    log.write_image("evaluation/filmstrip", np.zeros((4, 5, 3), np.uint8), 7)
    log.close()
    (events,) = run.tensorboard.iterdir()
    seen = {}
    for event in tf.compat.v1.train.summary_iterator(str(events)):
        for value in event.summary.value:
            seen[value.tag] = (event.step, tf.make_ndarray(value.tensor))
    assert seen["policy/return"] == (7, 3.5)
    assert "evaluation/filmstrip" in seen
    assert "policy/kl" not in seen


def test_after_a_resumption_work_that_is_done_again_is_not_there_twice(run):
    log = MetricsLog(run)
    for step in range(4):
        _write(log, step)
    log.close()
    with run.metrics.open("a") as file:
        file.write('{"cut off by a cra')
    log = MetricsLog(run, lines_to_keep=2)
    assert log.num_lines == 2
    _write(log, 2)
    log.close()
    assert [record["step"] for record in read_metrics(run)] == [0, 1, 2]


def test_a_line_cut_off_by_a_crash_is_removed(run):
    run.metrics.write_text('{"step": 0}\n{"step":')
    log = MetricsLog(run, lines_to_keep=5)
    _write(log, 1)
    log.close()
    assert [json.loads(line)["step"] for line in run.metrics.read_text().splitlines()] == [0, 1]


def test_running_means_are_weighted_and_leave_nan_out():
    mean = RunningMean()
    mean.add({"loss": 1.0, "accuracy": math.nan}, 1)
    mean.add({"loss": 4.0, "accuracy": 0.5}, 3)
    assert mean.take() == {"loss": 3.25, "accuracy": 0.5}
    mean.add({"accuracy": math.nan}, 1)
    assert math.isnan(mean.take()["accuracy"])
