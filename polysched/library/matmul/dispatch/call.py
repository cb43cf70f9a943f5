"""``matmul(a, b)`` of numpy arrays: each kind of call is planned, proved and compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from polysched.errors import CallError
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.library.dynamic_linear.matrix import PreparedMatrix
from polysched.library.matmul.dispatch.computed import Computed
from polysched.library.matmul.dispatch.dispatch import (
    CACHED_KINDS,
    cached_dispatch,
    matmul_target,
    operand_key,
    output_key,
)
from polysched.library.matmul.dispatch.entry import DispatchEntry
from polysched.library.matmul.dispatch.options import call_options, plain_options, require_bias
from polysched.library.matmul.dispatch.promotion import promoted
from polysched.library.matmul.dispatch.shapes import NumpyArray
from polysched.library.matmul.generic.calls import GenericCalls
from polysched.library.matmul.generic.specialize import Specializer
from polysched.runtime.array_layout import ALIGNED, WRITEABLE, fault_of_output
from polysched.runtime.call_cache import CallCache, CallTarget
from polysched.runtime.tensors import as_given, is_tensor
from polysched.runtime.threads import number_of_threads
from polysched.runtime.views import as_array

_CALL_CACHE = CallCache(CACHED_KINDS)
_GENERIC = GenericCalls(Specializer())
_ONE, _ZERO = 1, 0
_WRITABLE = ALIGNED | WRITEABLE


def matmul(  # noqa: PLR0913  (options by keyword)
    a: Any,
    b: Any,
    out: Any = None,
    *,
    alpha: Any = _ONE,
    beta: Any = _ZERO,
    scale: Any = None,
    bias: Any = None,
    activation: str | None = None,
    threads: int | None = None,
    dtype: Any = None,
    specialize: bool | None = None,
) -> NumpyArray:
    """Compute ``activation(alpha * scale * (a @ b) + beta * out + bias)``, by default ``a @ b``.

    The operands have the shapes that ``numpy.matmul`` takes: vectors, matrices and stacks of
    matrices. Stacks are broadcast without a copy. The elements are float32, float64, float16,
    bfloat16, uint8 or a signed integer; if the types differ, both operands are converted to
    numpy's common type, except bytes of either sign, which are multiplied as they are. Products of
    integers of at most 16 bits are summed in int32, exactly for bytes unless there are more than
    32,000 terms. NaN and infinity propagate as in
    plain loops that add the terms in any order. An empty sum is 0.

    Products of float16 and of bfloat16 are summed in float32, and each result is rounded once to
    the type of the operands, unless ``dtype="f32"`` asks for the sums. Where the processor has
    ``vdpbf16ps``, that instruction multiplies bfloat16; it takes subnormal numbers for 0.

    The epilogue (factors, scales, bias, activation) is computed on each tile of the product while
    the tile is in registers or in the cache. Its type is that of the sums, or that of a
    floating-point result of integer operands; integers wrap around. ``scale`` is what the sums of
    quantized operands are multiplied by; for scales per group of terms see
    :func:`polysched.computed`. A factor
    0 leaves its operand out: ``beta=0`` never reads ``out``, and ``alpha=0`` reads neither ``a``
    nor ``b``, so NaN in them has no effect.

    Plain products of float32 and float64 matrices run size-generic kernels at once, whatever the
    shape. Code for the shape itself is made in the background after a few calls and used from then
    on. Its sums may be rounded otherwise, so ``specialize`` is for programs that need the same bits
    in each call. The first call of any other kind plans, proves and compiles its kernel. This takes
    some 0.1 s, or less if the code is on disk. All factors other than 0 and 1 are one kind, and so
    are all views with the same strides.

    A view with positive strides is read in place: a part of a matrix, a transposed matrix, a stack
    of these, every second column. Views whose rows or columns are contiguous are fastest. Views
    with negative or zero strides, or whose elements share memory, are copied first. ``out`` may be
    any view with positive strides; memory between its elements is not written. ``out`` must not
    share elements with the operands.

    An operand may be a matrix described by :func:`polysched.computed`: it is scaled, converted or
    unpacked from a few bits while it is read, and never stored as a whole. A right operand that
    :func:`polysched.prepare` made of such a matrix with ``activations="int8"`` is multiplied by the
    rows of ``a``, float32 or a half type, rounded to 8 bits. It takes ``bias`` (a number for each
    column) and ``activation``, and one kernel serves all sizes.

    Args:
        a: the left operand.
        b: the right operand.
        out: the array, DLPack tensor or buffer for the result, which ``beta`` multiplies before; by
            default a new array.
        alpha: the factor of the product: a real number, or an integer for integer operands.
        beta: the factor of the previous contents of ``out``.
        scale: a number or an array that multiplies the sums, with shapes as those of ``bias``; or a
            pair of these, such as ``(per_row, per_column)``. Integer operands then have a float32
            result.
        bias: an array with the element type of the result, added to it. It has one element for each
            column, or shape ``(m, 1)`` with one for each row. All matrices of a stack share it.
        activation: the function applied to each element last: ``"relu"``, and for floating-point
            results also ``"gelu_tanh"``, ``"sigmoid"``, ``"silu"`` and ``"tanh"``; None for none.
        threads: the most threads to use; by default as many as there are usable cores.
        dtype: the element type of the result; by default that of the operands, and int32 for
            integers of at most 16 bits. Sums of integers may be rounded to ``"f32"`` or ``"f64"``,
            and those of float32 to ``"bf16"`` or ``"f16"``.
        specialize: True to make the code for the shape at once, False never to make it; None to
            make it in the background after a few calls.

    Returns:
        the result; ``out`` if that was given.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    # Identity tests cost a fraction of comparisons. alpha=1.0 is handled below.
    is_plain = alpha is _ONE and beta is _ZERO and scale is bias is activation is dtype is None
    may_repeat = specialize is None or specialize is True
    if is_plain and may_repeat and (threads is None or type(threads) is int):
        done = _CALL_CACHE.run(threads, a, b, out)
        if done is not None:
            return done
    threads = None if threads is None else number_of_threads("matmul", threads)
    if isinstance(b, PreparedMatrix):
        is_finished = alpha is _ONE and beta is _ZERO and scale is dtype is None
        return _by_rounded_rows(a, b, out, bias, activation, threads, is_finished=is_finished)
    a, b, tensor = _operands(a, b, out)
    if tensor is not None and type(tensor) is not ndarray:
        result = matmul(
            *(a, b, None if out is None else _array(out, "out")),
            alpha=alpha,
            beta=beta,
            scale=scale,
            bias=bias,
            activation=activation,
            threads=threads,
            dtype=dtype,
            specialize=specialize,
        )
        return as_given((tensor,), result) if out is None else out  # type: ignore[no-any-return]
    done = _by_generic_kernels(a, b, out, threads, specialize) if is_plain else None
    if done is not None:
        return done
    bias = None if bias is None else _array(bias, "bias")
    if is_plain:
        options = plain_options(threads)
    else:
        dtype = None if dtype is None else as_dtype(dtype)
        options = call_options(alpha, beta, activation, threads, (a.dtype, b.dtype), dtype, scale)
    vectors = options.scales if bias is None else (*options.scales, bias)
    arrays = (a, b, *options.factors, *vectors, out)
    if not is_plain and (done := _CALL_CACHE.run(options.kind, *arrays)) is not None:
        return done
    along = None if bias is None else bias.shape
    entry = cached_dispatch(
        *(operand_key(a), operand_key(b), threads, options.epilogue, along),
        *(output_key(out), options.dtype, tuple(vector.shape for vector in options.scales)),
    )
    if bias is not None:
        require_bias(bias, entry.dtype)
    if out is not None:
        _require_output(out, entry)
    elif options.epilogue.updates:
        raise CallError(
            f"matmul: beta={beta} is the factor of what 'out' holds; give out=, or leave beta out"
        )
    result = np.empty(entry.shape, entry.dtype) if out is None else out
    entry.run(a, b, result, options.factors, vectors)
    _GENERIC.make_missing()
    if entry.direct_call is not None and all(vector.flags.c_contiguous for vector in vectors):
        _CALL_CACHE.add(options.kind, arrays, entry.direct_call)
    return result


def _by_rounded_rows(
    a: Any, b: PreparedMatrix, out: Any, *options: Any, is_finished: bool
) -> NumpyArray:
    """Multiply by a prepared matrix."""
    if not is_finished:
        raise CallError(
            "matmul: alpha=, beta=, scale= and dtype= are not for a prepared 'b'; expected bias= "
            "and activation= only"
        )
    # Imported for such a product only: others do not wait for it.
    from polysched.library.dynamic_linear.call import multiplied  # noqa: PLC0415

    result = multiplied(a, b, out, *options)
    done: NumpyArray = as_given((a,), result) if out is None else result
    return done


def _by_generic_kernels(
    a: NumpyArray | Computed,
    b: NumpyArray | Computed,
    out: Any,
    threads: int | None,
    specialize: bool | None,
) -> NumpyArray | None:
    """Compute a plain product by generic kernels; None if specialized code is to run."""
    if specialize is not None and type(specialize) is not bool:
        raise CallError(f"matmul: specialize={specialize!r}; expected True, False or None")
    if specialize or isinstance(a, Computed) or isinstance(b, Computed):
        return None
    return _GENERIC.run(a, b, out, threads, specialize)


def specialized_target(
    a: NumpyArray,
    b: NumpyArray,
    threads: int | None,
    out: NumpyArray | None = None,
    dtype: DType | None = None,
) -> CallTarget | None:
    """Like :func:`matmul_target`; None while generic kernels compute calls of this kind."""
    is_generic = dtype is None and _GENERIC.is_served(a, b, out, threads)
    return None if is_generic else matmul_target(a, b, threads, out, dtype)


def _operands(a: Any, b: Any, out: Any) -> tuple[Any, Any, Any]:
    """The operands as arrays of one type, and ``out`` or a tensor; its library's is the result."""
    if type(a) is type(b) is ndarray and a.dtype == b.dtype:
        return a, b, out
    tensor = next(filter(is_tensor, (a, b)), None) if out is None else out
    return *promoted(_operand(a, "a"), _operand(b, "b")), tensor


def _operand(value: Any, name: str) -> NumpyArray | Computed:
    return value if isinstance(value, Computed) else _array(value, f"array '{name}'")


def _array(value: Any, name: str) -> NumpyArray:
    return value if type(value) is ndarray else as_array(value, f"matmul: {name}")


def _require_output(out: NumpyArray, entry: DispatchEntry) -> None:
    """Check ``out`` itself: the kernel may get a reshaped or transposed view of it."""
    if out.shape != entry.shape:
        raise CallError(f"matmul: out has shape {out.shape}; expected {entry.shape}")
    if out.dtype != entry.dtype:
        raise CallError(f"matmul: out has elements of type {out.dtype}; expected {entry.dtype}")
    if out.flags.num & _WRITABLE != _WRITABLE:
        fault = fault_of_output(out.flags.num, out.shape, out.strides, out.itemsize)
        raise CallError(f"matmul: out {fault}; multiply into a new array and copy it")
