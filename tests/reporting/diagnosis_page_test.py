"""A diagnosis on its page, in the report and on the screen."""

import json
import re
from xml.etree import ElementTree

from synthetic_diagnosis import make_diagnosis
from synthetic_runs import write_run

from simple_tf.reporting.diagnosis_page import NUMBERS, to_text, write_diagnosis_page
from simple_tf.reporting.page import build_page
from simple_tf.reporting.runs import DAMAGED, find_runs
from simple_tf.training.diagnosis_file import read_diagnosis

VERDICT = (
    "The largest gap is the rewards in dreams: within 10 steps under the real actions the model "
    "finds 10% of the rewards -1 (10% of those it gives are real) and 10% of the rewards +1"
)


def test_the_page_says_it_first_and_shows_it(tmp_path):
    found = make_diagnosis()
    page = write_diagnosis_page(tmp_path / "diagnosis", found).read_text()
    assert read_diagnosis(tmp_path / "diagnosis" / NUMBERS) == found
    assert found.verdict.startswith(VERDICT)
    assert page.index(VERDICT) < page.index("<table>") < page.index("<svg")
    svgs = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(svgs) == 7
    for svg in svgs:
        ElementTree.fromstring(svg)
    assert "12% of the policy&#x27;s states" in page
    assert "<script" not in page


def test_the_report_shows_the_diagnoses_of_its_runs(tmp_path):
    for seed in (0, 1):
        write_run(tmp_path / "runs" / f"pong_{seed}", seed=seed)
    assert "What limits" not in build_page(find_runs([tmp_path / "runs"]))
    write_diagnosis_page(tmp_path / "runs" / "pong_1" / "diagnosis", make_diagnosis(seed=1))
    runs = find_runs([tmp_path / "runs"])
    assert [run.diagnosis is not None for run in runs] == [False, True]
    page = build_page(runs)
    assert f"pong_1: {VERDICT}" in page
    assert page.count("What limits these runs") == 1


def test_a_damaged_diagnosis_does_not_stop_a_report(tmp_path):
    path = write_run(tmp_path / "runs" / "pong")
    write_diagnosis_page(path / "diagnosis", make_diagnosis())
    fields = json.loads((path / "diagnosis" / NUMBERS).read_text())
    del fields["measured"]["returns"]
    (path / "diagnosis" / NUMBERS).write_text(json.dumps(fields))
    (run,) = find_runs([tmp_path / "runs"])
    assert run.status == DAMAGED
    assert "diagnose the run again" in build_page([run])


def test_the_screen_ends_with_the_verdict():
    found = make_diagnosis()
    lines = to_text(found).splitlines()
    assert lines[-1] == found.verdict
    assert lines[0].startswith("pong, seed 0: policy of iteration 3, trained on 6,400 interactions")
    (row,) = [line for line in lines if line.startswith("the rewards in dreams ")]
    assert row.split()[4:7] == ["0.89", "0.40", "0.82"]
    held = make_diagnosis(found_in_dreams=19.0)
    assert held.largest is None
    assert "No gap" in to_text(held).splitlines()[-1]
