"""The types in which a program's integers are computed and its temporaries are stored.

C holds intermediate results in `int` variables, which become temporaries. If the values of a
temporary provably fit a narrower type, it is stored in that type, and computations with it take
fewer vectors. The autoscheduler chooses the lanes by the same types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.dtypes import DType, i8, i16, i32, u8, u16, u32
from polysched.ir.expr.expressions import Cast, Expression, Load
from polysched.ir.expr.narrowing import narrowed_value
from polysched.ir.expr.traversal import loads, transform
from polysched.ir.expr.value_ranges import Range, Write, is_within, temporary_ranges, type_range

_NARROW_TYPES = (u8, i8, u16, i16, u32, i32)


@dataclass(frozen=True)
class NarrowTypes:
    """How values may be narrowed.

    Attributes:
        types: of the temporaries that are stored in a narrower type than declared.
        ranges: of the values of temporaries.
        scalars: arguments without dimensions.
    """

    types: Mapping[str, DType]
    ranges: Mapping[str, Range]
    scalars: Set[str]

    def value(self, value: Expression, array: Array) -> Expression:
        """The value that is assigned to an array, for the array's type after narrowing."""
        if self.types:
            value = transform(value, self._widened)
        if not array.dtype.is_integer or array.is_packed:
            return value
        target = self.types.get(array.name, array.dtype)
        if target != array.dtype:
            value = Cast(value, target)
        return narrowed_value(value, target, self._range, self.scalars)

    def _range(self, load: Load) -> Range:
        return self.ranges.get(load.array, type_range(load.type))

    def _widened(self, node: Expression) -> Expression | None:
        """A load of a narrow temporary as its declared type."""
        if not isinstance(node, Load) or node.array not in self.types:
            return None
        return Cast(replace(node, type=self.types[node.array]), node.type)


def narrow_types(
    arrays: Mapping[str, Array], writes: Sequence[Write], fixed: Iterable[str] = ()
) -> NarrowTypes:
    """Find the types in which a program's integers may be computed.

    Args:
        writes: all assignments of the program.
        fixed: arrays that keep their types, beside those that subscripts read.
    """
    places = {
        inner.array
        for write in writes
        for load in loads(write.value)
        for subscript in load.subscripts
        for inner in loads(subscript)
    }
    kept = {*fixed, *places}
    declared = {
        name: array.dtype
        for name, array in arrays.items()
        if array.role is Role.TEMPORARY
        and array.dtype.is_integer
        and not array.dtype.is_odd_width
        and array.values is None
        and name not in kept
    }
    ranges = temporary_ranges(declared, writes) if declared else {}
    types = {}
    for name, found in ranges.items():
        narrow = next((dtype for dtype in _NARROW_TYPES if is_within(found, dtype)), declared[name])
        if narrow.bits < declared[name].bits:
            types[name] = narrow
    scalars = frozenset(
        name
        for name, array in arrays.items()
        if not array.shape and array.role is not Role.TEMPORARY
    )
    return NarrowTypes(types, ranges, scalars)
