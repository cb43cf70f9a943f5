"""What a call of ``matmul`` asks for besides its arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from polysched.library.matmul.arguments import (
    element_type,
    finish_of,
    number,
    require_activation,
    require_activation_of,
    scalar,
)
from polysched.library.matmul.finish import PLAIN, Factor, Finish
from polysched.library.matmul.kernel import accumulator_of
from polysched.library.matmul.shapes import NumpyArray

_REQUESTS = 256


class Request(NamedTuple):
    """What a call asks for besides its arrays, checked.

    Attributes:
        finish: what becomes of the product, a bias apart.
        factors: those of the finish that may be any number, as a kernel takes them.
        kind: one object for all calls that ask for the same but for the numbers.
    """

    finish: Finish
    factors: tuple[NumpyArray, ...]
    kind: object


def plain(threads: int | None) -> Request:
    """What a call asks for that asks for nothing but a number of threads."""
    return Request(PLAIN, (), threads)


def request(
    alpha: Any,
    beta: Any,
    activation: str | None,
    threads: int | None,
    types: tuple[np.dtype[Any], np.dtype[Any]],
) -> Request:
    """What a call with such arguments, and operands of such types, asks for.

    Raises:
        CallError: an argument means nothing, or the types are none to multiply.
    """
    if activation is not None:
        require_activation(activation)
    return _request(number("alpha", alpha), number("beta", beta), activation, threads, types)


# By type too: 1.0, which is equal to 1, is no factor of integers.
@lru_cache(maxsize=_REQUESTS, typed=True)
def _request(
    alpha: float,
    beta: float,
    activation: str | None,
    threads: int | None,
    types: tuple[np.dtype[Any], np.dtype[Any]],
) -> Request:
    finish = finish_of(alpha, beta, activation)
    total = accumulator_of(element_type(*types)).numpy()
    require_activation_of(activation, total)
    given = {"alpha": (finish.alpha, alpha), "beta": (finish.beta, beta)}
    factors = tuple(
        scalar(name, value, total)
        for name, (factor, value) in given.items()
        if factor is Factor.ANY
    )
    return Request(finish, factors, _kind(finish, threads))


@lru_cache(maxsize=_REQUESTS)
def _kind(finish: Finish, threads: int | None) -> object:
    return threads if finish == PLAIN else (finish, threads)
