"""Arguments that hold several values: named tuples, dataclasses, tuples of arrays, dictionaries.

::

    def step(u, p):                     def step(u, p_dt, p_k):
        u += p.dt * p.k            ->       u += p_dt * p_k

Each value is an argument of its own, so that other numbers need no other code.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Record:
    """The arguments that stand for the values of a record.

    Attributes:
        names: the arguments.
        attributes: the attributes that give these values; empty if it has none.
        subscripts: the subscripts that give these values; empty if it has none.
    """

    names: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    subscripts: tuple[Hashable, ...] = ()

    def __str__(self) -> str:
        return f"({', '.join(self.names)})"


class RecordValue(ast.Name):
    """The argument of a value: functions that are inlined have no variable of this name."""


class RecordTree(ast.expr):
    """A record in a syntax tree, where only its values can be used."""

    _fields = ("elts",)

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record
        self.elts: list[ast.expr] = [RecordValue(name, ast.Load()) for name in record.names]

    def value(self, keys: tuple[Hashable, ...], key: Hashable) -> ast.expr | None:
        """The value of an attribute or a subscript; None if the record has none."""
        if isinstance(key, int) and key < 0:
            key += len(keys)
        return self.elts[keys.index(key)] if key in keys else None

    def __copy__(self) -> RecordTree:
        return RecordTree(self.record)


def with_records(values: Mapping[str, Any], taken: Iterable[str]) -> dict[str, Any]:
    """The arguments of a call, in which a `Record` and its values replace each record.

    Args:
        taken: the names in the function.
    """
    result: dict[str, Any] = {}
    names = {*taken, *values}
    for name, value in values.items():
        items = _items(value)
        if items is None:
            result[name] = value
            continue
        attributes, subscripts, parts = items
        keys = attributes or tuple(map(str, subscripts))
        inner = tuple(_fresh(f"{name}_{key}", names) for key in keys)
        names |= set(inner)
        result[name] = Record(inner, attributes, subscripts)
        result |= with_records(dict(zip(inner, parts, strict=True)), names)
    return result


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _items(
    value: Any,
) -> tuple[tuple[str, ...], tuple[Hashable, ...], tuple[Any, ...]] | None:
    """The attributes, the subscripts and the values of a record; None for another argument."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(value._fields), tuple(range(len(value))), tuple(value)
    if is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in fields(value))
        return names, (), tuple(getattr(value, name) for name in names)
    if isinstance(value, tuple | list) and any(isinstance(item, np.ndarray) for item in value):
        return (), tuple(range(len(value))), tuple(value)
    if isinstance(value, dict) and value and all(isinstance(key, str) for key in value):
        return (), tuple(value), tuple(value.values())
    return None
