"""Numbers as people read them, and round numbers for axes."""

from __future__ import annotations

import math

NONE = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def score_text(value: float | None) -> str:
    """Returns a score with the digits that matter: 12,345 / 123.4 / 1.23; a dash for None."""
    if value is None or not math.isfinite(value):
        return NONE
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    text = f"{value:,.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", MINUS)


def count_text(value: float | None) -> str:
    """Returns a count in thousands or millions: 800 / 6.4K / 100K / 1.5M."""
    if value is None:
        return NONE
    for size, letter in ((1e6, "M"), (1e3, "K")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:g}"


def duration_text(seconds: float) -> str:
    """Returns a time with its two largest units."""
    seconds = round(seconds)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minute} min"
    return f"{minute} min {second} s" if minutes else f"{second} s"


def game_text(name: str) -> str:
    """Returns a game's name as a title."""
    return name.replace("_", " ").title() if name.islower() else name


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Returns at most so many round numbers within [low, high]; at least one."""
    span = high - low
    if not span > 0:
        return [low]
    step = 10.0 ** math.floor(math.log10(span / most))
    for factor in (1, 2, 5, 10, 20, 50):
        first = math.ceil(low / (step * factor) - 1e-9)
        last = math.floor(high / (step * factor) + 1e-9)
        if last - first < most:
            return [round(i * step * factor, 12) for i in range(first, last + 1)]
    return [low]
