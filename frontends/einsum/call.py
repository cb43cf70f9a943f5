"""``einsum(subscripts, *operands)`` on numpy arrays, compiled once for each kind of call."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from polysched.errors import CallError, FrontendError
from polysched.frontends.einsum.direct_call import KernelRun, direct_call
from polysched.frontends.einsum.operands import NumpyArray, element_types
from polysched.frontends.einsum.path import Path, path_of
from polysched.frontends.einsum.plan import Plan, make_plan
from polysched.ir.expr.dtypes import as_dtype
from polysched.runtime.call_cache import CallCache
from polysched.runtime.tensors import as_given, is_tensor
from polysched.runtime.threads import number_of_threads
from polysched.runtime.views import as_array

_PLANS = 512
_CALL_CACHE = CallCache(_PLANS)


def einsum(
    subscripts: str,
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    optimize: Any = True,
    threads: int | None = None,
) -> NumpyArray:
    """Contract arrays as ``numpy.einsum`` does.

    ``einsum("bij,bjk->bik", a, b)`` is a batched matrix product. Labels may repeat within an
    operand (a diagonal), ``...`` stands for further dimensions, dimensions of one element are
    broadcast, and without ``->`` the result has the labels that occur once. Operands are contracted
    in pairs, in an order that opt_einsum chooses unless ``optimize`` gives it.

    Matrix products, dot products and sums run as kernels of the library, which may reorder the
    terms; an empty sum is 0. A factor that does not depend on a sum is multiplied after the sum, so
    a term that is 0 is not multiplied by a factor that is infinite. Operands of several types are
    converted to numpy's common type, which is the type of the result; integers wrap around. Sums of
    float16 and of bfloat16 and values between steps are float32, and each result is rounded once.
    An operand is copied only if its memory layout does not fit the kernel. The first call with a
    new text, new shapes or new types plans, proves and compiles, which takes some 0.2 s for each
    step.

    Args:
        subscripts: the labels of the operands and of the result.
        operands: arrays of float32, float64, float16, bfloat16 or integers.
        out: the array, DLPack tensor or buffer for the result; by default a new array, or a view if
            nothing is computed.
        dtype: the type of the calculation and of the result, which holds all values of the
            operands' type; ``"f32"`` asks for the sums of half types. By default the common type.
        optimize: the order in which operands are contracted: True for opt_einsum's, False for that
            of the operands, ``"greedy"``, ``"optimal"``, one of these with the most elements of a
            value between steps, or a path that ``numpy.einsum_path`` returned.
        threads: number of threads of matrix products; by default all usable cores.

    Raises:
        FrontendError: ``subscripts`` cannot be read, or does not fit the operands.
        CallError: an operand, ``out`` or an option does not fit.
    """
    is_plain = threads is dtype is None and optimize is True
    if is_plain and type(subscripts) is str:
        done = _CALL_CACHE.run(subscripts, *operands, out)
        if done is not None:
            return done
    if not isinstance(subscripts, str):
        raise FrontendError(
            f"einsum: subscripts are of type {type(subscripts).__name__}; expected a text such as "
            "'ij,jk->ik' before the operands"
        )
    if threads is not None:
        threads = number_of_threads("einsum", threads)
    if not operands:
        raise CallError("einsum: no operands; expected one array for each of the subscripts")
    arrays = [
        as_array(operand, f"einsum: operand {number}") for number, operand in enumerate(operands)
    ]
    tensor = next(filter(is_tensor, operands), None) if out is None else out
    if tensor is not None and type(tensor) is not np.ndarray:
        array = None if out is None else as_array(out, "einsum: out")
        result: NumpyArray = einsum(
            subscripts, *arrays, out=array, dtype=dtype, optimize=optimize, threads=threads
        )
        return as_given((tensor,), result) if out is None else out  # type: ignore[no-any-return]
    dtype, total = element_types(arrays, None if dtype is None else as_dtype(dtype))
    plan = _plan(subscripts, tuple(array.shape for array in arrays), threads, path_of(optimize))
    if out is not None:
        _require_output(out, plan, total)
    runs: list[KernelRun] = []
    if plan.is_empty:
        result = np.zeros(plan.shape, total)
    else:
        # Sums and products modulo 2**n are the same for signed and unsigned integers.
        inner = np.dtype(f"i{dtype.itemsize}") if dtype.kind == "u" else dtype
        inputs = [array.astype(dtype, copy=False).view(inner) for array in arrays]
        result = plan.run(inputs, total, runs)
        result = result.view(dtype) if dtype.kind == "u" else result.astype(total, copy=False)
    if is_plain and (out is None or out.flags.c_contiguous):
        target = direct_call(arrays, plan.origins, result, runs)
        if target is not None:
            _CALL_CACHE.add(subscripts, (*operands, out), target)
    if out is None:
        return result
    out[...] = result
    return out  # type: ignore[no-any-return]


@lru_cache(maxsize=_PLANS)
def _plan(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], threads: int | None, path: Path
) -> Plan:
    return make_plan(subscripts, shapes, threads, path)


def _require_output(out: NumpyArray, plan: Plan, dtype: np.dtype[Any]) -> None:
    """Check the array for the result."""
    if out.shape != plan.shape or out.dtype != dtype:
        raise CallError(
            f"einsum: out has shape {out.shape} and elements of type {out.dtype}; expected shape "
            f"{plan.shape} of {dtype}"
        )
    if not out.flags.writeable:
        raise CallError("einsum: out is read-only; expected an array that can be written to")
