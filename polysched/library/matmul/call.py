"""``matmul(a, b)`` on numpy arrays: planned, proved and compiled once for each kind of call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from polysched.errors import CallError
from polysched.library.matmul.arguments import require_bias
from polysched.library.matmul.computed import Computed
from polysched.library.matmul.known_route import ROUTES, Described, described, known_route
from polysched.library.matmul.request import plain, request
from polysched.library.matmul.route import Route
from polysched.library.matmul.shapes import NumpyArray
from polysched.runtime.door import Door
from polysched.runtime.numpy_memory import ALIGNED, WRITEABLE
from polysched.runtime.output_faults import fault_of_output
from polysched.runtime.threads import number_of_threads
from polysched.runtime.views import as_array

_DOOR = Door(ROUTES)
_ONE, _ZERO = 1, 0
_WRITABLE = ALIGNED | WRITEABLE


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
    all factors but 0 and 1 are of one kind, and so are all views of the same strides. A view with
    positive strides is read where it lies: a part of a matrix, a transposed one, a stack of these,
    every second column; fastest if it has rows, or columns, of neighboring elements. Views with
    negative or zero strides, or whose elements share memory, are copied first. ``out`` may be any
    view with positive strides; what lies between its elements is not touched. It must not share
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
        activation: what is applied to each element at last: ``"relu"``, of floating-point numbers
            also ``"gelu_tanh"``, ``"sigmoid"``, ``"silu"`` and ``"tanh"``; or nothing.
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
        threads = number_of_threads("matmul", threads)
    a, b = _operand(a, "a"), _operand(b, "b")
    if bias is not None:
        bias = _array(bias, "bias")
    if is_plain:
        asked = plain(threads)
    else:
        asked = request(alpha, beta, activation, threads, (a.dtype, b.dtype))
    arrays = (a, b, *asked.factors, *(() if bias is None else (bias,)), out)
    if not is_plain and (done := _DOOR.enter(asked.kind, *arrays)) is not None:
        return done  # type: ignore[no-any-return]
    along = None if bias is None else bias.shape
    found = known_route(described(a), described(b), threads, asked.finish, along, _place(out))
    if bias is not None:
        require_bias(bias, found.dtype)
    if out is not None:
        _require_output(out, found)
    elif asked.finish.updates:
        raise CallError(
            f"matmul: beta={beta} is the factor of what 'out' holds; give out=, or leave beta out"
        )
    result = np.empty(found.shape, found.dtype) if out is None else out
    found.run(a, b, result, asked.factors, bias)
    if found.door is not None and (bias is None or bias.flags.c_contiguous):
        _DOOR.learn(asked.kind, arrays, found.door)
    return result


def _operand(value: Any, name: str) -> NumpyArray | Computed:
    return value if isinstance(value, Computed) else _array(value, f"array '{name}'")


def _array(value: Any, name: str) -> NumpyArray:
    return value if type(value) is ndarray else as_array(value, f"matmul: {name}")


def _place(out: Any) -> Described | None:
    """What a route has to know of ``out``: None of the usual kind."""
    return None if not isinstance(out, ndarray) or out.flags.c_contiguous else described(out)


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
        fault = fault_of_output(out.flags.num, out.shape, out.strides, out.itemsize)
        raise CallError(f"matmul: out {fault}; multiply into a new array and copy it")
