"""Charts show the numbers they are given, at the right places."""

from xml.etree import ElementTree

import numpy as np
import pytest

from simple_tf.evaluation.aggregates import Estimate, performance_profile
from simple_tf.reporting.charts import (
    Series,
    interval_chart,
    line_chart,
    profile_chart,
    score_scale,
    stacked_bars,
)
from simple_tf.reporting.numbers import count_text, duration_text, game_text, score_text, ticks


def parsed(chart):
    svg = chart[: chart.index("</svg>") + len("</svg>")]
    return ElementTree.fromstring(svg)


def shapes(chart, tag, class_):
    """Elements of a kind whose classes include this one."""
    found = parsed(chart).iter(f"{{http://www.w3.org/2000/svg}}{tag}")
    return [shape for shape in found if class_ in shape.get("class", "").split()]


def texts(chart):
    return [shape.text for shape in parsed(chart).iter("{http://www.w3.org/2000/svg}text")]


def test_a_line_rises_where_the_numbers_rise():
    chart = line_chart("t", [Series("a", [(0, 1.0), (5, 2.0), (10, 4.0)])], "x", "y", {"goal": 3.0})
    (line,) = shapes(chart, "polyline", "c0")
    points = np.array([pair.split(",") for pair in line.get("points").split()], float)
    assert np.all(np.diff(points[:, 0]) > 0)
    steps = np.diff(points[:, 1])
    assert steps[1] == pytest.approx(2 * steps[0], abs=0.05)  # Down the page is up the scale.
    assert steps[0] < 0
    (level,) = shapes(chart, "line", "level")
    assert float(level.get("y1")) == pytest.approx(points[1:, 1].mean(), abs=0.05)
    assert "goal" in texts(chart)


def test_bars_are_as_long_as_their_seconds():
    chart = stacked_bars("t", {"a": {"x": 30.0, "y": 10.0}, "b": {"x": 20.0}}, ["x", "y"])
    widths = [float(bar.get("width")) for bar in shapes(chart, "rect", "bar")]
    assert widths == pytest.approx(
        [30 * widths[1] / 10, widths[1], 20 * widths[1] / 10, 0.0], abs=0.1
    )
    assert {"40 s", "20 s"} <= set(texts(chart))


def test_seeds_lie_on_the_scale_between_the_marks():
    chart = score_scale("t", [2.0, 4.0], {"low": 0.0, "high": 8.0}, ("paper", 5.0, 1.0))
    first, second = (float(dot.get("cx")) for dot in shapes(chart, "circle", "seed"))
    low, high = (float(mark.get("x1")) for mark in shapes(chart, "line", "mark"))
    assert first == pytest.approx(low + (high - low) / 4, abs=0.05)
    assert second == pytest.approx(low + (high - low) / 2, abs=0.05)
    (box,) = shapes(chart, "rect", "spread")
    assert float(box.get("width")) == pytest.approx((high - low) / 4, abs=0.05)
    assert "ours 3" in texts(chart)


def test_a_mark_far_away_does_not_squeeze_the_others():
    chart = score_scale("t", [300.0], {"random": 60.0, "PPO": 370.0, "human": 42055.0}, None)
    assert len(shapes(chart, "line", "mark")) == 2
    assert "human 42,055 \N{RIGHTWARDS ARROW}" in texts(chart)


def test_intervals_are_drawn_only_where_they_mean_something():
    rows = {"mean": Estimate(0.5, 0.25, 0.75)}
    (bar,) = shapes(interval_chart("t", rows, with_intervals=True), "line", "interval")
    (dot,) = shapes(interval_chart("t", rows, with_intervals=True), "circle", "dot")
    middle = (float(bar.get("x1")) + float(bar.get("x2"))) / 2
    assert float(dot.get("cx")) == pytest.approx(middle, abs=0.05)
    assert not shapes(interval_chart("t", rows, with_intervals=False), "line", "interval")


def test_profiles_fall():
    profile = performance_profile({"a": [0.2, 0.6], "b": [1.5]}, np.linspace(0, 2, 21))
    chart = profile_chart("t", {"ours": profile}, with_bands=True)
    (line,) = shapes(chart, "polyline", "c0")
    heights = [float(pair.split(",")[1]) for pair in line.get("points").split()]
    assert heights == sorted(heights)
    assert len(shapes(chart, "polygon", "band")) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),  # noqa: RUF001
        (float("nan"), "–"),  # noqa: RUF001
        (0.0, "0"),
        (-0.001, "0"),
        (-20.4, "−20.4"),  # noqa: RUF001
        (1.256, "1.26"),
        (12.0, "12"),
        (123.45, "123.5"),
        (62583.6, "62,584"),
    ],
)
def test_scores_as_people_read_them(value, text):
    assert score_text(value) == text


def test_other_numbers_as_people_read_them():
    assert [count_text(n) for n in (None, 800, 6400, 102400, 1.5e6)][1:] == [
        "800",
        "6.4K",
        "102K",
        "1.5M",
    ]
    assert [duration_text(s) for s in (9, 61, 7265)] == ["9 s", "1 min 1 s", "2 h 1 min"]
    assert game_text("kung_fu_master") == "Kung Fu Master"
    assert game_text("my_games:Dot-v0") == "my_games:Dot-v0"


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-21, 21), (0, 102400), (-0.3, 0.004), (5, 5)])
def test_ticks_are_round_and_few(low, high):
    found = ticks(low, high)
    assert 1 <= len(found) <= 5
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    steps = np.diff(found)
    assert np.allclose(steps, steps[:1])
