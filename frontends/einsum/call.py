"""``einsum(subscripts, *operands)`` on numpy arrays: planned, proved and compiled once a kind."""

from __future__ import annotations

from functools import lru_cache
from sys import intern
from typing import Any

import numpy as np

from polysched.errors import CallError, FrontendError
from polysched.frontends.einsum.operands import NumpyArray, element_type
from polysched.frontends.einsum.plan import Plan, make_plan
from polysched.frontends.einsum.short_way import Ran, short_way
from polysched.runtime.door import Door
from polysched.runtime.threads import number_of_threads
from polysched.runtime.views import as_array

_PLANS = 512
_DOOR = Door(_PLANS)


def einsum(
    subscripts: str, *operands: Any, out: Any = None, threads: int | None = None
) -> NumpyArray:
    """The contraction that a text describes, as ``numpy.einsum`` has it.

    ``einsum("bij,bjk->bik", a, b)`` is a stack of products of matrices. Labels may repeat within an
    operand (a diagonal), ``...`` stands for further dimensions, dimensions of one element are
    broadcast, and without ``->`` the result has the labels that occur once. More than two operands
    meet in the order that opt_einsum finds.

    Products of matrices, dot products and sums run by the library's plans, their terms in any
    order; an empty sum is 0. What does not depend on a sum is multiplied with it afterwards, so
    that a 0 among the terms does not meet an infinity there. Operands of several types are
    converted to numpy's common type, which the result has; integers wrap around. What lies in
    memory as a plan wants it is not copied. The first call of a kind (text, shapes, types) plans,
    proves and compiles, some 0.2 s a step.

    Args:
        subscripts: the text.
        operands: arrays of float32, float64 or integers.
        out: where the result goes; by default a new array, or a view where nothing is computed.
        threads: how many threads products of matrices may use; by default all usable cores.

    Raises:
        FrontendError: the text cannot be read, or does not fit the operands.
        CallError: an operand or ``out`` does not fit.
    """
    # The door knows a text by its identity.
    is_usual = threads is None and type(subscripts) is str
    if is_usual:
        subscripts = intern(subscripts)
        if (done := _DOOR.enter(subscripts, *operands, out)) is not None:
            return done  # type: ignore[no-any-return]
    if not isinstance(subscripts, str):
        raise FrontendError(
            f"einsum: subscripts are of type {type(subscripts).__name__}; expected a text such as "
            "'ij,jk->ik' before the operands"
        )
    if threads is not None:
        threads = number_of_threads("einsum", threads)
    if not operands:
        raise CallError("einsum: no operands; expected one array for each of the subscripts")
    arrays = [as_array(one, f"einsum: operand {number}") for number, one in enumerate(operands)]
    dtype = element_type(arrays)
    plan = _plan(subscripts, tuple(array.shape for array in arrays), threads)
    if out is not None:
        _require_output(out, plan, dtype)
    ran: list[Ran] = []
    if plan.is_empty:
        found: NumpyArray = np.zeros(plan.shape, dtype)
    else:
        # Products modulo a power of two do not tell signed integers from unsigned ones.
        inner = np.dtype(f"i{dtype.itemsize}") if dtype.kind == "u" else dtype
        found = plan.run([array.astype(dtype, copy=False).view(inner) for array in arrays], ran)
        found = found.view(dtype)
    if is_usual and (out is None or out.flags.c_contiguous):
        target = short_way(arrays, plan.origins, found, ran)
        if target is not None:
            _DOOR.learn(subscripts, (*operands, out), target)
    if out is None:
        return found
    out[...] = found
    return out  # type: ignore[no-any-return]


@lru_cache(maxsize=_PLANS)
def _plan(subscripts: str, shapes: tuple[tuple[int, ...], ...], threads: int | None) -> Plan:
    return make_plan(subscripts, shapes, threads)


def _require_output(out: Any, plan: Plan, dtype: np.dtype[Any]) -> None:
    """Check the array that the result goes to.

    Raises:
        CallError: it is no writable array of the result's shape and type.
    """
    if not isinstance(out, np.ndarray):
        raise CallError(f"einsum: out is of type {type(out).__name__}; expected a numpy array")
    if out.shape != plan.shape or out.dtype != dtype:
        raise CallError(
            f"einsum: out has shape {out.shape} and elements of type {out.dtype}; expected shape "
            f"{plan.shape} of {dtype}"
        )
    if not out.flags.writeable:
        raise CallError("einsum: out is read-only; expected an array that can be written to")
