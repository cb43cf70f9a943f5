"""The value of a declaration: which kernels are equal, and a digest of one.

Dataclasses cannot compare kernels themselves: isl's sets have no cheap equality, and Python takes
1, 1.0 and True, or 0.0 and -0.0, for equal, though kernels with them compute different bits. So
every part but isl's objects is written down with its type, and the text is compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import zip_longest
from typing import TypeAlias

import islpy as isl

Part: TypeAlias = str | isl.Set | isl.PwAff

_UNSEEN = frozenset({"location"})
"""Fields that do not belong to the value: positions in the source text."""


def fingerprint(*values: object) -> str:
    """Return a digest of values: dataclasses, mappings, tuples, isl's objects, numbers, strings.

    isl simplifies a set while it is used, and then writes it in another way. Hence the digest of a
    kernel that has been used may differ from the digest of an equal one.
    """
    return _digest(map(str, _parts(values)))


def value_hash(*values: object) -> str:
    """Return a digest that equal values share: it leaves out isl's objects."""
    return _digest(part for part in _parts(values) if isinstance(part, str))


def are_equal(values: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """Whether values of the kinds of `fingerprint` are equal; isl decides about its sets."""
    pairs = zip_longest(_parts(values), _parts(others))
    return all(_is_equal(part, other) for part, other in pairs)


def _is_equal(part: Part | None, other: Part | None) -> bool:
    if isinstance(part, isl.Set) and isinstance(other, isl.Set):
        return part.get_space().is_equal(other.get_space()) and part.is_equal(other)
    if isinstance(part, isl.PwAff) and isinstance(other, isl.PwAff):
        return part.get_space().is_equal(other.get_space()) and part.is_equal(other)
    return isinstance(part, str) and part == other


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _parts(value: object) -> Iterator[Part]:
    match value:
        case Enum():
            yield f"{type(value).__name__}.{value.name}"
        case None | bool() | int() | float() | str():
            yield f"{type(value).__name__} {value!r}"
        case isl.Set() | isl.PwAff():
            yield value
        case tuple():
            yield f"tuple {len(value)}"
            for element in value:
                yield from _parts(element)
        case Mapping():
            yield f"mapping {len(value)}"
            for key, element in value.items():
                yield from _parts(key)
                yield from _parts(element)
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield type(value).__name__
            for field in fields(value):
                if field.name not in _UNSEEN:
                    yield field.name
                    yield from _parts(getattr(value, field.name))
        case _:
            raise TypeError(f"a {type(value).__name__} has no fingerprint")
