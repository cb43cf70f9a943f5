"""Random choices, repeatable from a seed, and symbolic ranges of affine expressions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

from tests.campaign.description import E, add, binary, lit, var

T = TypeVar("T")
Affine = Mapping[str, int]
"""Coefficients of names; that of "" is the constant."""


class Dice:
    """A source of random choices."""

    def __init__(self, seed: object) -> None:
        self._random = random.Random(f"campaign {seed}")

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def pick(self, values: Sequence[T]) -> T:
        return self._random.choice(values)

    def weighted(self, weights: Mapping[T, float]) -> T:
        return self._random.choices([*weights], [*weights.values()])[0]

    def between(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def some(self, values: Sequence[T], count: int) -> list[T]:
        return self._random.sample(values, min(count, len(values)))


def plus(left: Affine, right: Affine, factor: int = 1) -> dict[str, int]:
    found = dict(left)
    for name, coefficient in right.items():
        found[name] = found.get(name, 0) + factor * coefficient
    return found


def constant(value: int) -> dict[str, int]:
    return {"": value}


def least_of(form: Affine, ranges: Mapping[str, tuple[Affine, Affine]]) -> dict[str, int]:
    """A lower bound over the parameters of an affine form of indices and parameters."""
    return _bound(form, ranges, 0)


def greatest_of(form: Affine, ranges: Mapping[str, tuple[Affine, Affine]]) -> dict[str, int]:
    return _bound(form, ranges, 1)


def _bound(form: Affine, ranges: Mapping[str, tuple[Affine, Affine]], which: int) -> dict[str, int]:
    total: dict[str, int] = {}
    for name, coefficient in form.items():
        if name in ranges:
            end = ranges[name][which if coefficient > 0 else 1 - which]
            total = plus(total, end, coefficient)
        else:
            total = plus(total, {name: coefficient})
    return total


def expression(form: Affine) -> E:
    """An affine form as an expression."""
    total: E | None = None
    for name, coefficient in form.items():
        if not name or not coefficient:
            continue
        term = var(name)
        if abs(coefficient) != 1:
            term = binary("mul", lit(abs(coefficient)), term)
        if total is None:
            total = term if coefficient > 0 else E("neg", "i64", (term,))
        else:
            total = binary("add" if coefficient > 0 else "sub", total, term)
    if total is None:
        return lit(form.get("", 0))
    return add(total, form.get("", 0))


def upper_hull(forms: Sequence[Affine]) -> dict[str, int]:
    """A form that is at least each of the given ones where parameters are not negative."""
    found: dict[str, int] = {"": max((form.get("", 0) for form in forms), default=0)}
    for form in forms:
        for name, coefficient in form.items():
            if name:
                found[name] = max(found.get(name, 0), coefficient)
    return found
