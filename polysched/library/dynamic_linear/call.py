"""Products of rows, rounded to 8 bits, and prepared matrices of integer codes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from polysched.errors import CallError
from polysched.ir.expr.dtypes import as_dtype, bf16, f16, f32
from polysched.library.dynamic_linear.kernel import TERMS, LinearForm
from polysched.library.dynamic_linear.matrix import NumpyArray, PreparedMatrix
from polysched.library.dynamic_linear.prepare import in_blocks, vectors_of_panel
from polysched.library.matmul.generic.compiled import NativeCode, native_code
from polysched.library.matmul.kernel.epilogue import ACTIVATIONS
from polysched.library.outputs import require_output
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.array_layout import IN_PLACE
from polysched.runtime.memory import addresses, aligned_copy
from polysched.runtime.threads import usable_threads
from polysched.runtime.views import as_array

if TYPE_CHECKING:
    from polysched.user import Schedule

ROWS = 96
"""Rows that read a panel of codes together. Their sums and a block of the panel fit the L1 cache.

96 rows have 24 KiB of sums with AVX-512. More rows repeat the unpacking of the codes.
"""


@dataclass(frozen=True)
class LinearCode:
    """The kernel of a product, whose machine code is kept on disk."""

    form: LinearForm
    is_parallel: bool
    machine: Machine = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self.form.name

    def schedule(self) -> Schedule:
        """The schedule that a call compiles, to be shown, edited or exported."""
        # Imported for a new kernel only, as in :mod:`polysched.library.on_demand`.
        from polysched.library.dynamic_linear.schedule import linear_schedule  # noqa: PLC0415

        return linear_schedule(self.form, self.machine, parallel=self.is_parallel)


@dataclass(frozen=True)
class RoundingCode:
    """The kernel that rounds rows in blocks of ``block`` terms."""

    block: int
    is_parallel: bool
    machine: Machine = field(repr=False)
    name = "round_rows"

    def schedule(self) -> Schedule:
        """The schedule that a call compiles, to be shown, edited or exported."""
        from polysched.library.dynamic_linear.schedule import rounding_schedule  # noqa: PLC0415

        return rounding_schedule(self.block, self.machine, parallel=self.is_parallel)


def multiplied(
    a: Any, matrix: PreparedMatrix, out: Any, bias: Any, activation: str | None, threads: int | None
) -> NumpyArray:
    """Compute ``activation(a @ matrix + bias)`` with each row of ``a`` rounded to 8 bits."""
    x = as_array(a, "matmul: array 'a'")
    terms, count = matrix.shape
    given = x.dtype
    if given not in (f32.numpy(), f16.numpy(), bf16.numpy()):
        raise CallError(
            f"matmul: 'a' has elements of type {given}; expected float32, float16 or bfloat16 for "
            "a prepared 'b', which rounds them to 8 bits"
        )
    if not x.ndim or x.shape[-1] != terms:
        raise CallError(
            f"matmul: 'a' has shape {x.shape} and the prepared 'b' {matrix.shape}; expected "
            f"{terms} elements in a row of 'a'"
        )
    if activation is not None and activation not in ACTIVATIONS:
        raise CallError(f"matmul: there is no activation {activation!r}")
    shape = (*x.shape[:-1], count)
    target = None if out is None else as_array(out, "matmul: out")
    if target is not None:
        require_output("matmul", target, shape, given, {"a": x}, in_place=False)
    summands = None if bias is None else _bias(bias, count, given)
    result = np.empty(shape, given) if target is None else target
    rows = prod(shape[:-1])
    if rows:
        is_direct = given == np.float32 and result.flags.num & IN_PLACE == IN_PLACE
        whole = result if is_direct else np.empty(shape, np.float32)
        _run(
            x.reshape(rows, terms),
            matrix,
            whole.reshape(rows, count),
            summands,
            activation,
            threads,
        )
        if not is_direct:
            result[...] = whole.astype(given, copy=False)
    return result if out is None else out


def _run(
    x: NumpyArray,
    matrix: PreparedMatrix,
    out: NumpyArray,
    bias: NumpyArray | None,
    activation: str | None,
    threads: int | None,
) -> None:
    """Round the rows, and multiply as many at a time as read a panel together."""
    machine, columns = load_machine(None), matrix.columns
    panels, blocks, block = len(matrix.scale), matrix.blocks, matrix.block
    count = usable_threads() if threads is None else threads
    is_parallel = count > 1 and x.size * out.shape[1] >= machine.costs.parallel_products
    is_whole = out.shape[1] == panels * columns
    if bias is not None:
        bias = np.pad(bias, (0, panels * columns - len(bias)))
    terms = _in_blocks(x, matrix)
    rounding = _rounding(block, is_parallel=is_parallel and len(x) >= count)
    for start in range(0, len(x), ROWS):
        part = terms[start : start + ROWS]
        tile = _rows_of_tile(len(part), machine)
        tiles = -(-len(part) // tile)
        form = LinearForm(
            *(block // TERMS, columns, matrix.lanes, tile),
            *(matrix.is_packed, tiles == 1, bias is not None, activation),
        )
        rows = tiles * form.rows
        rounded = np.empty((rows, part.shape[1]), np.int8)
        sums, scale = np.empty((rows, blocks), np.float32), np.empty(rows, np.float32)
        target = out[start : start + ROWS]
        is_direct = is_whole and rows == len(part)
        whole = target if is_direct else np.empty((rows, panels * columns), np.float32)
        inputs = rounded, sums, scale, matrix.codes, matrix.scale, matrix.offset
        vectors = () if bias is None else (bias,)
        steps = (
            (rounding, (part, rounded, sums, scale), (len(part), blocks)),
            (
                _linear(form, is_parallel=is_parallel),
                (*inputs, *vectors, whole),
                (panels, tiles, blocks),
            ),
        )
        for native, arrays, extents in steps:
            native.run(addresses(arrays), extents, count)
        if not is_direct:
            target[...] = whole[: len(target), : out.shape[1]]


def _rows_of_tile(rows: int, machine: Machine) -> int:
    """Rows of a register tile, for few tiles and few rows beyond the last one.

    The sums share the registers with a vector of each panel and a broadcast element. Loading these
    takes about the time of another row.
    """
    most = (machine.vector_registers - 1) // vectors_of_panel(machine) - 1
    return min(range(1, most + 1), key=lambda tile: (-(-rows // tile) * (tile + 1), tile))


def _in_blocks(x: NumpyArray, matrix: PreparedMatrix) -> NumpyArray:
    """Rows of f32, contiguous, with zeros that fill the last block of each group."""
    terms, block, group = matrix.shape[0], matrix.block, matrix.group
    if terms % block == 0 and (group % block == 0 or group == terms):
        x = np.ascontiguousarray(x, np.float32)
        return x if x.flags.aligned else aligned_copy(x)
    filled = np.zeros((len(x), matrix.blocks * block), np.float32)
    groups, whole = in_blocks(filled, group), terms // group
    groups[:, :whole, :group] = x[:, : whole * group].reshape(len(x), whole, group)
    if rest := terms - whole * group:
        groups[:, whole, :rest] = x[:, whole * group :]
    return filled


@lru_cache(maxsize=64)
def _linear(form: LinearForm, *, is_parallel: bool) -> NativeCode:
    return native_code(LinearCode(form, is_parallel, load_machine(None)))


@lru_cache(maxsize=64)
def _rounding(block: int, *, is_parallel: bool) -> NativeCode:
    return native_code(RoundingCode(block, is_parallel, load_machine(None)))


def _bias(bias: Any, count: int, dtype: np.dtype[Any]) -> NumpyArray:
    array = as_array(bias, "matmul: bias")
    if array.shape != (count,) or array.dtype != dtype:
        raise CallError(
            f"matmul: bias has shape {array.shape} and elements of type {array.dtype}; expected "
            f"{(count,)} and {dtype}, for a prepared 'b'"
        )
    return np.ascontiguousarray(array, as_dtype("f32").numpy())
