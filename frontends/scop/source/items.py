"""Cut C text into its top-level declarations without parsing them, and choose the needed ones.

pycparser takes about half a millisecond a line, and most of a preprocessed file is declarations
that no translated function uses. A scan over brackets and names finds the declarations; the parser
gets only those that a function needs, at their places in the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

_TOKEN = re.compile(
    r"^[ \t]*\#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[A-Za-z_]\w*|[(){}\[\];=,]",
    re.MULTILINE,
)
_NAME = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[A-Za-z_]\w*")
_STEP = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_POINTER = re.compile(r"\(\s*\*+\s*(\w+)")
_TAGGED = frozenset({"struct", "union", "enum"})
_AFTER_NAME = frozenset("([=,;")
_REGION = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+scop\b", re.MULTILINE)


@dataclass(frozen=True)
class Item:
    """Top-level declaration, function definition or directive.

    Attributes:
        start: offset of its first character.
        end: offset after its last character.
        text: its characters.
        declared: names that it may declare; a few too many do no harm.
        function: the name of the function that it defines; None if it defines none.
    """

    start: int
    end: int
    text: str
    declared: frozenset[str]
    function: str | None

    @cached_property
    def used(self) -> frozenset[str]:
        """All names in the item."""
        return frozenset(_NAME.findall(self.text))

    @property
    def is_directive(self) -> bool:
        """Whether the item is a pragma or another directive."""
        return self.text.lstrip().startswith("#")

    @cached_property
    def has_region(self) -> bool:
        """Whether the item contains ``#pragma scop``."""
        return "scop" in self.text and _REGION.search(self.text) is not None


@lru_cache(maxsize=4)
def items_of(text: str) -> tuple[Item, ...]:
    """Cut a text without comments into top-level items, once for all functions of a file."""
    return tuple(_items(text))


def _items(text: str) -> Iterator[Item]:
    cut = _Cut(0)
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token.lstrip()[:1] == "#":
            if cut.is_empty and cut.depth == 0:
                yield _directive(text, match)
                cut = _Cut(match.end())
            continue
        if cut.take(token):
            yield cut.item(text, match.end())
            cut = _Cut(match.end())
    if text[cut.start :].strip():
        yield cut.item(text, len(text))


def _directive(text: str, match: re.Match[str]) -> Item:
    return Item(match.start(), match.end(), match.group(), frozenset(), None)


class _Cut:
    """Item that is being read, from offset `start` on."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.depth = 0
        self.is_empty = True
        self._braces = 0
        self._declared: set[str] = set()
        self._enumerators: set[str] = set()
        self._called: str | None = None
        self._previous = ""
        self._is_function = False
        self._is_enum = False

    def take(self, token: str) -> bool:
        """Take the next token; return whether it ends the item."""
        self.is_empty = False
        previous, self._previous = self._previous, token
        if token[0].isalpha() or token[0] == "_":
            if self._braces:
                self._enumerators.add(token)
            elif previous in _TAGGED and self.depth == 0:
                self._declared.add(token)
            self._is_enum |= token == "enum"
            return False
        if self.depth == 0 and token in _AFTER_NAME and previous.isidentifier():
            self._declared.add(previous)
            if token == "(" and self._called is None:
                self._called = previous
        if token == "{":
            # Parameters precede the body of a function, and nothing else does.
            self._is_function |= self.depth == 0 and self._called is not None and previous == ")"
            self._braces += 1
        elif token == "}":
            self._braces -= 1
        elif token == ";":
            return self.depth == 0
        self.depth = max(self.depth + _STEP.get(token, 0), 0)
        return token == "}" and self.depth == 0 and self._is_function

    def item(self, text: str, end: int) -> Item:
        """Return the item that ends at an offset."""
        content = text[self.start : end]
        if self._is_function and self._called is not None:
            return Item(self.start, end, content, frozenset({self._called}), self._called)
        declared = {*self._declared, *_POINTER.findall(content)}
        if self._is_enum:
            declared |= self._enumerators
        return Item(self.start, end, content, frozenset(declared), None)


def needed(items: Sequence[Item], roots: Collection[Item]) -> list[Item]:
    """Return the roots and the items that declare the names in them, and so on."""
    by_name: dict[str, list[int]] = {}
    for position, item in enumerate(items):
        for name in item.declared:
            by_name.setdefault(name, []).append(position)
    chosen = {id(item) for item in roots} | {id(item) for item in items if item.is_directive}
    pending = [item for item in items if id(item) in chosen]
    seen: set[str] = set()
    while pending:
        for name in pending.pop().used - seen:
            seen.add(name)
            for position in by_name.get(name, ()):
                item = items[position]
                if id(item) not in chosen:
                    chosen.add(id(item))
                    pending.append(item)
    return [item for item in items if id(item) in chosen]


def roots_of(items: Sequence[Item], function: str | None) -> list[Item]:
    """Return the functions to translate: the named one, else those with regions, else all."""
    functions = [item for item in items if item.function is not None]
    named = [item for item in functions if item.function == function]
    return named or [item for item in functions if item.has_region] or functions


def only(text: str, items: Sequence[Item]) -> str:
    """Blank out everything but some items; line breaks and positions stay."""
    parts, position = [], 0
    for item in items:
        parts += [_blank(text[position : item.start]), item.text]
        position = item.end
    return "".join([*parts, _blank(text[position:])])


def _blank(text: str) -> str:
    return "\n" * text.count("\n") + " " * (len(text) - text.rfind("\n") - 1)
