"""The report's charts, as SVG without any script."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from simple_tf.evaluation.aggregates import Estimate, Profile
from simple_tf.reporting.numbers import duration_text, score_text
from simple_tf.reporting.svg import Plane, Point, drawing, element, text

NUM_COLOURS = 8


@dataclasses.dataclass(frozen=True)
class Series:
    """A named line; `dashed` for what it is compared with."""

    name: str
    points: Sequence[Point]
    dashed: bool = False


def line_chart(
    title: str,
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    levels: Mapping[str, float] | None = None,
    y_range: tuple[float, float] | None = None,
) -> str:
    """Draws lines over one plane, with named dashed levels and a legend below.

    Args:
        title: for screen readers.
        series: the lines; empty ones are left out.
        x_label: what x counts.
        y_label: what y counts.
        levels: heights to compare with, by name.
        y_range: lowest and highest y; None: what the lines and levels need.
    """
    shown = [one for one in series if one.points]
    xs = [x for one in shown for x, _ in one.points]
    ys = [y for one in shown for _, y in one.points] + list((levels or {}).values())
    low, high = y_range or _with_margin(min(ys), max(ys))
    plane = Plane((min(0.0, *xs), max(xs)), (low, high))
    parts = [plane.axes(x_label, y_label)]
    parts += [plane.level(value, name) for name, value in (levels or {}).items()]
    for number, one in enumerate(shown):
        colour = f"c{number % NUM_COLOURS}" + (" dashed" if one.dashed else "")
        parts.append(plane.line(one.points, colour))
        if not one.dashed:
            parts.append(plane.dots(one.points, colour))
    return drawing("".join(parts), plane.width, plane.height, title) + _legend(shown)


def score_scale(
    title: str,
    seeds: Sequence[float],
    marks: Mapping[str, float],
    spread: tuple[str, float, float] | None,
) -> str:
    """Draws one line from the lowest score to the highest, with our seeds and what others score.

    A mark that is so far off that all the others would fall on one point is named at the end.

    Args:
        title: for screen readers.
        seeds: our scores, one for each run.
        marks: scores of others, by name.
        spread: name, mean and standard deviation of what we compare with.
    """
    ends = [spread[1] - spread[2], spread[1] + spread[2]] if spread else []
    near, far = _without_outlier([*seeds, *ends], marks)
    values = [*seeds, *near.values(), *ends]
    low, high = _with_margin(min(values), max(values), 0.04)
    plane = Plane((low, high), (0.0, 1.0), (420.0, 132.0), (14.0, 0.0, 14.0, 78.0))
    middle = plane.bottom
    parts = [element("line", x1=plane.left, x2=plane.right, y1=middle, y2=middle, class_="scale")]
    if spread:
        parts.append(_spread(plane, middle, *spread))
    if far:
        parts.append(text(_arrow(far), plane.right, middle - 14, "tick", "end"))
    ticks, rows = _marks(plane, middle, near)
    parts += ticks
    mean = sum(seeds) / len(seeds)
    parts += [
        element("circle", cx=plane.x(value), cy=middle, r=4.5, class_="dot seed") for value in seeds
    ]
    parts.append(_flag(plane.x(mean), middle, f"ours {score_text(mean)}", plane))
    return drawing("".join(parts), plane.width, middle + 14 + 15 * rows, title)


def stacked_bars(title: str, rows: Mapping[str, Mapping[str, float]], parts: Sequence[str]) -> str:
    """Draws one bar for each row, made of parts, which are seconds.

    Args:
        title: for screen readers.
        rows: seconds of each part, by row.
        parts: their names in order.
    """
    row_height, left, width = 34.0, 14.0, 420.0
    longest = max(sum(row.values()) for row in rows.values()) or 1.0
    drawn = []
    for number, (name, row) in enumerate(rows.items()):
        top = number * row_height
        total = sum(row.values())
        drawn.append(text(name, left, top + 12, "axis"))
        drawn.append(text(duration_text(total), width - 14, top + 12, "tick", "end"))
        x = left
        for place, part in enumerate(parts):
            length = row.get(part, 0.0) / longest * (width - 28)
            colour = f"c{place % NUM_COLOURS}"
            drawn.append(
                element("rect", x=x, y=top + 16, width=length, height=12.0, class_=f"bar {colour}")
            )
            x += length
    legend = _legend([Series(part.replace("_", " "), []) for part in parts])
    return drawing("".join(drawn), width, len(rows) * row_height, title) + legend


def interval_chart(title: str, rows: Mapping[str, Estimate], with_intervals: bool) -> str:
    """Draws named numbers with their intervals, one below the other.

    Args:
        title: for screen readers.
        rows: by name.
        with_intervals: whether the intervals mean something.
    """
    values = [v for e in rows.values() for v in ((e.low, e.high) if with_intervals else (e.value,))]
    row_height, top = 30.0, 8.0
    height = len(rows) * row_height + top + 28
    low, high = _with_margin(min(0.0, *values), max(1.0, *values), 0.03)
    plane = Plane((low, high), (0.0, 1.0), (420.0, height), (108.0, top, 58.0, 28.0))
    parts = []
    for value, name in ((0.0, "random"), (1.0, "human")):
        x = plane.x(value)
        parts.append(element("line", x1=x, x2=x, y1=plane.top, y2=plane.bottom, class_="grid"))
        parts.append(text(name, x, plane.bottom + 16, "tick", "middle"))
    for number, (name, estimate) in enumerate(rows.items()):
        y = top + (number + 0.5) * row_height
        parts.append(text(name, plane.left - 12, y + 4, "axis", "end"))
        if with_intervals:
            ends = plane.x(estimate.low), plane.x(estimate.high)
            parts.append(element("line", x1=ends[0], x2=ends[1], y1=y, y2=y, class_="interval c0"))
        parts.append(element("circle", cx=plane.x(estimate.value), cy=y, r=4.5, class_="dot c0"))
        parts.append(text(f"{estimate.value:.3f}", plane.width - 8, y + 4, "tick", "end"))
    return drawing("".join(parts), plane.width, height, title)


def profile_chart(title: str, profiles: Mapping[str, Profile], with_bands: bool) -> str:
    """Draws the share of runs above each human-normalised score.

    Args:
        title: for screen readers.
        profiles: by name.
        with_bands: whether the intervals mean something.
    """
    thresholds = next(iter(profiles.values())).thresholds
    plane = Plane((float(thresholds[0]), float(thresholds[-1])), (0.0, 1.0))
    parts = [plane.axes("human-normalised score", "share of runs above")]
    for number, profile in enumerate(profiles.values()):
        colour, xs = f"c{number % NUM_COLOURS}", profile.thresholds.tolist()
        if with_bands:
            low = list(zip(xs, profile.low.tolist(), strict=True))
            parts.append(plane.band(low, list(zip(xs, profile.high.tolist(), strict=True)), colour))
        parts.append(plane.line(list(zip(xs, profile.shares.tolist(), strict=True)), colour))
    legend = _legend([Series(name, []) for name in profiles]) if len(profiles) > 1 else ""
    return drawing("".join(parts), plane.width, plane.height, title) + legend


def _legend(series: Sequence[Series]) -> str:
    items = [
        f'<span class="key{" dashed" if one.dashed else ""}">'
        f"{element('i', ' ', class_=f'c{number % NUM_COLOURS}')}{_escaped(one.name)}</span>"
        for number, one in enumerate(series)
    ]
    return f'<div class="legend">{"".join(items)}</div>'


def _escaped(name: str) -> str:
    return name.replace("&", "&amp;").replace("<", "&lt;")


def _spread(plane: Plane, y: float, name: str, mean: float, std: float) -> str:
    left, right = plane.x(mean - std), plane.x(mean + std)
    box = element("rect", x=left, y=y - 9, width=right - left, height=18.0, rx=4.0, class_="spread")
    tick = element("line", x1=plane.x(mean), x2=plane.x(mean), y1=y - 9, y2=y + 9, class_="paper")
    return element("g", element("title", _escaped(f"{name}: {mean} ± {std}")) + box + tick)


def _without_outlier(
    fixed: Sequence[float], marks: Mapping[str, float]
) -> tuple[dict[str, float], tuple[str, float] | None]:
    """Takes away the highest mark if the rest would fill less than a quarter of the line."""
    name = max(marks, key=lambda key: marks[key], default=None)
    rest = {key: value for key, value in marks.items() if key != name}
    if name is None or not rest:
        return dict(marks), None
    values = [*fixed, *rest.values()]
    low, high = min(values), max(values)
    if marks[name] - low > 4 * (high - low):
        return rest, (name, marks[name])
    return dict(marks), None


def _arrow(mark: tuple[str, float]) -> str:
    return f"{mark[0]} {score_text(mark[1])} \N{RIGHTWARDS ARROW}"


def _marks(plane: Plane, y: float, marks: Mapping[str, float]) -> tuple[list[str], int]:
    """Ticks with names below the line, each name in the first row where it has room.

    Returns:
        The pictures, and how many rows they need.
    """
    parts, ends = [], [-math.inf] * 4
    for name, value in sorted(marks.items(), key=lambda pair: pair[1]):
        x, label = plane.x(value), f"{name} {score_text(value)}"
        half = 3.3 * len(label)
        centre = min(max(x, plane.left + half - 8), plane.right - half + 8)
        row = next((i for i, end in enumerate(ends) if centre - half > end), 3)
        ends[row] = centre + half + 8
        bottom = y + 14 + 15 * row
        parts.append(element("line", x1=x, x2=x, y1=y - 6, y2=y + 6, class_="mark"))
        parts.append(element("line", x1=x, x2=centre, y1=y + 6, y2=bottom - 1, class_="lead"))
        parts.append(text(label, centre, bottom + 9, "tick", "middle"))
    return parts, sum(end > -math.inf for end in ends)


def _flag(x: float, y: float, label: str, plane: Plane) -> str:
    half = 4.5 * len(label)
    centre = min(max(x, plane.left + half), plane.right - half)
    pole = element("line", x1=x, x2=x, y1=y - 34, y2=y, class_="pole")
    return pole + text(label, centre, y - 40, "ours", "middle")


def _with_margin(low: float, high: float, share: float = 0.08) -> tuple[float, float]:
    margin = share * (high - low) or max(abs(high) * share, 0.5)
    return low - margin, high + margin
