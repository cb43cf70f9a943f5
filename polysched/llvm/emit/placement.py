"""Place arrays in arguments, registers, the stack, or parts of an allocated workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polysched.ir.core.kernel import Array
from polysched.ir.expr.expressions import Constant, Expression
from polysched.llvm.builder.intrinsics import declared
from polysched.llvm.emit.evaluation import Evaluator, Slots
from polysched.llvm.memory.arrays import BYTE, Storage
from polysched.llvm.memory.packed_layout import bit_strides
from polysched.llvm.values.expressions import INDEX, element_type, stack_slot, vector_of
from polysched.vector.classify import CACHE_LINE, row_major
from polysched.vector.ir import Frame, VectorProgram
from polysched.vector.values import Sum

PAGE = 4096
"""Alignment of each array of the workspace in bytes."""

LARGEST_SIZE = 2**62
"""Size in bytes that no allocation reaches; larger sizes saturate at this value."""

_INT32 = ir.IntType(32)


@dataclass(frozen=True, eq=False)
class Sized:
    """An array in memory: strides in elements and size in bytes, each a literal or an i64."""

    array: Array
    strides: tuple[Any, ...]
    size: Any


class Placement:
    """Compute sizes and addresses of arrays in one function, at the builder's position."""

    def __init__(
        self, builder: ir.IRBuilder, parameters: Mapping[str, ir.Value], program: VectorProgram
    ) -> None:
        self.builder = builder
        self.program = program
        self.values = Evaluator(builder, parameters, {}, {})

    def argument(self, name: str, pointer: ir.Value) -> Storage:
        """The storage of an array at a pointer."""
        array, layout = self.program.arrays[name], self.program.layouts[name]
        extents = self._numbers(layout.extents)
        if array.is_packed:
            in_bits = bit_strides(self.builder, array, extents, self._multiply)
            return Storage(array, pointer, in_bits)
        if layout.strides is None:
            return Storage(array, pointer, row_major(extents, 1, self._multiply))
        return Storage(array, pointer, self._numbers(layout.strides))

    def registers(self, frame: Frame) -> dict[str, Slots]:
        """The stack slots of a function's register arrays, which LLVM promotes to SSA values."""
        return {name: self._register(self.program.arrays[name]) for name in frame.registers}

    def _register(self, array: Array) -> Slots:
        *vectors, lanes = (_literal(extent) for extent in (Constant(1), *array.shape))
        type_ = vector_of(element_type(array.dtype), lanes if array.shape else None)
        count = vectors[-1] if len(array.shape) == 2 else 1
        return tuple(stack_slot(self.builder, type_) for _ in range(count))

    def on_stack(self, frame: Frame) -> dict[str, Storage]:
        """Allocate the arrays on a function's stack."""
        storages = {}
        for sized in map(self._sized, frame.stack):
            slot = stack_slot(self.builder, ir.ArrayType(BYTE, max(sized.size, 1)))
            slot.align = CACHE_LINE
            storages[sized.array.name] = Storage(sized.array, slot, sized.strides)
        return storages

    def on_heap(self, frame: Frame) -> list[Sized]:
        """The arrays of a function that are parts of the workspace."""
        return [self._sized(name) for name in frame.heap]

    def total(self, arrays: Sequence[Sized]) -> Any:
        """The bytes of the workspace for arrays, each at the start of a page: 0 or an i64."""
        return self._starts(arrays)[-1]

    def carved(self, arrays: Sequence[Sized], workspace: ir.Value) -> dict[str, Storage]:
        """Place arrays in a workspace of their total size."""
        return {
            sized.array.name: Storage(sized.array, self.behind(workspace, start), sized.strides)
            for sized, start in zip(arrays, self._starts(arrays), strict=False)
        }

    def behind(self, pointer: ir.Value, distance: Any) -> ir.Value:
        """Add ``distance`` bytes to a pointer."""
        return self.builder.gep(pointer, [_i64(distance)], inbounds=True, source_etype=BYTE)

    def _sized(self, name: str) -> Sized:
        array = self.program.arrays[name]
        extents = self._numbers(self.program.layouts[name].extents)
        size: Any = array.dtype.bytes
        for extent in extents:
            size = self.product(size, self._not_negative(extent))
        return Sized(array, row_major(extents, 1, self._multiply), size)

    def _starts(self, arrays: Sequence[Sized]) -> list[Any]:
        """The start of each array, and the end of the last array."""
        starts: list[Any] = [0]
        for sized in arrays:
            rounded = self.sum(_i64(sized.size), INDEX(PAGE - 1))
            starts.append(self.sum(starts[-1], self.builder.and_(rounded, INDEX(-PAGE))))
        return starts

    def pages(self, size: Any) -> Any:
        """The bytes of an array in whole pages, at least one page; they saturate."""
        rounded = self.sum(_i64(size), INDEX(2 * PAGE - 1))
        return self.builder.and_(rounded, INDEX(-PAGE))

    def product(self, left: Any, right: Any) -> Any:
        """The saturating product of two numbers that are at least 0."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left * right, LARGEST_SIZE)
        signature = ir.FunctionType(INDEX, [INDEX, INDEX, _INT32])
        multiply = declared(self.builder.module, "llvm.smul.fix.sat.i64", signature)
        return self.builder.call(multiply, [_i64(left), _i64(right), _INT32(0)])

    def sum(self, left: Any, right: Any) -> ir.Value:
        """The saturating sum of two numbers."""
        return self._of_two("llvm.sadd.sat.i64", left, right)

    def larger(self, left: Any, right: Any) -> ir.Value:
        """The larger of two i64."""
        return self._of_two("llvm.smax.i64", left, right)

    def smaller(self, left: Any, right: Any) -> ir.Value:
        """The smaller of two i64."""
        return self._of_two("llvm.smin.i64", left, right)

    def _of_two(self, name: str, left: Any, right: Any) -> ir.Value:
        function = declared(self.builder.module, name, ir.FunctionType(INDEX, [INDEX, INDEX]))
        return self.builder.call(function, [_i64(left), _i64(right)])

    def _multiply(self, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        return self.builder.mul(_i64(left), _i64(right))

    def _numbers(self, sums: Sequence[Sum]) -> tuple[Any, ...]:
        return tuple(self.values.index(form) if form.terms else form.constant for form in sums)

    def _not_negative(self, extent: Any) -> Any:
        return max(extent, 0) if isinstance(extent, int) else self.larger(extent, 0)


def _literal(extent: Expression) -> int:
    assert isinstance(extent, Constant)
    return int(extent.value)


def _i64(number: Any) -> ir.Value:
    return INDEX(number) if isinstance(number, int) else number
