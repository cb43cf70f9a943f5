"""How nodes of expressions compare and hash."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from polysched.errors import KernelError

NodeT = TypeVar("NodeT")
CACHED_HASH = "hash"
"""Key in a node's ``__dict__`` that caches the hash of the node, which has many operands below."""


def refuse_equality_with_numbers(node: type[NodeT]) -> type[NodeT]:
    """Make ``i == 2`` and ``x[i] != 0`` raise an error, because such nodes never equal a number."""
    same = node.__eq__

    def equal(self: NodeT, other: object) -> bool:
        if self is other:
            return True
        result = same(self, other)
        if result is NotImplemented and isinstance(other, int | float | np.generic):
            raise KernelError(
                f"'{self}' is compared with {other} by == or !=, which compare how expressions are "
                "written; write ps.equal(a, b) or ps.not_equal(a, b)"
            )
        return result

    node.__eq__ = equal  # type: ignore[method-assign, assignment]
    return node


def remember_hash(node: type[NodeT]) -> type[NodeT]:
    """Compute the hash of each node once: tables of terms ask for it again and again."""
    compute = node.__hash__

    def cached(self: NodeT) -> int:
        known: int | None = self.__dict__.get(CACHED_HASH)
        if known is None:
            known = self.__dict__[CACHED_HASH] = compute(self)
        return known

    node.__hash__ = cached  # type: ignore[method-assign, assignment]
    return node
