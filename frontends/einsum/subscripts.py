"""The text of a contraction, ``"bij,bjk->bik"``: which label each dimension has.

The rules are numpy's: letters are labels; ``...`` stands for further dimensions, which are
broadcast; without ``->`` the result has the labels that occur once, in alphabetical order, behind
those of ``...``.
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

    A label is a letter, or a number for a dimension that ``...`` stands for: 0 is the last one.
    """

    operands: tuple[tuple[str | int, ...], ...]
    result: tuple[str | int, ...]


@dataclass(frozen=True)
class _Text:
    """The subscripts as given; a part's position is known, so that messages can point at it."""

    text: str

    def error(self, start: int, end: int, reason: str) -> FrontendError:
        return Span("einsum", 1, start + 1, end + 1, self.text).error(reason)

    def parts(self) -> tuple[list[tuple[int, str]], tuple[int, str] | None]:
        """The operands' parts and the result's, each with where it starts."""
        arrow = self.text.find(_ARROW)
        if arrow >= 0:
            again = self.text.find(_ARROW, arrow + 2)
            if again >= 0:
                raise self.error(again, again + 2, "a second '->'; expected one at most")
        given = self.text if arrow < 0 else self.text[:arrow]
        found, start = [], 0
        for part in given.split(","):
            found.append((start, part))
            start += len(part) + 1
        return found, None if arrow < 0 else (arrow + 2, self.text[arrow + 2 :])

    def labels(self, start: int, part: str) -> list[tuple[str, int]]:
        """The letters, and perhaps ``...``, of one part, each with its position."""
        found: list[tuple[str, int]] = []
        position = 0
        while position < len(part):
            one, at = part[position], start + position
            width = 1
            if part.startswith(_DOTS, position):
                one, width = _DOTS, len(_DOTS)
                if any(label == _DOTS for label, _ in found):
                    raise self.error(at, at + 3, "'...' stands here a second time")
            elif not one.isspace() and not (one.isascii() and one.isalpha()):
                raise self.error(
                    at,
                    at + 1,
                    f"{one!r} is no label; expected letters a-z and A-Z, '...', ',', '->'",
                )
            if not one.isspace():
                found.append((one, at))
            position += width
        return found


def parse_subscripts(text: str, dimensions: Sequence[int]) -> Subscripts:
    """Read the text of a contraction.

    Args:
        text: such as ``"...ij,...jk->...ik"``.
        dimensions: how many dimensions each operand has.

    Raises:
        FrontendError: it cannot be read, or does not fit the operands; the message points at it.
    """
    source = _Text(text)
    given, result = source.parts()
    if len(given) != len(dimensions):
        start, part = given[min(len(given), len(dimensions) + 1) - 1]
        raise source.error(
            start,
            start + len(part),
            f"the subscripts are of {len(given)} operands, and {len(dimensions)} are passed",
        )
    operands = tuple(
        _expanded(source, source.labels(start, part), (start, part), number, count)
        for number, ((start, part), count) in enumerate(zip(given, dimensions, strict=True))
    )
    broadcast = max(
        (label + 1 for one in operands for label in one if isinstance(label, int)), default=0
    )
    dots: tuple[str | int, ...] = tuple(range(broadcast - 1, -1, -1))
    if result is None:
        count = Counter(label for one in operands for label in one)
        once = sorted(x for x, times in count.items() if isinstance(x, str) and times == 1)
        return Subscripts(operands, (*dots, *once))
    return Subscripts(operands, _result(source, source.labels(*result), operands, dots, result[0]))


def _expanded(
    source: _Text, labels: list[tuple[str, int]], part: tuple[int, str], number: int, count: int
) -> tuple[str | int, ...]:
    """The labels of one operand, ``...`` written out."""
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
    found: list[str | int] = []
    for label, _ in labels:
        if label == _DOTS:
            found.extend(range(count - letters - 1, -1, -1))
        else:
            found.append(label)
    return tuple(found)


def _result(
    source: _Text,
    labels: list[tuple[str, int]],
    operands: tuple[tuple[str | int, ...], ...],
    dots: tuple[str | int, ...],
    end: int,
) -> tuple[str | int, ...]:
    found: list[str | int] = []
    for label, at in labels:
        if label == _DOTS:
            found.extend(dots)
            continue
        if label in found:
            raise source.error(at, at + 1, f"label '{label}' stands in the result a second time")
        if not any(label in one for one in operands):
            raise source.error(at, at + 1, f"label '{label}' of the result is in no operand")
        found.append(label)
    if dots and not any(label == _DOTS for label, _ in labels):
        raise source.error(end, end + 1, "the operands have '...', so the result needs it too")
    return tuple(found)
