"""The matrix product as a kernel: what is computed, with no word on how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from math import prod
from typing import NamedTuple, TypeAlias

from polysched.errors import KernelError
from polysched.ir.builder import ArrayHandle, KernelBuilder
from polysched.ir.dtypes import DType, f32, i32
from polysched.ir.expressions import Expression, Index
from polysched.ir.extrema import greatest
from polysched.ir.functions import cast
from polysched.ir.kernel import Kernel, Statement
from polysched.library.matmul.operands import (
    AS_IT_IS,
    Element,
    Grouping,
    Made,
    Origin,
    Stored,
    Strides,
)


class Finished(NamedTuple):
    """An element of the product when its terms are added up.

    Attributes:
        value: the sum.
        row: its row.
        column: its column.
        old: what ``out`` holds there; None unless the kernel is one that updates it.
    """

    value: Expression
    row: Index
    column: Index
    old: Expression | None


Elementwise = Callable[[Finished], Expression]
"""The value to store, from a finished sum."""

Epilogue = Callable[[KernelBuilder], Elementwise]
"""Declares the further inputs of what becomes of the sums, and returns what that is."""


_Extents: TypeAlias = Mapping[str, int]
"""The extents of an array's dimensions, or of the loops over them, by name and in order."""


class Sizes(NamedTuple):
    """``m`` rows and ``n`` columns of the product, ``k`` terms a sum, ``batch`` products."""

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
        extent: how many.
        of_a: whether each has an ``a`` of its own; else all share one.
        of_b: the same of ``b``.
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
    a: Origin = AS_IT_IS,
    b: Origin = AS_IT_IS,
    batch: int | tuple[Stack, ...] | None = None,
    accumulate: bool = False,
    epilogue: Epilogue | None = None,
    strides_out: Strides | None = None,
    grouping: Grouping | None = None,
) -> Kernel:
    """The kernel ``out[m,n] = sum over k of a[m,k] * b[k,n]``; the order of each sum is free.

    Arrays, C-contiguous but for strides: ``a[m, k]``, ``b[k, n]`` and ``out[m, n]``, each with the
    dimensions of a stack in front, those that it has: ``batch``, ``batch_2``, ... The statements
    are ``init``, ``update`` and, with them, ``epilogue``, ``produce_a`` and ``produce_b``; of
    grouped terms ``group_b``, ``pad_b``, ``turn_a``, ``pad_a``, and ``init_rows`` and ``rows`` for
    what is taken off.

    Args:
        m: rows of the product, at least 1.
        n: its columns, at least 1.
        k: terms of each sum, at least 1.
        dtype: elements of ``a`` and ``b``.
        accumulator: elements of ``out``, and of the sums; by default ``dtype``, and i32 for the
            integers of 8 and 16 bits.
        a: where the left operand comes from; by default an input.
        b: the same of the right one.
        batch: how many products are computed, or the dimensions of a stack of them; None for one,
            without a dimension for it.
        accumulate: whether ``out`` is updated: the product is added to what it holds, or, with an
            epilogue, that gets both.
        epilogue: what becomes of each sum before it is stored; without it, nothing.
        strides_out: elements from one index to the next of each dimension of ``out``, such as
            ``(ldc, 1)``; None for no gaps.
        grouping: how terms are put side by side in a copy of ``b``; None for no copy.

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
    elementwise = None if epilogue is None else epilogue(build)
    around = _chosen(extents, *names, "m", "n")
    declare_out = build.inout if accumulate else build.output
    out = _declared(declare_out, "out", total, around, strides=strides_out)
    sums = out if elementwise is None else _declared(build.temporary, "sums", total, around)

    rest, shift = None, 0
    terms = k if grouping is None else grouping.terms * grouping.groups(k)
    if grouping is not None:
        if grouping.copies_a:
            left = _in_rows(build, left, dtype, grouping, _chosen(extents, *of_a, "m", "k"))
        right = _in_groups(build, right, grouping, _chosen(extents, *of_b, "n", "k"))
        shift = grouping.shift
    if shift:
        rest = _row_sums(build, left, total, {"m": m, "k": terms})
    starts_anew = sums is not out or not accumulate
    if starts_anew or rest is not None:
        with build.loops(**around) as at, build.statement("init"):
            place = dict(zip(around, at, strict=True))
            off = 0 if rest is None else rest[place["m"]] * -shift
            sums[at] = off if starts_anew else sums[at] + off
    with build.loops(**around, k=terms) as (*at_stack, row, column, term):
        place = dict(zip(names, at_stack, strict=True))
        of_left = left(row, term, *(place[name] for name in of_a))
        of_right = right(term, column, *(place[name] for name in of_b))
        with build.statement("update", order="any"):
            sums[(*at_stack, row, column)] += cast(of_left, total) * cast(of_right, total)
    if elementwise is not None:
        with build.loops(**around) as at, build.statement("epilogue"):
            old = out[at] if accumulate else None
            out[at] = elementwise(Finished(sums[at], at[-2], at[-1], old))
    return build.kernel()


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
    """Declare an operand of these extents, and what makes it."""
    match origin:
        case Stored(is_transposed, strides):
            *outer, first, second = extents
            stored = _chosen(extents, *outer, second, first) if is_transposed else extents
            return _read(
                _declared(build.input, name, dtype, stored, strides=strides), is_transposed
            )
        case Made(producer, is_inlined=True):
            return producer(build)
        case Made(producer):
            element = producer(build)
            array = _declared(build.temporary, name, dtype, extents)
            with build.loops(**extents) as at, build.statement(f"produce_{name}"):
                *stack, row, column = at
                array[at] = element(row, column, *stack)
            return _read(array)


def _in_rows(
    build: KernelBuilder, element: Element, dtype: DType, grouping: Grouping, extents: _Extents
) -> Element:
    """A copy of ``a`` in which the terms of a row lie side by side, with zeros after them to fill
    the last group.
    """
    *_, (k, term_count) = extents.items()
    filled = grouping.terms * grouping.groups(term_count)
    array = _declared(build.temporary, "a_rows", dtype, {**extents, k: filled})
    with build.loops(**extents) as at, build.statement("turn_a"):
        *stack, row, term = at
        array[at] = element(row, term, *stack)
    if filled > term_count:
        with build.loops(**{**extents, k: filled - term_count}) as at, build.statement("pad_a"):
            array[(*at[:-1], at[-1] + term_count)] = 0
    return _read(array)


def _in_groups(
    build: KernelBuilder, element: Element, grouping: Grouping, extents: _Extents
) -> Element:
    """A copy of ``b`` in which some terms of a column lie side by side, for stacks, columns and
    terms of these extents; zeros fill the last group.
    """
    together = grouping.terms
    *outer, n, (_, term_count) = extents.items()
    groups = grouping.groups(term_count)
    shape = dict([*outer, ("group", groups), n, ("member", together)])
    array = _declared(build.temporary, "b_groups", grouping.type, shape)
    with build.loops(**shape) as at, build.statement("group_b"):
        *stack, group, column, member = at
        term = together * group + member
        with build.where(term < term_count):
            value = element(term, column, *stack)
            array[at] = cast(cast(value, i32) + grouping.shift, grouping.type)
    filling = together * groups - term_count
    if filling:
        with build.loops(**dict([*outer, n, ("filling", filling)])) as at, build.statement("pad_b"):
            *stack, column, member = at
            array[(*stack, groups - 1, column, together - filling + member)] = 0

    def member_of(row: Index, column: Index, *stack: Index) -> Expression:
        return array[(*stack, row // together, column, row % together)]

    return member_of


def _row_sums(
    build: KernelBuilder, element: Element, total: DType, extents: _Extents
) -> ArrayHandle:
    """The sum of each row of ``a``, which has rows and terms of these extents."""
    (m, row_count), (k, term_count) = extents.items()
    rows = build.temporary("rows", total, (row_count,), dimensions="row")
    with build.loops(**{m: row_count}) as row:
        with build.statement("init_rows"):
            rows[row] = 0
        with build.loops(**{k: term_count}) as term, build.statement("rows", order="any"):
            rows[row] += cast(element(row, term), total)
    return rows


def _read(array: ArrayHandle, is_transposed: bool = False) -> Element:
    """The elements of an array, which may be stored transposed."""

    def element(row: Index, column: Index, *stack: Index) -> Expression:
        return array[(*stack, *((column, row) if is_transposed else (row, column)))]

    return element


def _stack_names(stacks: tuple[Stack, ...]) -> Mapping[str, Stack]:
    """The name of each dimension of a stack: of arrays, and of the loop over it."""
    names = (f"{STACK}_{number}" if number > 1 else STACK for number in count(1))
    return dict(zip(names, stacks, strict=False))


STACK = "batch"
"""The name of the dimension of a stack, and how those of further ones begin."""


def stack_loops(kernel: Kernel) -> tuple[str, ...]:
    """The loops over the stack of a kernel of products, outermost first."""
    return kernel.statements["update"].indices[:-3]


def accumulator_of(dtype: DType) -> DType:
    """The type of the sums of products of ``dtype``: wider, for small integers."""
    return i32 if dtype.is_integer and dtype.bits < i32.bits else dtype


def sizes_of(kernel: Kernel) -> Sizes:
    """The sizes of a kernel that :func:`matmul_kernel` declared.

    Raises:
        KernelError: it is another kernel.
    """
    update = kernel.statements.get("update")
    extents = [] if update is None else [_extent(update, at) for at in range(len(update.indices))]
    if update is None or update.indices[-3:] != ("m", "n", "k") or None in extents:
        raise KernelError(
            f"kernel '{kernel.name}' is no matrix product; expected one of matmul_kernel()"
        )
    *outer, m, n, k = (extent or 0 for extent in extents)
    return Sizes(m, n, k, prod(outer))


def _extent(statement: Statement, position: int) -> int | None:
    """How often a loop from 0 runs; None if that depends on something."""
    last = greatest(statement.domain, position)
    return None if last is None else last + 1
