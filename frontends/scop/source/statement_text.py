"""Find the end of a C statement in text whose comments are blanked out."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"^[ \t]*\#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[A-Za-z_]\w*|[^\s\w]", re.MULTILINE
)
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


def statement_end(text: str, start: int) -> int | None:
    """Return the offset after the statement that begins at `start`; None if it does not end."""
    return _Scanner(text).statement(start)


class _Scanner:
    """Recursive descent over the statements of a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def statement(self, at: int | None) -> int | None:
        token, end = self._token(at)
        match token:
            case "":
                return None
            case "{" | ";":
                return self._closed(at) if token == "{" else end
            case "for" | "while" | "switch":
                return self.statement(self._closed(end))
            case "if":
                after = self.statement(self._closed(end))
                following, end = self._token(after)
                return self.statement(end) if following == "else" else after
            case "do":
                following, end = self._token(self.statement(end))
                return self._through_semicolon(end) if following == "while" else None
        return self.statement(end) if token.startswith("#") else self._through_semicolon(at)

    def _token(self, at: int | None) -> tuple[str, int]:
        """Return the next token without white space, and the offset after it."""
        match = None if at is None else _TOKEN.search(self._text, at)
        return ("", len(self._text)) if match is None else (match.group().strip(), match.end())

    def _closed(self, at: int | None) -> int | None:
        """Return the offset after the bracket that closes the one that is the next token."""
        depth = 0
        while at is not None:
            token, at = self._token(at)
            depth += (token in _OPENING) - (token in _CLOSING)
            if not token or depth <= 0:
                return at if token in _CLOSING else None
        return None

    def _through_semicolon(self, at: int | None) -> int | None:
        depth = 0
        while at is not None:
            token, at = self._token(at)
            depth += (token in _OPENING) - (token in _CLOSING)
            if not token or depth < 0:
                return None
            if token == ";" and not depth:
                return at
        return None
