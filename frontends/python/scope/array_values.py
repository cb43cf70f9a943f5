"""Whole arrays in expressions: views and elementwise results, evaluated element by element.

An `ArrayValue` computes nothing when it is made: ``at(indices)`` is the value of one element. So
``0.25 * (a[:-2] + a[2:])`` needs no temporary; the statement that stores it evaluates one element
in each iteration. Elementwise functions are functions of `Value`, so arrays and numbers have the
same type rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TypeAlias

from polysched.errors import KernelError
from polysched.frontends.python.values.value import Value
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.functions import cast, equal
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.traversal import walk

Subscripts: TypeAlias = tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class ArrayValue:
    """An array: a view of a declared array, or the result of elementwise functions.

    Attributes:
        shape: the extents, over sizes and the indices of the enclosing loops. An extent below 0
            counts as 0.
        dtype: the type of its elements, which are numpy scalars.
        at: the value of the element with the given indices.
        base: the declared array, if this is a view.
        place: the subscripts in ``base`` of the element with the given indices, if this is a view.
        is_undefined: whether it is the result of ``np.empty``, whose elements must not be read.
    """

    shape: Subscripts
    dtype: DType
    at: Callable[[Subscripts], Value]
    base: ArrayHandle | None = None
    place: Callable[[Subscripts], Subscripts] | None = None
    is_undefined: bool = False

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


Operand: TypeAlias = Value | ArrayValue


def whole(handle: ArrayHandle, shape: Subscripts | None = None) -> ArrayValue:
    """A declared array as a view of itself; ``shape`` if only a corner of it is meant."""
    extents = handle.array.shape if shape is None else shape
    return ArrayValue(
        extents, handle.array.dtype, lambda indices: Value(handle[indices]), handle, lambda i: i
    )


def viewed(
    array: ArrayValue, shape: Subscripts, outer: Callable[[Subscripts], Subscripts]
) -> ArrayValue:
    """The array of another shape whose element at ``indices`` is ``array``'s at ``outer(indices)``.

    The result is a view if ``array`` is a view.
    """
    place = array.place
    if place is None:
        return ArrayValue(shape, array.dtype, lambda indices: array.at(outer(indices)))
    inner = place  # mypy does not narrow the attribute inside of the function
    return ArrayValue(
        shape,
        array.dtype,
        lambda indices: array.at(outer(indices)),
        array.base,
        lambda indices: inner(outer(indices)),
    )


def element(array: ArrayValue, index: Expression) -> Operand:
    """``array[index]``: a number, or a view with one dimension less."""
    if array.rank == 1:
        return array.at((index,))
    return viewed(array, array.shape[1:], lambda indices: (index, *indices))


def mapped(build: KernelBuilder, function: Callable[..., Value], *operands: Operand) -> Operand:
    """Apply a function of numbers to numbers and arrays, which are broadcast as numpy does."""
    arrays = [operand for operand in operands if isinstance(operand, ArrayValue)]
    if not arrays:
        return function(*operands)
    for array in arrays:
        require_defined(array)
    shape = broadcast(build, [array.shape for array in arrays])
    sample = function(*(_sample(operand) for operand in operands))

    def at(indices: Subscripts) -> Value:
        parts = (
            operand.at(selected(operand.shape, indices))
            if isinstance(operand, ArrayValue)
            else operand
            for operand in operands
        )
        return function(*parts)

    return ArrayValue(shape, sample.dtype, at)


def cast_to(build: KernelBuilder, operand: Operand, dtype: DType) -> Operand:
    """Convert a number or an array to another type, element by element."""
    return mapped(build, lambda value: Value(cast(value.expression, dtype)), operand)


def require_defined(array: ArrayValue) -> None:
    """Check that an array has elements that can be read."""
    if array.is_undefined:
        raise KernelError("np.empty has no values; assign it to a name and write its elements")


def selected(shape: Subscripts, indices: Subscripts) -> Subscripts:
    """The indices, in an array of a shape, of the element that broadcasts to ``indices``."""
    last = indices[len(indices) - len(shape) :]
    return tuple(
        Constant(0) if is_one(extent) else index for extent, index in zip(shape, last, strict=True)
    )


def broadcast(build: KernelBuilder, shapes: Sequence[Subscripts]) -> Subscripts:
    """The shape to which numpy broadcasts arrays.

    If it depends on the sizes whether two extents are equal, the kernel assumes that they are:
    every call checks it.
    """
    return reduce(lambda first, second: _broadcast_two(build, first, second), shapes)


def _broadcast_two(build: KernelBuilder, first: Subscripts, second: Subscripts) -> Subscripts:
    rank = max(len(first), len(second))
    padded = [(*[Constant(1)] * (rank - len(shape)), *shape) for shape in (first, second)]
    result: list[Expression] = []
    for left, right in zip(*padded, strict=True):
        if is_one(left) or is_one(right):
            result.append(right if is_one(left) else left)
            continue
        if not require_same(build, left, right):
            raise KernelError(
                f"shapes {shape_text(first)} and {shape_text(second)} do not broadcast: "
                f"{left} and {right} differ"
            )
        result.append(left)
    return tuple(result)


def require_same(build: KernelBuilder, left: Expression, right: Expression) -> bool:
    """Whether two extents are equal; if the sizes decide it, assume so and let every call check."""
    left, right = tidy(left), tidy(right)
    if left == right:
        return True
    same = equal(left, right)
    if always(build, same):
        return True
    if always(build, ~same) or any(isinstance(n, Index) for e in (left, right) for n in walk(e)):
        return False
    build.assume(same)
    return True


def always(build: KernelBuilder, condition: Expression) -> bool:
    """Whether a condition provably holds in every instance of a statement declared here."""
    try:
        with build.where(~condition):
            return not build.is_reached()
    except KernelError:
        return False


def possible(build: KernelBuilder, conditions: Sequence[Expression]) -> bool:
    """Whether all conditions may hold together for an instance of a statement declared here."""
    try:
        with build.where(reduce(and_, conditions)):
            return build.is_reached()
    except KernelError:
        return True


def is_one(extent: Expression) -> bool:
    """Whether an extent is the literal 1, which broadcasts."""
    return isinstance(extent, Constant) and extent.value == 1


def tidy(expression: Expression) -> Expression:
    """An integer expression with its terms collected: ``n - 2`` for ``n - 1 - 1``."""
    return linear_form(expression, {}).expression()


def shape_text(shape: Sequence[Expression]) -> str:
    """A shape as messages show it: ``(n, m - 2)``."""
    inside = ", ".join(str(tidy(extent)).removeprefix("(").removesuffix(")") for extent in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


def _sample(operand: Operand) -> Value:
    """A number of an operand's type, which is no literal."""
    if isinstance(operand, Value):
        return operand
    return Value(Load("sample", (), operand.dtype))
