"""Pairs of arguments that must not share memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from polysched.runtime.signature import Signature


class OverlapCheck(NamedTuple):
    """Two arguments of which at least one is written.

    Attributes:
        first: position of an argument among the kernel's arrays.
        second: position of the other argument.
        first_bytes: bytes from the first element's begin to the last element's end.
        second_bytes: the same for the other argument.
    """

    first: int
    second: int
    first_bytes: int
    second_bytes: int


def overlaps(signature: Signature, sizes: Mapping[str, int]) -> tuple[OverlapCheck, ...]:
    """The pairs of nonempty arguments of which at least one is written.

    Args:
        sizes: the bytes of each argument passed, by name, from its first element to its last.
    """
    arrays = [(i, a) for i, a in enumerate(signature.arrays) if sizes.get(a.name, 0)]
    return tuple(
        OverlapCheck(i, j, sizes[a.name], sizes[b.name])
        for k, (i, a) in enumerate(arrays)
        for j, b in arrays[k + 1 :]
        if a.is_written or b.is_written
    )
