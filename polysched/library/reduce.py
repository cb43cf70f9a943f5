"""Sums, products, extrema and dot products along an axis of a matrix.

Along the last axis lanes are terms of one result, and partial results are reduced at the end of a
row. Along the first axis lanes are results. Threads share a large matrix by results if there are
enough of them, else by terms with partial results for each thread.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, as_dtype, f32
from polysched.ir.expr.expressions import Constant, Index, operation
from polysched.ir.expr.neutral import neutral_element
from polysched.ir.expr.operators import Operator
from polysched.library.axes import along, declare_reduction, size_of
from polysched.library.extents import require_sizes
from polysched.machine.description import Machine
from polysched.machine.load import as_machine

if TYPE_CHECKING:
    from polysched.user import Schedule


class Combine(enum.Enum):
    """The operation that combines the elements along the axis."""

    SUM = "sum"
    PRODUCT = "product"
    MAXIMUM = "max"
    MINIMUM = "min"
    DOT = "dot"


class Axis(enum.Enum):
    """The axis of the matrix that is reduced."""

    FIRST = "first"
    LAST = "last"


_Choice = TypeVar("_Choice", Combine, Axis)

_OPERATORS: Mapping[Combine, Operator] = MappingProxyType(
    {
        Combine.SUM: Operator.ADD,
        Combine.PRODUCT: Operator.MULTIPLY,
        Combine.MAXIMUM: Operator.MAXIMUM,
        Combine.MINIMUM: Operator.MINIMUM,
        Combine.DOT: Operator.ADD,
    }
)


def reduce_kernel(
    combine: Combine | str,
    results: int,
    terms: int,
    *,
    axis: Axis | str = Axis.LAST,
    dtype: DType | str = f32,
) -> Kernel:
    """Declare ``out[result] = combine over term of x``; terms are combined in any order.

    Arrays, C-contiguous: ``x[results, terms]`` for the last axis, ``x[terms, results]`` for the
    first, for a dot product ``y`` of the same shape, and ``out[results]``. The statements are
    ``init`` and ``update``. Without terms the result is 0 (sum, dot product), 1 (product), or
    the neutral element (maximum, minimum): infinity, or the first or last integer. NaN makes any
    result NaN, as in numpy. Integers wrap around.

    Args:
        combine: the operation, or its name, such as ``"max"``.
        results: the number of results.
        terms: the number of terms of each.
        axis: the axis that is reduced, or its name, ``"first"`` or ``"last"``.
        dtype: elements of all arrays.

    Raises:
        KernelError: a size is negative, or there is no such combination or axis.
    """
    combine, axis = _named(Combine, combine), _named(Axis, axis)
    dtype = as_dtype(dtype)
    require_sizes("reduce", results=results, terms=terms)
    is_last = axis is Axis.LAST
    shape, names = (
        ((results, terms), "result term") if is_last else ((terms, results), "term result")
    )
    build = KernelBuilder(f"reduce_{combine.value}")
    x = build.input("x", dtype, shape, dimensions=names)
    y = build.input("y", dtype, shape, dimensions=names) if combine is Combine.DOT else None
    out = build.output("out", dtype, (results,), dimensions="at")
    operator = _OPERATORS[combine]
    start = Constant(0, dtype) if operator is Operator.ADD else neutral_element(operator, dtype)

    def begin(result: Index) -> None:
        out[result] = start

    def update(result: Index, term: Index) -> None:
        at = (result, term) if is_last else (term, result)
        value = x[at] if y is None else x[at] * y[at]
        out[result] = operation(operator, out[result], value)

    declare_reduction(build, results, terms, begin, update, along_rows=is_last)
    return build.kernel()


def _named(kind: type[_Choice], value: _Choice | str) -> _Choice:
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(repr(member.value) for member in kind)
        raise KernelError(
            f"reduce: {kind.__name__.lower()}={value!r} is not known; expected one of {names}"
        ) from None


def reduce_schedule(
    kernel: Kernel, machine: Machine | str | None = None, threads: int = 1
) -> Schedule:
    """Schedule a kernel of :func:`reduce_kernel`.

    Args:
        kernel: the kernel.
        machine: the machine that the schedule is for: a description, the name of a preset, or a
            file; by default this machine.
        threads: the number of threads; a small matrix uses a single thread.

    Raises:
        ScheduleError: it is another kernel, or there are no threads.
        MachineError: there is no such machine.
    """
    return along(kernel, "x", size_of(kernel, "x", "reduce_kernel", as_machine(machine), threads))
