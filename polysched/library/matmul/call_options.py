"""The options of a ``matmul`` call: factors, activation and threads, checked and cached."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from polysched.library.matmul.arguments import (
    element_type,
    epilogue_of,
    number,
    require_activation,
    require_activation_of,
    scalar,
)
from polysched.library.matmul.epilogue import PLAIN, Epilogue, Factor
from polysched.library.matmul.kernel import accumulator_of
from polysched.library.matmul.shapes import NumpyArray

_OPTIONS = 256


class CallOptions(NamedTuple):
    """The checked options of a call.

    Attributes:
        epilogue: what is applied to the sums, without the bias.
        factors: the factors other than 0 and 1, as the kernel takes them.
        kind: the key of the call cache; equal for calls that differ in the factors' values only.
    """

    epilogue: Epilogue
    factors: tuple[NumpyArray, ...]
    kind: object


def plain_options(threads: int | None) -> CallOptions:
    """The options of a plain product on a number of threads."""
    return CallOptions(PLAIN, (), threads)


def call_options(
    alpha: Any,
    beta: Any,
    activation: str | None,
    threads: int | None,
    types: tuple[np.dtype[Any], np.dtype[Any]],
) -> CallOptions:
    """Check the options of a call whose operands have the given ``types``.

    Raises:
        CallError: an argument is invalid, or elements of these types cannot be multiplied.
    """
    if activation is not None:
        require_activation(activation)
    return _call_options(number("alpha", alpha), number("beta", beta), activation, threads, types)


# Typed, because 1.0 equals 1 but is no valid factor of integers.
@lru_cache(maxsize=_OPTIONS, typed=True)
def _call_options(
    alpha: float,
    beta: float,
    activation: str | None,
    threads: int | None,
    types: tuple[np.dtype[Any], np.dtype[Any]],
) -> CallOptions:
    epilogue = epilogue_of(alpha, beta, activation)
    total = accumulator_of(element_type(*types)).numpy()
    require_activation_of(activation, total)
    arguments = {"alpha": (epilogue.alpha, alpha), "beta": (epilogue.beta, beta)}
    factors = tuple(
        scalar(name, value, total)
        for name, (factor, value) in arguments.items()
        if factor is Factor.ANY
    )
    return CallOptions(epilogue, factors, _kind(epilogue, threads))


@lru_cache(maxsize=_OPTIONS)
def _kind(epilogue: Epilogue, threads: int | None) -> object:
    # An object is hashed faster than the epilogue.
    return threads if epilogue == PLAIN else object()
