"""Where arrays live: arguments, register slots, the stack, or parts of one allocated workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polysched.codegen.evaluation import Evaluator
from polysched.codegen.intrinsics import declared
from polysched.codegen.memory import BYTE, CACHE_LINE, Storage, row_major
from polysched.codegen.subbyte.layout import bit_strides
from polysched.codegen.values import INDEX, element_type, stack_slot, vector_of
from polysched.ir.core.kernel import Array
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.linear import Intervals, linear_form

LARGEST_ON_STACK = 16 * 1024
"""Bytes of an array up to which it is placed on the stack."""

PAGE = 4096
"""Bytes to which each array of the workspace is aligned."""

LARGEST_SIZE = 2**62
"""Bytes that no allocation can have: what larger sizes are taken for."""

_INT32 = ir.IntType(32)


@dataclass(frozen=True, eq=False)
class Sized:
    """An array that needs memory: its strides in elements and its size in bytes, each a literal or
    an i64.
    """

    array: Array
    strides: tuple[Any, ...]
    size: Any

    @property
    def is_small(self) -> bool:
        """Whether it is placed on the stack."""
        return isinstance(self.size, int) and self.size <= LARGEST_ON_STACK


class Placement:
    """Computes sizes and places in one function, at the builder's position."""

    def __init__(self, builder: ir.IRBuilder, parameters: dict[str, Any], known: Intervals) -> None:
        self.builder = builder
        self.values = Evaluator(builder, parameters, {}, {}, known)

    def argument(self, array: Array, pointer: Any, alignment: int | None = None) -> Storage:
        """An array at a pointer, aligned to its elements if nothing else is known."""
        if array.is_packed:
            in_bits = bit_strides(self.builder, array, self._extents(array), self._multiply)
            return Storage(array, pointer, in_bits, alignment or 1)
        strides = (
            row_major(self._extents(array), self._multiply)
            if array.strides is None
            else self._numbers(array.strides)
        )
        return Storage(array, pointer, strides, alignment or array.dtype.bytes)

    def register(self, array: Array) -> Any:
        """A stack slot that LLVM turns into SSA values; of a register tile one a vector."""
        *vectors, lanes = (_literal(extent) for extent in (Constant(1), *array.shape))
        type_ = vector_of(element_type(array.dtype), lanes if array.shape else None)
        if len(array.shape) < 2:
            return stack_slot(self.builder, type_)
        return tuple(stack_slot(self.builder, type_) for _ in range(vectors[-1]))

    def sized(self, array: Array) -> Sized:
        """What memory a temporary or buffer needs."""
        extents = self._extents(array)
        size: Any = array.dtype.bytes
        for extent in extents:
            size = self.product(size, self._not_negative(extent))
        return Sized(array, row_major(extents, self._multiply), size)

    def on_stack(self, sized: Sized) -> Storage:
        """A small array, in the frame of the function."""
        slot = stack_slot(self.builder, ir.ArrayType(BYTE, max(sized.size, 1)))
        slot.align = CACHE_LINE
        own = sized.size // sized.array.dtype.bytes
        return Storage(sized.array, slot, sized.strides, CACHE_LINE, own)

    def total(self, arrays: list[Sized]) -> Any:
        """The bytes of all the arrays that are not small, each from a page's start: 0 or an i64."""
        return self._starts(arrays)[-1]

    def carved(self, arrays: list[Sized], workspace: Any) -> dict[str, Storage]:
        """The arrays that are not small, in a workspace of their total size."""
        large = [one for one in arrays if not one.is_small]
        return {
            one.array.name: Storage(
                one.array, self.behind(workspace, start), one.strides, CACHE_LINE
            )
            for one, start in zip(large, self._starts(arrays), strict=False)
        }

    def behind(self, pointer: Any, distance: Any) -> Any:
        """A pointer so many bytes further on."""
        return self.builder.gep(pointer, [_i64(distance)], inbounds=True, source_etype=BYTE)

    def _starts(self, arrays: list[Sized]) -> list[Any]:
        """Where each array that is not small begins, and where the last one ends."""
        starts: list[Any] = [0]
        for one in arrays:
            if not one.is_small:
                rounded = self.sum(_i64(one.size), INDEX(PAGE - 1))
                starts.append(self.sum(starts[-1], self.builder.and_(rounded, INDEX(-PAGE))))
        return starts

    def product(self, left: Any, right: Any) -> Any:
        """The product of two numbers of at least 0, or a huge one instead of an overflow."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left * right, LARGEST_SIZE)
        signature = ir.FunctionType(INDEX, [INDEX, INDEX, _INT32])
        multiply = declared(self.builder.module, "llvm.smul.fix.sat.i64", signature)
        return self.builder.call(multiply, [_i64(left), _i64(right), _INT32(0)])

    def sum(self, left: Any, right: Any) -> Any:
        """The sum of two numbers, or the largest of all instead of an overflow."""
        return self._of_two("llvm.sadd.sat.i64", left, right)

    def larger(self, left: Any, right: Any) -> Any:
        """The larger of two i64."""
        return self._of_two("llvm.smax.i64", left, right)

    def smaller(self, left: Any, right: Any) -> Any:
        """The smaller of two i64."""
        return self._of_two("llvm.smin.i64", left, right)

    def _of_two(self, name: str, left: Any, right: Any) -> Any:
        function = declared(self.builder.module, name, ir.FunctionType(INDEX, [INDEX, INDEX]))
        return self.builder.call(function, [_i64(left), _i64(right)])

    def _multiply(self, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        return self.builder.mul(_i64(left), _i64(right))

    def _extents(self, array: Array) -> tuple[Any, ...]:
        """The extents of an array, each a literal or an i64; below 0 where nothing runs, maybe."""
        return self._numbers(array.stored_shape)

    def _numbers(self, expressions: Sequence[Expression]) -> tuple[Any, ...]:
        """The values of expressions over the parameters, each a literal or an i64."""
        forms = [linear_form(one, self.values.known) for one in expressions]
        return tuple(
            form.constant if form.is_constant else self.values.index(form.expression())
            for form in forms
        )

    def _not_negative(self, extent: Any) -> Any:
        return max(extent, 0) if isinstance(extent, int) else self.larger(extent, 0)


def _literal(extent: Expression) -> int:
    assert isinstance(extent, Constant)
    return int(extent.value)


def _i64(number: Any) -> Any:
    """An i64 of a literal or an i64."""
    return INDEX(number) if isinstance(number, int) else number
