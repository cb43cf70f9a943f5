"""Kernel declarations of matrix products: batches, epilogues, VNNI layouts; no schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from math import prod
from typing import NamedTuple, TypeAlias

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, i32
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.functions import cast
from polysched.ir.isl.extrema import greatest
from polysched.library.matmul.kernel.operands import (
    DENSE,
    ComputedOperand,
    Element,
    Origin,
    Stored,
    Strides,
    VnniLayout,
)


class EpilogueInput(NamedTuple):
    """The inputs of an epilogue for one element of the product.

    Attributes:
        value: the finished sum.
        old: the previous value in ``out``; None unless the kernel updates ``out``.
    """

    value: Expression
    row: Index
    column: Index
    old: Expression | None


EpilogueFunction = Callable[[EpilogueInput], Expression]
"""Computes the value to store from a finished sum."""

EpilogueBuilder = Callable[[KernelBuilder], EpilogueFunction]
"""Declares the epilogue's further inputs, and returns the function that computes its value."""


_Extents: TypeAlias = Mapping[str, int]
"""The extents of an array's dimensions, or of the loops over them, by name and in order."""


class Sizes(NamedTuple):
    """``m`` rows and ``n`` columns of the product, ``k`` terms per sum, ``batch`` products."""

    m: int
    n: int
    k: int
    batch: int = 1

    def along(self, dimension: str) -> int:
        """The extent of the dimension ``"m"``, ``"n"`` or ``"k"``."""
        return {"m": self.m, "n": self.n, "k": self.k}[dimension]


class Stack(NamedTuple):
    """A dimension of a stack of products.

    Attributes:
        of_a: whether ``a`` has this dimension; otherwise all products share one ``a``.
        of_b: the same for ``b``.
    """

    extent: int
    of_a: bool = True
    of_b: bool = True


def matmul_kernel(  # noqa: PLR0913  (sizes, and options by keyword)
    m: int,
    n: int,
    k: int,
    *,
    dtype: DType = f32,
    accumulator: DType | None = None,
    result: DType | None = None,
    a: Origin = DENSE,
    b: Origin = DENSE,
    batch: int | tuple[Stack, ...] | None = None,
    accumulate: bool = False,
    epilogue: EpilogueBuilder | None = None,
    strides_out: Strides | None = None,
    vnni: VnniLayout | None = None,
) -> Kernel:
    """Declare the kernel ``out[m,n] = sum over k of a[m,k] * b[k,n]``; sums have any order.

    Arrays: ``a[m, k]``, ``b[k, n]`` and ``out[m, n]``, C-contiguous unless strides are given. Each
    has the dimensions of the stack that apply to it in front: ``batch``, ``batch_2``, ...

    Statements: ``init`` and ``update``; ``epilogue``; ``produce_a`` and ``produce_b`` for computed
    operands; with a VNNI layout ``vnni_b``, ``pad_b``, ``copy_a`` and ``pad_a`` for the copies, and
    ``init_rows`` and ``rows`` for the row sums of ``a`` that correct the shift.

    Args:
        m: rows of the product, at least 1.
        n: columns of the product, at least 1.
        k: terms of each sum, at least 1.
        dtype: element type of ``a`` and ``b``, unless their origins have another.
        accumulator: element type of the sums; by default ``dtype``, i32 for integers of 8 and 16
            bits, and f32 for bf16 and f16.
        result: element type of ``out``; by default that of the sums. Each finished sum is rounded
            to it once.
        a: the origin of the left operand; by default an input array.
        b: the same for the right operand.
        batch: the number of products, or the dimensions of a stack of products; None for one
            product without such a dimension.
        accumulate: whether ``out`` is updated: the product is added to its previous contents. An
            epilogue gets both instead.
        epilogue: declares the operations on each sum before it is stored; None for none.
        strides_out: the stride of each dimension of ``out`` in elements, such as ``(ldc, 1)``; None
            for no gaps.
        vnni: the VNNI layout of a copy of ``b``; None for no copy.

    Raises:
        KernelError: a size is not positive, or two elements of an array with strides may share
            memory.
    """
    stacks = batch if isinstance(batch, tuple) else () if batch is None else (Stack(batch),)
    names = _stack_names(stacks)
    extents = {name: stack.extent for name, stack in names.items()}
    for name, size in {"m": m, "n": n, "k": k, **extents}.items():
        if size < 1:
            raise KernelError(f"matmul: {name} is {size}; expected a positive number")
    total = accumulator or accumulator_of(dtype)
    build = KernelBuilder("matmul")
    extents |= {"m": m, "n": n, "k": k}
    of_a = [name for name, stack in names.items() if stack.of_a]
    of_b = [name for name, stack in names.items() if stack.of_b]
    left = _operand(build, "a", a, dtype, _chosen(extents, *of_a, "m", "k"))
    right = _operand(build, "b", b, dtype, _chosen(extents, *of_b, "k", "n"))
    stored = result or total
    if epilogue is None and stored != total:
        epilogue = partial(_rounding, stored if total.is_integer else total)
    elementwise = None if epilogue is None else epilogue(build)
    around = _chosen(extents, *names, "m", "n")
    declare_out = build.inout if accumulate else build.output
    out = _declared(declare_out, "out", stored, around, strides=strides_out)
    sums = out if elementwise is None else _declared(build.temporary, "sums", total, around)

    row_sums, shift = None, 0
    terms = k if vnni is None else vnni.terms * vnni.groups(k)
    if vnni is not None:
        if vnni.copies_a:
            rows = _chosen(extents, *of_a, "m", "k")
            left = _copy_of_rows(build, left, stored_type(a, dtype), vnni, rows)
        right = _in_vnni_layout(build, right, vnni, _chosen(extents, *of_b, "n", "k"))
        shift = vnni.shift
    if shift:
        row_sums = _row_sums(build, left, total, {"m": m, "k": terms})
    starts_at_zero = sums is not out or not accumulate
    if starts_at_zero or row_sums is not None:
        with build.loops(**around) as at, build.statement("init"):
            index = dict(zip(around, at, strict=True))
            correction = 0 if row_sums is None else row_sums[index["m"]] * -shift
            sums[at] = correction if starts_at_zero else sums[at] + correction
    with build.loops(**around, k=terms) as (*at_stack, row, column, term):
        index = dict(zip(names, at_stack, strict=True))
        factor_a = left(row, term, *(index[name] for name in of_a))
        factor_b = right(term, column, *(index[name] for name in of_b))
        with build.statement("update", order="any"):
            sums[(*at_stack, row, column)] += cast(factor_a, total) * cast(factor_b, total)
    if elementwise is not None:
        with build.loops(**around) as at, build.statement("epilogue"):
            old = out[at] if accumulate else None
            out[at] = elementwise(EpilogueInput(sums[at], at[-2], at[-1], old))
    return build.kernel()


def _rounding(arithmetic: DType, build: KernelBuilder) -> EpilogueFunction:
    """The epilogue of sums that are only rounded to the type of the result."""

    def rounded(inputs: EpilogueInput) -> Expression:
        value = cast(inputs.value, arithmetic)
        return value if inputs.old is None else value + inputs.old

    return rounded


def _chosen(extents: _Extents, *dimensions: str) -> _Extents:
    return {dimension: extents[dimension] for dimension in dimensions}


def _declared(
    declare: Callable[..., ArrayHandle],
    name: str,
    dtype: DType,
    extents: _Extents,
    **layout: Strides | None,
) -> ArrayHandle:
    return declare(name, dtype, tuple(extents.values()), dimensions=" ".join(extents), **layout)


def _operand(
    build: KernelBuilder, name: str, origin: Origin, dtype: DType, extents: _Extents
) -> Element:
    """Declare an operand of the given extents and, if it is computed, the statement for it."""
    match origin:
        case Stored(is_transposed, strides, own):
            *outer, first, second = extents
            stored = _chosen(extents, *outer, second, first) if is_transposed else extents
            array = _declared(build.input, name, own or dtype, stored, strides=strides)
            return _read(array, is_transposed)
        case ComputedOperand(producer, is_inlined=True):
            return producer(build)
        case ComputedOperand(producer):
            element = producer(build)
            array = _declared(build.temporary, name, dtype, extents)
            with build.loops(**extents) as at, build.statement(f"produce_{name}"):
                *stack, row, column = at
                array[at] = cast(element(row, column, *stack), dtype)
            return _read(array)


def _copy_of_rows(
    build: KernelBuilder, element: Element, dtype: DType, vnni: VnniLayout, extents: _Extents
) -> Element:
    """Declare a copy of ``a`` with contiguous rows; zeros fill the last group of terms.

    Tiles are ``a_rows[..., tile, step, m, k]``.
    """
    *outer, (m, row_count), (k, term_count) = extents.items()
    filled, tile = vnni.terms * vnni.groups(term_count), vnni.tile
    shape = {**extents, k: filled}
    if tile is not None:
        width = vnni.terms * tile.groups
        tiles = [("tile", -(-row_count // tile.rows)), ("step", -(-filled // width))]
        shape = dict([*outer, *tiles, (m, tile.rows), (k, width)])
    array = _declared(build.temporary, "a_rows", dtype, shape)

    def place(*at: Expression | int) -> tuple[Expression | int, ...]:
        *stack, row, term = at
        if tile is None:
            return at
        return (*stack, row // tile.rows, term // width, row % tile.rows, term % width)

    with build.loops(**extents) as at, build.statement("copy_a"):
        *stack, row, term = at
        array[place(*at)] = element(row, term, *stack)
    if filled > term_count:
        with build.loops(**{**extents, k: filled - term_count}) as at, build.statement("pad_a"):
            array[place(*at[:-1], at[-1] + term_count)] = 0

    def element_of(row: Index, term: Index, *stack: Index) -> Expression:
        return array[place(*stack, row, term)]

    return element_of


def _in_vnni_layout(
    build: KernelBuilder, element: Element, vnni: VnniLayout, extents: _Extents
) -> Element:
    """Declare a copy of ``b`` in the VNNI layout: ``b_vnni[..., group, n, member]``.

    ``extents`` are those of the stack, the columns and the terms. Zeros fill the last group.
    Tiles are ``b_vnni[..., panel, group, n, member]``.
    """
    size, tile = vnni.terms, vnni.tile
    *outer, (n, column_count), (_, term_count) = extents.items()
    groups = vnni.groups(term_count)
    loops = dict([*outer, ("group", groups), (n, column_count), ("member", size)])
    shape = loops
    if tile is not None:
        panels = [("panel", -(-column_count // tile.columns)), ("group", groups)]
        shape = dict([*outer, *panels, (n, tile.columns), ("member", size)])
    array = _declared(build.temporary, "b_vnni", vnni.type, shape)

    def place(*at: Expression | int) -> tuple[Expression | int, ...]:
        *stack, group, column, member = at
        if tile is None:
            return at
        return (*stack, column // tile.columns, group, column % tile.columns, member)

    with build.loops(**loops) as at, build.statement("vnni_b"):
        *stack, group, column, member = at
        term = size * group + member
        with build.where(term < term_count):
            value = element(term, column, *stack)
            array[place(*at)] = (
                cast(cast(value, i32) + vnni.shift, vnni.type) if vnni.shift else value
            )
    filling = size * groups - term_count
    if filling:
        columns = (n, column_count)
        with (
            build.loops(**dict([*outer, columns, ("filling", filling)])) as at,
            build.statement("pad_b"),
        ):
            *stack, column, member = at
            term = member + term_count
            array[place(*stack, term // size, column, term % size)] = 0

    def member_of(row: Index, column: Index, *stack: Index) -> Expression:
        return array[place(*stack, row // size, column, row % size)]

    return member_of


def _row_sums(
    build: KernelBuilder, element: Element, total: DType, extents: _Extents
) -> ArrayHandle:
    """Declare the sums of the rows of ``a``; ``extents`` are those of rows and terms."""
    (m, row_count), (k, term_count) = extents.items()
    rows = build.temporary("rows", total, (row_count,), dimensions="row")
    with build.loops(**{m: row_count}) as row:
        with build.statement("init_rows"):
            rows[row] = 0
        with build.loops(**{k: term_count}) as term, build.statement("rows", order="any"):
            rows[row] += cast(element(row, term), total)
    return rows


def _read(array: ArrayHandle, is_transposed: bool = False) -> Element:
    """The function that reads an element of an array, which may be stored transposed."""

    def element(row: Index, column: Index, *stack: Index) -> Expression:
        return array[(*stack, *((column, row) if is_transposed else (row, column)))]

    return element


def _stack_names(stacks: tuple[Stack, ...]) -> Mapping[str, Stack]:
    """The dimensions of a stack by name; the loop over a dimension has the same name."""
    names = (f"{STACK}_{number}" if number > 1 else STACK for number in count(1))
    return dict(zip(names, stacks, strict=False))


STACK = "batch"
"""The name of a stack's first dimension; further ones are ``batch_2``, ``batch_3``, ..."""


def stack_loops(kernel: Kernel) -> tuple[str, ...]:
    """The loops over the stack of a matmul kernel, outermost first."""
    return kernel.statements["update"].indices[:-3]


def accumulator_of(dtype: DType) -> DType:
    """The type of the sums of products of ``dtype``: i32 for narrower integers, f32 for halves."""
    if dtype.is_half:
        return dtype.arithmetic
    return i32 if dtype.is_integer and dtype.bits < i32.bits else dtype


def stored_type(origin: Origin, dtype: DType) -> DType:
    """The element type of an operand of a product of ``dtype``."""
    return (isinstance(origin, Stored) and origin.dtype) or dtype


def sizes_of(kernel: Kernel) -> Sizes:
    """The sizes of a kernel that :func:`matmul_kernel` declared."""
    update = kernel.statements.get("update")
    extents = [] if update is None else [_extent(update, at) for at in range(len(update.indices))]
    if update is None or update.indices[-3:] != ("m", "n", "k") or None in extents:
        raise KernelError(
            f"kernel '{kernel.name}' is no matrix product; expected one of matmul_kernel()"
        )
    *outer, m, n, k = (extent or 0 for extent in extents)
    return Sizes(m, n, k, prod(outer))


def _extent(statement: Statement, position: int) -> int | None:
    """The trip count of a loop that starts at 0; None if it is not constant."""
    last = greatest(statement.domain, position)
    return None if last is None else last + 1
