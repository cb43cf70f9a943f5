"""How many cases the tests try: few by default, more with ``make check EFFORT=10``."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, combinations, product
from typing import TypeVar, cast

import pytest

_Case = TypeVar("_Case")

EFFORT = int(os.environ.get("TEST_EFFORT", "1"))
"""Factor of the number of random cases; above 1 products of parameters are tried in full."""


def cases(few: int) -> int:
    """Return the number of random cases to try, where ``few`` are tried by default."""
    return few * EFFORT


def sampled(values: Sequence[_Case], step: int) -> Sequence[_Case]:
    """Return every ``step``-th case, for cases that differ little from each other; else all."""
    return values if EFFORT > 1 else values[::step]


def covering(together: int, /, **axes: Iterable[object]) -> pytest.MarkDecorator:
    """Parametrize a test by some of the product of ``axes``.

    Each combination of values of any ``together`` axes occurs: 1 tries each value, 2 each pair.
    An axis of several arguments is named by all of them (``"rows, columns"``); its values are
    tuples.
    """
    names = [axis.split(", ") for axis in axes]
    values = [list(axis) for axis in axes.values()]
    rows = list(product(*(range(len(axis)) for axis in values)))
    chosen = rows if EFFORT > 1 else _cover(rows, together)
    return pytest.mark.parametrize(
        tuple(chain.from_iterable(names)),
        [
            tuple(
                chain.from_iterable(
                    [axis[at]] if len(arguments) == 1 else cast("Iterable[object]", axis[at])
                    for arguments, axis, at in zip(names, values, row, strict=True)
                )
            )
            for row in chosen
        ],
        ids=_name,
    )


def _name(value: object) -> str | None:
    """The value's part of a test's name; pytest numbers the values whose text is long."""
    text = str(getattr(value, "__name__", value))
    return text if len(text) <= 60 else None


def _cover(rows: list[tuple[int, ...]], together: int) -> list[tuple[int, ...]]:
    """Choose rows greedily, each time one with most combinations that are still missing.

    Among them it is a row whose values were chosen least often, so that long axes share short ones.
    No choice improves the rank of another row, so a row whose rank is up to date is the best one
    if it is no worse than the earlier ranks of the others.
    """
    parts = [set(combinations(enumerate(row), together)) for row in rows]
    missing = set().union(*parts)
    used: Counter[tuple[int, int]] = Counter()
    ranks = [(-len(part), 0, at) for at, part in enumerate(parts)]
    heapify(ranks)
    chosen = []
    while missing:
        at = heappop(ranks)[2]
        row = rows[at]
        rank = (-len(parts[at] & missing), sum(used[value] for value in enumerate(row)), at)
        if ranks and rank > ranks[0]:
            heappush(ranks, rank)
            continue
        used.update(enumerate(row))
        chosen.append(row)
        missing -= parts[at]
    return chosen
