"""Writes SVG: a few shapes, text that is escaped, and a plane with axes to draw them in."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from simple_tf.reporting.numbers import count_text, score_text, ticks

Point = tuple[float, float]


def element(tag: str, content: str = "", **attributes: object) -> str:
    """Returns one element; `class_` is written as class, other underscores as hyphens."""
    pairs = [
        f'{name.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    ]
    opening = " ".join([tag, *pairs])
    return f"<{opening}>{content}</{tag}>" if content else f"<{opening}/>"


def text(content: str, x: float, y: float, class_: str = "", anchor: str = "start") -> str:
    """Returns a line of text."""
    return element(
        "text", html.escape(content), x=x, y=y, class_=class_ or None, text_anchor=anchor
    )


def drawing(content: str, width: float, height: float, title: str) -> str:
    """Returns a whole picture that scales with the page and has a name for screen readers."""
    label = html.escape(title, quote=True)
    return (
        f'<svg viewBox="0 0 {_value(width)} {_value(height)}" role="img" aria-label="{label}" '
        f'xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )


class Plane:
    """Maps numbers to a rectangle, and draws its axes.

    Args:
        x_range: lowest and highest x.
        y_range: lowest and highest y.
        size: width and height of the picture.
        margins: left, top, right and bottom.
    """

    def __init__(
        self,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        size: tuple[float, float] = (420.0, 240.0),
        margins: tuple[float, float, float, float] = (52.0, 24.0, 14.0, 40.0),
    ) -> None:
        self._x_low, self._x_high = _widened(*x_range)
        self._y_low, self._y_high = _widened(*y_range)
        self.width, self.height = size
        self.left, self.top, right, bottom = margins
        self.right, self.bottom = self.width - right, self.height - bottom

    def x(self, value: float) -> float:
        """Returns where a number is, from the left."""
        share = (value - self._x_low) / (self._x_high - self._x_low)
        return self.left + share * (self.right - self.left)

    def y(self, value: float) -> float:
        """Returns where a number is, from the top."""
        share = (value - self._y_low) / (self._y_high - self._y_low)
        return self.bottom - share * (self.bottom - self.top)

    def axes(self, x_label: str, y_label: str) -> str:
        """Returns grid lines, numbers and names of both axes."""
        parts = []
        for value in ticks(self._y_low, self._y_high):
            y = self.y(value)
            parts.append(element("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="grid"))
            parts.append(text(score_text(value), self.left - 6, y + 4, "tick", "end"))
        for value in ticks(self._x_low, self._x_high):
            parts.append(text(count_text(value), self.x(value), self.bottom + 16, "tick", "middle"))
        middle = (self.left + self.right) / 2
        parts.append(text(x_label, middle, self.height - 6, "axis", "middle"))
        parts.append(text(y_label, self.left, self.top - 10, "axis"))
        return "".join(parts)

    def line(self, points: Sequence[Point], class_: str) -> str:
        """Returns a line through points."""
        places = " ".join(f"{_value(self.x(x))},{_value(self.y(y))}" for x, y in points)
        return element("polyline", points=places, class_=f"line {class_}")

    def dots(self, points: Sequence[Point], class_: str, radius: float = 3.0) -> str:
        """Returns a dot at every point."""
        return "".join(
            element("circle", cx=self.x(x), cy=self.y(y), r=radius, class_=f"dot {class_}")
            for x, y in points
        )

    def band(self, low: Sequence[Point], high: Sequence[Point], class_: str) -> str:
        """Returns the area between two lines."""
        around = [*low, *reversed(high)]
        places = " ".join(f"{_value(self.x(x))},{_value(self.y(y))}" for x, y in around)
        return element("polygon", points=places, class_=f"band {class_}")

    def level(self, value: float, label: str, class_: str = "") -> str:
        """Returns a dashed line across at a height, with its name, if it is in sight."""
        if not self._y_low <= value <= self._y_high:
            return ""
        y = self.y(value)
        line = element(
            "line", x1=self.left, x2=self.right, y1=y, y2=y, class_=f"level {class_}".strip()
        )
        # High levels are named at the left, low ones at the right: curves mostly rise.
        if y < (self.top + self.bottom) / 2:
            return line + text(label, self.left + 4, y - 4, "level-name")
        return line + text(label, self.right, y - 4, "level-name", "end")


def _widened(low: float, high: float) -> tuple[float, float]:
    """A range that is not empty."""
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _value(value: object) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"A picture cannot show {value}.")
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return html.escape(str(value), quote=True)
