"""Routes of calls of one kind, decided when the first of them comes and then kept."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

from polysched.library.matmul.computed import Computed
from polysched.library.matmul.finish import Finish
from polysched.library.matmul.route import Route
from polysched.library.matmul.routing import route
from polysched.library.matmul.shapes import NumpyArray, Shape
from polysched.library.matmul.views import Operand

ROUTES = 512
"""Kinds of calls that are kept."""

Described: TypeAlias = tuple[Any, ...]
"""The fields of an :class:`Operand`, as a plain tuple, which is made in a third of the time."""


def described(operand: NumpyArray | Computed) -> Described:
    """All that a route has to know of an operand, or of a result."""
    if isinstance(operand, Computed):
        return operand.operand
    return operand.dtype, operand.shape, operand.flags.num, operand.strides


@lru_cache(maxsize=ROUTES)
def known_route(
    a: Described,
    b: Described,
    threads: int | None,
    finish: Finish,
    bias: Shape | None,
    out: Described | None,
) -> Route:
    """The route of :func:`polysched.library.matmul.routing.route`, on this machine.

    No argument has a default: calls that leave it out would be of another kind than those that do
    not.
    """
    place = None if out is None else Operand(*out)
    return route(Operand(*a), Operand(*b), threads, finish, bias, place)
