"""What a plain product runs, for those who remember kinds of calls of their own."""

from __future__ import annotations

from functools import lru_cache

from polysched.library.matmul.routing import route
from polysched.library.matmul.shapes import NumpyArray
from polysched.library.matmul.views import Operand
from polysched.runtime.door import Target

_TARGETS = 512


def matmul_target(a: NumpyArray, b: NumpyArray, threads: int | None) -> Target | None:
    """What ``matmul(a, b, threads=threads)`` runs, the result last; None if there is more to do."""
    return _target(_described(a), _described(b), threads)


@lru_cache(maxsize=_TARGETS)
def _target(a: Operand, b: Operand, threads: int | None) -> Target | None:
    return route(a, b, threads).door


def _described(array: NumpyArray) -> Operand:
    return Operand(array.dtype, array.shape, array.flags.num, array.strides)
