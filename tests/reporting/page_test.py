"""The page is parsed, and its figures are those of the runs."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from synthetic_runs import write_run

from simple_tf.reporting.page import build_page
from simple_tf.reporting.runs import find_runs

VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Checks that tags are balanced; collects text, tables, attributes and pictures."""

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.tables, self.attributes = [], [], [], []
        self.svgs = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])

    def handle_startendtag(self, tag, attributes):
        self.attributes += [(tag, name, value) for name, value in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style",):
            self.words.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1].append(data)

    @property
    def text(self):
        return " ".join(self.words)

    def table(self, *columns):
        """The rows of the table whose header begins with these columns."""
        return next(rows for rows in self.tables if rows[0][: len(columns)] == list(columns))


@pytest.fixture
def runs(tmp_path):
    for seed, score in enumerate((11.0, 14.0, 5.0)):
        write_run(tmp_path / f"pong_{seed}", seed=seed, final=(score - 1, score + 1))
        write_run(tmp_path / f"boxing_{seed}", "boxing", seed, final=(score,), random=(0.0, 1.0))
    write_run(tmp_path / "half", "freeway", curve=(0.0, 1.5), final=None, planned=3)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("<b>&")
    return find_runs([tmp_path])


def test_it_is_one_file_without_scripts(runs):
    page = Page(build_page(runs))
    tags = {tag for tag, _, _ in page.attributes}
    assert not tags & {"script", "link", "iframe"}
    for tag, name, value in page.attributes:
        if name in ("src", "href"):
            assert value.startswith("data:"), (tag, name)
        assert not name.startswith("on")


def test_every_picture_is_xml(runs):
    page = Page(build_page(runs))
    assert len(page.svgs) > 10
    for svg in page.svgs:
        ElementTree.fromstring(svg)


def test_scores_beside_the_paper_s(runs):
    (header, *rows) = Page(build_page(runs)).table("game", "configuration", "interactions")
    row = dict(zip(header, next(row for row in rows if row[0] == "Pong"), strict=True))
    std = np.std([11, 14, 5], ddof=1)
    assert row["ours"] == f"10 ± {std:.2f}"
    assert (row["median"], row["best"], row["each seed"]) == ("11", "14", "11, 14, 5")
    assert row["paper: SD long"] == "12.8 ± 17.2"
    assert row["paper: PPO 1M"] == "14.7 ± 5.1"
    assert row["paper: human"] == "15"
    assert row["interactions"] == "100K"


def test_verdicts(runs):
    (header, *rows) = Page(build_page(runs)).table("game", "configuration", "ours", "compared with")
    assert {row[header.index("compared with")] for row in rows} == {"SD long"}
    verdicts = {row[0]: row[header.index("verdict")] for row in rows}
    assert verdicts == {
        "Boxing": "within the paper's spread",
        "Pong": "within the paper's spread",
        "Freeway": "not finished yet",
    }


def test_the_paper_s_formulas(runs):
    page = Page(build_page(runs))
    fractions, differences = (
        table for table in page.tables if table[0][2:4] == ["Rainbow 100K", "Rainbow 500K"]
    )
    pong = next(row for row in fractions if row[0] == "Pong")
    # (10 + 20.4) / (-19.5 + 20.4) for Rainbow at 100K.
    assert float(pong[2]) == pytest.approx(30.4 / 0.9, abs=0.05)
    boxing = next(row for row in differences if row[0] == "Boxing")
    # (10 - 0.9) / 12.0 for Rainbow at 100K.
    assert float(boxing[2]) == pytest.approx(9.1 / 12.0, abs=0.005)


def test_aggregates_of_two_games(runs):
    page = build_page([run for run in runs if run.game in ("pong", "boxing")])
    # Pong (10 + 20.4) / 35.4 and Boxing (10 - 0.3) / 11.7, the mean of both.
    mean = (30.4 / 35.4 + 9.7 / 11.7) / 2
    assert f">{mean:.3f}<" in page
    assert "no intervals" not in page
    with_few = build_page([run for run in runs if (run.game, run.seed) != ("pong", 0)])
    assert "no intervals, because some games have fewer than 3 seeds" in with_few


def test_pictures_and_protocol_cards_are_inside(runs):
    text = build_page(runs)
    page = Page(text)
    pictures = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    assert len(pictures) == 3 * 2  # First and last world model of each result's typical run.
    assert all(value.startswith("data:image/png;base64,") for value in pictures)
    for part in ("Learning curve", "reward accuracy", "Time", "policies/iteration_003"):
        assert part in page.text
    assert "1 to 8 at the start" in page.text


def test_videos_are_inside(tmp_path):
    path = write_run(tmp_path / "pong")
    (path / "videos").mkdir()
    (path / "videos" / "best_episode.mp4").write_bytes(b"not really a film")
    page = Page(build_page(find_runs([tmp_path])))
    assert ("video", "src", "data:video/mp4;base64,bm90IHJlYWxseSBhIGZpbG0=") in page.attributes
    assert "best episode, seed 0" in page.text


def test_damaged_and_half_finished_runs_are_listed(runs):
    page = Page(build_page(runs))
    assert "8 runs (6 finished, 1 unfinished, 1 damaged)" in page.text
    (header, *rows) = page.table("run", "game", "seed")
    states = {row[0]: row[header.index("state")] for row in rows}
    assert states["half"] == "unfinished"
    assert states["broken"] == "damaged"
    assert states["pong_0"] == "finished"


def test_what_a_run_says_is_escaped(tmp_path):
    write_run(tmp_path / "<script>alert(1)<", gin_file="<img src=x>.gin")
    text = build_page(find_runs([tmp_path]))
    assert "<script" not in text
    assert "<img src=x" not in text
    Page(text)


def test_runs_without_any_score(tmp_path):
    path = write_run(tmp_path / "pong", curve=(1.0,), final=None)
    (path / "evaluations" / "iteration_001.json").unlink()
    page = Page(build_page(find_runs([tmp_path])))
    assert "None of these runs has been evaluated yet." in page.text
