"""``matmul(a, b)`` on numpy arrays: planned, proved and compiled once for each kind of call."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from polysched.errors import CallError
from polysched.library.matmul.arguments import (
    finish_of,
    number,
    require_activation,
    require_bias,
    require_threads,
    scalar,
)
from polysched.library.matmul.computed import Computed
from polysched.library.matmul.finish import PLAIN, Factor, Finish
from polysched.library.matmul.route import Route, route
from polysched.library.matmul.shapes import NumpyArray, Shape
from polysched.library.matmul.views import CONTIGUOUS, Operand, operand_of, viewed
from polysched.runtime.door import Door
from polysched.runtime.plan import ALIGNED, C_CONTIGUOUS, WRITEABLE
from polysched.runtime.views import as_array

_ROUTES = 512
_DOOR = Door(_ROUTES)
_ONE, _ZERO = 1, 0
_WRITABLE = ALIGNED | WRITEABLE
_PLAIN_OUTPUT = _WRITABLE | C_CONTIGUOUS


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    alpha: Any = _ONE,
    beta: Any = _ZERO,
    bias: Any = None,
    activation: str | None = None,
    threads: int | None = None,
) -> NumpyArray:
    """``activation(alpha * a @ b + beta * out + bias)``: the product of two arrays, by default.

    Operands have the shapes that ``numpy.matmul`` takes: matrices, vectors, stacks of matrices,
    which are broadcast without a copy. Both have the same type of elements, float32, float64 or a
    signed integer; products of int8 and of int16 are summed in int32. NaN and infinity go the way
    of the plain loops, whose sums are taken in any order. An empty sum is 0.

    The rest is computed on each tile of the product while it is in registers or in the cache, in
    the type of the result; integers wrap around. A factor 0 leaves its operand out: ``beta=0``
    never reads ``out``, ``alpha=0`` neither of the operands, so that NaN in them does not count.

    The first call of a kind plans, proves and compiles, some 0.2 s, less if the code is on disk;
    all factors but 0 and 1 are of one kind, and so are all views of one leading dimension. A view
    with rows, or columns, of neighbouring elements is read where it lies: a part of a matrix, a
    transposed one, a stack of these. Views with no such dimension, with negative or zero strides,
    or whose elements share memory are copied first. ``out`` may be any view with positive strides,
    fastest one of the first sort; what lies between its elements is not touched. It must not share
    elements with the operands.

    An operand may be a matrix that :func:`polysched.computed` describes: scaled, converted, or
    unpacked from a few bits as it is read, without an array of it.

    Args:
        a: the left operand.
        b: the right operand.
        out: where the result goes, and what ``beta`` is the factor of; by default a new array.
        alpha: the factor of the product: a real number, an integer for integers.
        beta: the factor of what ``out`` holds before.
        bias: an array of the type of the result, added to it: with one element for each column, or
            of shape ``(m, 1)`` with one for each row, the same for all matrices of a stack.
        activation: what is applied to each element at last: ``"relu"``, or nothing.
        threads: how many threads may run; by default as many as there are usable cores.

    Returns:
        the result, ``out`` if it was given.

    Raises:
        CallError: an argument does not fit; nothing has been written then.
    """
    # Asking who they are takes a fraction of asking how large: 1.0 goes the long way round.
    is_plain = alpha is _ONE and beta is _ZERO and bias is activation is None
    if is_plain and (done := _DOOR.enter(threads, a, b, out)) is not None:
        return done  # type: ignore[no-any-return]
    if threads is not None:
        require_threads(threads)
    if type(a) is not ndarray or type(b) is not ndarray:
        if isinstance(a, Computed) or isinstance(b, Computed):
            a, b = _operand(a, "a"), _operand(b, "b")
            return _finished(a, b, out, alpha, beta, bias, activation, threads)
        a, b = as_array(a, "matmul: array 'a'"), as_array(b, "matmul: array 'b'")
    if not is_plain:
        return _finished(a, b, out, alpha, beta, bias, activation, threads)
    given = out
    a_flags, b_flags = a.flags.num, b.flags.num
    if a_flags & CONTIGUOUS and b_flags & CONTIGUOUS:
        found = _route(a.dtype, a.shape, a_flags, b.dtype, b.shape, b_flags, threads)
    else:
        found = _route_of_views(_view(a), _view(b), threads)
    if out is None:
        out = np.empty(found.shape, found.dtype)
    elif not (
        type(out) is ndarray
        and out.flags.num & _PLAIN_OUTPUT == _PLAIN_OUTPUT
        and out.shape == found.shape
        and out.dtype == found.dtype
    ):
        found = _route_of_views(_view(a), _view(b), threads, PLAIN, None, _written(out))
        _require_output(out, found)
    found.run(a, b, out)
    if found.target_of_door is not None:
        _DOOR.learn(threads, (a, b, given), found.target_of_door)
    return out  # type: ignore[no-any-return]


def _operand(value: Any, name: str) -> NumpyArray | Computed:
    return value if isinstance(value, Computed) else as_array(value, f"matmul: array '{name}'")


def _described(operand: NumpyArray | Computed) -> Operand:
    return operand.operand if isinstance(operand, Computed) else operand_of(operand)


def _finished(
    a: NumpyArray | Computed,
    b: NumpyArray | Computed,
    out: Any,
    alpha: Any,
    beta: Any,
    bias: Any,
    activation: str | None,
    threads: int | None,
) -> NumpyArray:
    """The long way: a product that something is done to, or of what is computed."""
    if alpha is not _ONE:
        alpha = number("alpha", alpha)
    if beta is not _ZERO:
        beta = number("beta", beta)
    if activation is not None:
        require_activation(activation)
    if bias is not None:
        bias = as_array(bias, "matmul: bias")
    finish = finish_of(alpha, beta, activation)
    along = None if bias is None else bias.shape
    if isinstance(a, Computed) or isinstance(b, Computed):
        written = None if (view := _written(out)) is None else viewed(*view)
        found = _route_of_computed(_described(a), _described(b), threads, finish, along, written)
    else:
        found = _route_of_views(_view(a), _view(b), threads, finish, along, _written(out))
    factors = []
    if finish.alpha is Factor.ANY:
        factors.append(scalar("alpha", alpha, found.dtype))
    if finish.beta is Factor.ANY:
        factors.append(scalar("beta", beta, found.dtype))
    if bias is not None:
        require_bias(bias, found.dtype)
    if out is not None:
        _require_output(out, found)
    elif finish.updates:
        raise CallError(
            f"matmul: beta={beta} is the factor of what 'out' holds; give out=, or leave beta out"
        )
    else:
        out = np.empty(found.shape, found.dtype)
    found.finish(a, b, out, factors, bias)
    return out  # type: ignore[no-any-return]


@lru_cache(maxsize=_ROUTES)
def _route(
    a_dtype: np.dtype[Any],
    a_shape: Shape,
    a_flags: int,
    b_dtype: np.dtype[Any],
    b_shape: Shape,
    b_flags: int,
    threads: int | None,
) -> Route:
    """The route of operands without gaps, whose strides say no more than that."""
    return route(Operand(a_dtype, a_shape, a_flags), Operand(b_dtype, b_shape, b_flags), threads)


_View = tuple[np.dtype[Any], Shape, int, tuple[int, ...]]
"""What an array is: an :class:`Operand` as a plain tuple, which is made in a third of the time."""


def _view(array: NumpyArray) -> _View:
    return array.dtype, array.shape, array.flags.num, array.strides


@lru_cache(maxsize=_ROUTES)
def _route_of_views(
    a: _View,
    b: _View,
    threads: int | None,
    finish: Finish = PLAIN,
    bias: Shape | None = None,
    out: _View | None = None,
) -> Route:
    """The route of any arrays."""
    written = None if out is None else viewed(*out)
    return route(viewed(*a), viewed(*b), threads, finish, bias, written)


_route_of_computed = lru_cache(maxsize=_ROUTES)(route)


def _written(out: Any) -> _View | None:
    """What a route has to know of ``out``: None of the usual kind."""
    return None if not isinstance(out, ndarray) or out.flags.c_contiguous else _view(out)


def _require_output(out: Any, found: Route) -> None:
    """Check what the kernel, which may see it in another shape, does not.

    Raises:
        CallError: it is no array of the result's shape and type, or may not be written.
    """
    if not isinstance(out, np.ndarray):
        raise CallError(f"matmul: out is of type {type(out).__name__}; expected a numpy array")
    if out.shape != found.shape:
        raise CallError(f"matmul: out has shape {out.shape}; expected {found.shape}")
    if out.dtype != found.dtype:
        raise CallError(f"matmul: out has elements of type {out.dtype}; expected {found.dtype}")
    if out.flags.num & _WRITABLE != _WRITABLE:
        raise CallError(
            "matmul: out is read-only or misaligned; multiply into a new array and copy it"
        )
