"""The value of a declaration: a digest that equal kernels share.

Dataclasses cannot compare kernels themselves: isl's sets have no cheap equality, and Python takes
1, 1.0 and True, or 0.0 and -0.0, for equal, though kernels with them compute different bits. So
every part is written down with its type, and the text is compared. Sets that are equal but written
differently give different digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum

import islpy as isl

_UNSEEN = frozenset({"location"})
"""Fields that a fingerprint leaves out: positions in the source text."""


def fingerprint(*values: object) -> str:
    """Return a digest of values: dataclasses, mappings, tuples, isl's objects, numbers, strings."""
    digest = hashlib.sha256()
    for value in values:
        for part in _parts(value):
            digest.update(part.encode())
            digest.update(b"\0")
    return digest.hexdigest()


def _parts(value: object) -> Iterator[str]:
    match value:
        case Enum():
            yield f"{type(value).__name__}.{value.name}"
        case None | bool() | int() | float() | str():
            yield f"{type(value).__name__} {value!r}"
        case isl.Set() | isl.PwAff():
            yield f"isl {value}"
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
