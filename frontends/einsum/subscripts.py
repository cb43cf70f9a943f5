"""Parse einsum subscripts such as ``"bij,bjk->bik"`` into the labels of each operand.

The rules are numpy's. Letters are labels. ``...`` stands for further dimensions, which are
broadcast. Without ``->`` the result has the dimensions of ``...``, then the labels that occur once,
in alphabetical order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polysched.errors import FrontendError
from polysched.frontends.source_text import Span

_ARROW = "->"
_DOTS = "..."


@dataclass(frozen=True)
class Subscripts:
    """Labels of the dimensions of each operand and of the result.

    A label is a letter, or a number for a dimension of ``...``, counted from the last, which is 0.
    """

    operands: tuple[tuple[str | int, ...], ...]
    result: tuple[str | int, ...]


@dataclass(frozen=True)
class _Text:
    """The text of the subscripts, with errors that point into it."""

    text: str

    def error(self, start: int, end: int, reason: str) -> FrontendError:
        return Span("einsum", 1, start + 1, end + 1, self.text).error(reason)

    def parts(self) -> tuple[list[tuple[int, str]], tuple[int, str] | None]:
        """Split at ``->`` and commas: the operands' parts and the result's, each with its start."""
        arrow = self.text.find(_ARROW)
        if arrow >= 0:
            again = self.text.find(_ARROW, arrow + 2)
            if again >= 0:
                raise self.error(again, again + 2, "a second '->'; expected one at most")
        operands = self.text if arrow < 0 else self.text[:arrow]
        parts, start = [], 0
        for part in operands.split(","):
            parts.append((start, part))
            start += len(part) + 1
        return parts, None if arrow < 0 else (arrow + 2, self.text[arrow + 2 :])

    def labels(self, start: int, part: str) -> list[tuple[str, int]]:
        """The letters, and perhaps ``...``, of one part, each with its position."""
        labels: list[tuple[str, int]] = []
        position = 0
        while position < len(part):
            token, at = part[position], start + position
            width = 1
            if part.startswith(_DOTS, position):
                token, width = _DOTS, len(_DOTS)
                if any(label == _DOTS for label, _ in labels):
                    raise self.error(at, at + 3, "a second '...'; expected one for each operand")
            elif not token.isspace() and not (token.isascii() and token.isalpha()):
                raise self.error(
                    at,
                    at + 1,
                    f"{token!r} is not a label; expected letters a-z and A-Z, '...', ',', '->'",
                )
            if not token.isspace():
                labels.append((token, at))
            position += width
        return labels


def parse_subscripts(text: str, dimensions: Sequence[int]) -> Subscripts:
    """Parse the subscripts of a contraction.

    Args:
        text: subscripts such as ``"...ij,...jk->...ik"``.
        dimensions: number of dimensions of each operand.
    """
    source = _Text(text)
    parts, result = source.parts()
    if len(parts) != len(dimensions):
        start, part = parts[min(len(parts), len(dimensions) + 1) - 1]
        raise source.error(
            start,
            start + len(part),
            f"the subscripts have {len(parts)} operands, but {len(dimensions)} are passed",
        )
    operands = tuple(
        _expanded(source, source.labels(start, part), (start, part), number, count)
        for number, ((start, part), count) in enumerate(zip(parts, dimensions, strict=True))
    )
    broadcast = max(
        (label + 1 for labels in operands for label in labels if isinstance(label, int)), default=0
    )
    dots: tuple[str | int, ...] = tuple(range(broadcast - 1, -1, -1))
    if result is None:
        count = Counter(label for labels in operands for label in labels)
        once = sorted(x for x, times in count.items() if isinstance(x, str) and times == 1)
        return Subscripts(operands, (*dots, *once))
    return Subscripts(operands, _result(source, source.labels(*result), operands, dots, result[0]))


def _expanded(
    source: _Text, labels: list[tuple[str, int]], part: tuple[int, str], number: int, count: int
) -> tuple[str | int, ...]:
    """The labels of one operand, with ``...`` replaced by numbered labels."""
    letters = sum(label != _DOTS for label, _ in labels)
    has_dots = letters < len(labels)
    if letters > count or (letters < count and not has_dots):
        start, text = part
        raise source.error(
            start,
            start + len(text),
            f"operand {number} has {count} dimensions; expected {letters}"
            f"{' or more' if has_dots else ''}, as its subscripts have",
        )
    expanded: list[str | int] = []
    for label, _ in labels:
        if label == _DOTS:
            expanded.extend(range(count - letters - 1, -1, -1))
        else:
            expanded.append(label)
    return tuple(expanded)


def _result(
    source: _Text,
    labels: list[tuple[str, int]],
    operands: tuple[tuple[str | int, ...], ...],
    dots: tuple[str | int, ...],
    end: int,
) -> tuple[str | int, ...]:
    result: list[str | int] = []
    for label, at in labels:
        if label == _DOTS:
            result.extend(dots)
            continue
        if label in result:
            raise source.error(at, at + 1, f"label '{label}' occurs twice in the result")
        if not any(label in operand for operand in operands):
            raise source.error(at, at + 1, f"label '{label}' of the result is in no operand")
        result.append(label)
    if dots and not any(label == _DOTS for label, _ in labels):
        raise source.error(end, end + 1, "the operands have '...', so the result needs it too")
    return tuple(result)
