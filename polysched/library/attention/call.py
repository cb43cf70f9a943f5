"""``attention`` of numpy arrays, by kernels for any number of heads, queries and keys."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polysched.ir.expr.dtypes import DType, as_dtype, f32, f64
from polysched.library.attention.arguments import Request, checked
from polysched.library.attention.kernel import LOG2_E, Attention, attention_form
from polysched.library.matmul.generic.compiled import native_code
from polysched.machine.load import load_machine
from polysched.runtime.memory import addresses, contiguous
from polysched.runtime.tensors import returns_tensors

if TYPE_CHECKING:
    from polysched.user import Schedule

NumpyArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class AttentionCode:
    """The kernel of a call, whose machine code is kept on disk.

    ``parallel`` is the loop that threads share, as in :func:`attention_schedule`.
    """

    form: Attention
    parallel: str | None = None

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self.form.name

    def schedule(self) -> Schedule:
        """The schedule that a call compiles, to be shown, edited or exported."""
        # Imported for a new kernel only, as in :mod:`polysched.library.on_demand`.
        from polysched.library.attention.schedule import attention_schedule  # noqa: PLC0415

        return attention_schedule(self.form, self.parallel)


@returns_tensors
def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    out: Any = None,
    threads: int | None = None,
) -> NumpyArray:
    """Compute ``softmax(scale * q @ k.T + mask) @ v``, without storing the scores.

    As in ``torch.nn.functional.scaled_dot_product_attention``, leading dimensions are broadcast and
    a query that sees no key gets zeros. Other NaN and infinite scores make their row NaN. A hidden
    key has the weight 0, so an infinite row of ``v`` still makes the result NaN. Elements of
    float16 and bfloat16 are computed in float32, and the result is rounded once.

    One kernel serves all lengths and numbers of heads, and a shorter one those with whole blocks of
    16 to 64 keys. The first call of each combination of widths, type, ``causal`` and mask proves
    and compiles a kernel, which stays on disk.
    ``ps.library.attention_schedule(ps.library.attention_form(width, columns))`` is its schedule.

    Args:
        q: the queries ``(..., queries, width)``: float32, float64, float16 or bfloat16.
        k: the keys ``(..., keys, width)``, of the same type.
        v: the values ``(..., keys, columns)``, of the same type.
        mask: which keys a query sees (boolean), or numbers that are added to the scores, of the
            type of ``q``. It is broadcast to ``(..., queries, keys)``.
        causal: whether query ``i`` sees only the keys up to ``i``.
        scale: the factor of the scores; by default ``1 / sqrt(width)``.
        out: the array or tensor ``(..., queries, columns)`` for the result, contiguous; by default
            a new array.
        threads: the most threads to use; by default as many as there are usable cores.

    Returns:
        the result; ``out`` if that was given.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    request = checked(q, k, v, mask, causal, scale, out, threads)
    if math.prod(request.shape) and request.keys:
        result = _computed(request)
    else:
        result = request.result()
        result[...] = 0
    return result if out is None else out


def _computed(request: Request) -> NumpyArray:
    """Run the kernel for each group of heads that have one mask and rows of their own."""
    dtype = as_dtype(request.dtype)
    wide = f64 if dtype == f64 else f32
    form = _form(request.width, request.columns, wide, request.causal, request.mask is not None)
    real = wide.numpy()
    missing = -request.queries % form.panel
    q = _padded(contiguous(request.q, real), missing)
    k, v = (contiguous(array, real) for array in (request.k, request.v))
    mask = None if request.mask is None else _summands(request, real, missing)
    is_direct = not missing and request.dtype == real
    shape = (*request.shape[:-2], request.queries + missing, request.columns)
    result = request.result() if is_direct else np.empty(shape, real)
    lead = request.shape[:-2]
    split = _first_common(lead, [a.shape[:-2] for a in (q, k, v)], mask)
    q, k, v = (
        array if array.shape[:-2] == lead else np.broadcast_to(array, (*lead, *array.shape[-2:]))
        for array in (q, k, v)
    )
    if mask is not None:
        mask = np.broadcast_to(mask, (*lead, *mask.shape[-2:]))
    scale = np.array(request.scale * LOG2_E, real)
    for group in np.ndindex(lead[:split]):
        stacks = [a[group].reshape(-1, *a.shape[-2:]) for a in (q, k, v)]
        inner = (0,) * (len(lead) - split)
        masks = [] if mask is None else [mask[(*group, *inner)]]
        to = result[group].reshape(-1, *result.shape[-2:])
        _run(form, [*stacks, *masks, scale, to], request.threads)
    if is_direct:
        return result
    final = request.result()
    np.copyto(final, result[..., : request.queries, :], casting="unsafe")
    return final


def _run(form: Attention, arrays: list[NumpyArray], threads: int) -> None:
    """Run the kernel on contiguous arrays in the order of their declaration."""
    machine = load_machine(None)
    (heads, queries, _), keys = arrays[0].shape, arrays[1].shape[1]
    products = heads * queries * keys * (form.width + form.columns)
    if keys % form.keys == 0:
        form, keys = replace(form, whole=True), keys // form.keys
    extents = heads, queries // form.panel, keys
    parallel = None
    if threads > 1 and products >= machine.costs.parallel_products:
        parallel = "head" if heads >= threads else "rows"
    native_code(AttentionCode(form, parallel)).run(addresses(arrays), extents, threads)


@lru_cache(maxsize=128)
def _form(width: int, columns: int, dtype: DType, causal: bool, masked: bool) -> Attention:
    return attention_form(width, columns, dtype=dtype, causal=causal, masked=masked)


def _first_common(
    lead: tuple[int, ...], shapes: list[tuple[int, ...]], mask: NumpyArray | None
) -> int:
    """The first leading dimension after which all arrays have every index and share one mask.

    Args:
        lead: the leading dimensions of the result.
        shapes: those of the arrays, which are broadcast to ``lead``.
        mask: the mask, which is broadcast too.
    """
    masks = () if mask is None else mask.shape[:-2]
    split = len(lead)
    while split:
        back = split - 1 - len(lead)
        if any(len(shape) < -back or shape[back] != lead[back] for shape in shapes):
            break
        if len(masks) >= -back and masks[back] != 1:
            break
        split -= 1
    return split


def _padded(array: NumpyArray, missing: int) -> NumpyArray:
    """Append rows of zeros to each matrix, so that the vectors of queries are full."""
    if not missing:
        return array
    return np.pad(array, [*[(0, 0)] * (array.ndim - 2), (0, missing), (0, 0)])


def _summands(request: Request, dtype: np.dtype[Any], missing: int) -> NumpyArray:
    """The mask as numbers to add, one for each query and key, with rows for missing queries."""
    mask = request.mask
    assert mask is not None
    if mask.dtype == np.bool_:
        mask = np.where(mask, dtype.type(0), dtype.type(-np.inf))
    leading = mask.shape[:-2] if mask.ndim > 2 else ()
    whole = np.broadcast_to(mask, (*leading, request.queries, request.keys))
    return _padded(contiguous(whole, dtype), missing)
