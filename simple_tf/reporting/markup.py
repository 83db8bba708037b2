"""Pieces of HTML that every section uses; all text is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

from simple_tf.reporting.style import CSS


def escape(text: object) -> str:
    """Returns text that HTML shows as it is."""
    return html.escape(str(text), quote=True)


def document(title: str, body: str) -> str:
    """Returns a whole page: one file, no scripts, nothing loaded from elsewhere."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def section(title: str, anchor: str, *content: str) -> str:
    """Returns a part of the page under a heading."""
    return f'<section id="{anchor}"><h2>{escape(title)}</h2>{"".join(content)}</section>'


def card(*content: str, kind: str = "") -> str:
    """Returns a box."""
    return f'<div class="card {kind}">{"".join(content)}</div>'


def grid(boxes: Iterable[str], class_: str = "grid") -> str:
    """Returns boxes side by side, as many as fit."""
    return f'<div class="{class_}">{"".join(boxes)}</div>'


def paragraph(text: str, class_: str = "") -> str:
    """Returns a paragraph of plain text."""
    return f"<p{_class(class_)}>{escape(text)}</p>"


def pill(text: str, kind: str) -> str:
    """Returns a short verdict; kind is good, bad, unsure or plain."""
    return f'<span class="pill {kind}">{escape(text)}</span>'


def figure(content: str, caption: str) -> str:
    """Returns a picture with a sentence below."""
    return f"<figure>{content}<figcaption>{escape(caption)}</figcaption></figure>"


def definitions(rows: Mapping[str, str]) -> str:
    """Returns names and values in two columns."""
    items = [f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in rows.items()]
    return f"<dl>{''.join(items)}</dl>"


def details(summary: str, *content: str) -> str:
    """Returns content that opens on a click."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(content)}</details>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], classes: Sequence[str]) -> str:
    """Returns a table that scrolls sideways where the screen is narrow.

    Args:
        header: titles, plain text.
        rows: cells, plain text.
        classes: of the cells of each column; may be empty.
    """
    head = _row(header, classes, "th")
    body = "".join(_row(row, classes, "td") for row in rows)
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _row(cells: Sequence[str], classes: Sequence[str], tag: str) -> str:
    parts = [
        f"<{tag}{_class(name)}>{escape(cell)}</{tag}>"
        for cell, name in zip(cells, classes, strict=True)
    ]
    return f"<tr>{''.join(parts)}</tr>"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
