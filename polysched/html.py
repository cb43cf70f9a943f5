"""HTML fragments for the displays of notebooks (``_repr_html_``)."""

from __future__ import annotations

from html import escape


class Text(str):
    """Text of several lines that prompts show as lines, and notebooks in a fixed-width font."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return preformatted(self)


def preformatted(text: str) -> str:
    """Return text in a fixed-width font."""
    return f'<pre style="line-height: 1.25">{escape(text)}</pre>'


def titled(title: str, body: str, color: str | None = None) -> str:
    """Return a block: a title in bold, perhaps colored, and HTML below it."""
    style = f' style="color: {color}"' if color else ""
    return f"<div><b{style}>{escape(title)}</b>{body}</div>"
