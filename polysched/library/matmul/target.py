"""What a plain product runs, for those who remember kinds of calls of their own."""

from __future__ import annotations

from polysched.library.matmul.finish import PLAIN
from polysched.library.matmul.known_route import described, known_route
from polysched.library.matmul.shapes import NumpyArray
from polysched.runtime.door import Target


def matmul_target(
    a: NumpyArray, b: NumpyArray, threads: int | None, out: NumpyArray | None = None
) -> Target | None:
    """What ``matmul(a, b, out, threads=threads)`` runs, the result last; None if there is more to
    do. Without ``out`` the result is a new array.
    """
    place = None if out is None or out.flags.c_contiguous else described(out)
    return known_route(described(a), described(b), threads, PLAIN, None, place).door
