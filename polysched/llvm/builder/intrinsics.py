"""Calls of LLVM's intrinsics and constants, the same for scalars and for vectors."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from llvmlite import ir
from llvmlite.ir.values import ArgumentAttributes


def intrinsic(builder: ir.IRBuilder, name: str, operands: list[Any], flags: Any = ()) -> Any:
    """A call of an overloaded intrinsic whose operands and result have one type."""
    type_ = operands[0].type
    suffix = mangled(type_)
    function_type = ir.FunctionType(type_, [operand.type for operand in operands])
    function = declared(builder.module, f"llvm.{name}.{suffix}", function_type)
    return builder.call(function, operands, fastmath=flags)


def emit_prefetch(builder: ir.IRBuilder, pointer: Any, level: int) -> None:
    """Ask for the data of a cache line, for reading, to be in the cache of a level from 1 to 3.

    LLVM counts the other way: 3 keeps a line in all caches, 1 only in the farthest.
    """
    number = ir.IntType(32)
    types = [pointer.type, number, number, number]
    function_type = ir.FunctionType(ir.VoidType(), types)
    function = declared(builder.module, f"llvm.prefetch.{mangled(pointer.type)}", function_type)
    builder.call(function, [pointer, number(0), number(4 - level), number(1)])


def declared(module: ir.Module, name: str, type_: ir.FunctionType) -> ir.Function:
    """The declaration of a function in the module, made once."""
    found = module.globals.get(name)
    return found if found is not None else ir.Function(module, type_, name)


def aligned(call: Any, operand: int, alignment: int) -> Any:
    """A call with what is known of the alignment of a pointer that it is given."""
    attributes = ArgumentAttributes()
    attributes.align = alignment
    call.arg_attributes[operand] = attributes
    return call


def mangled(type_: Any) -> str:
    """The name of a type in an intrinsic's name."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{mangled(type_.element)}"
    if isinstance(type_, ir.PointerType):
        return "p0"
    if isinstance(type_, ir.IntType):
        return f"i{type_.width}"
    return "f32" if isinstance(type_, ir.FloatType) else "f64"


def element_bits(type_: Any) -> int:
    """The bits of an element of a vector type, or of a number of any other."""
    element = type_.element if isinstance(type_, ir.VectorType) else type_
    if isinstance(element, ir.IntType):
        return int(element.width)
    return 64 if isinstance(element, ir.DoubleType) else 32


class Splat(ir.Constant):  # type: ignore[misc]  # llvmlite is untyped
    """A vector with one constant in every lane, in LLVM's short form."""

    def __init__(self, lane: Any, lanes: int) -> None:
        super().__init__(vector_type(lane.type, lanes), [lane] * lanes)
        self.lane = lane

    def _get_reference(self) -> str:
        return f"splat ({self.lane})"


class Free(ir.Constant):  # type: ignore[misc]
    """A vector whose lanes may hold anything, in LLVM's short form."""

    def __init__(self, type_: Any) -> None:
        super().__init__(type_, ir.Undefined)

    def _get_reference(self) -> str:
        return "poison"


@lru_cache(maxsize=512)
def vector_type(element: Any, lanes: int) -> Any:
    """The type of a vector: one object for all who ask, because llvmlite keeps its text."""
    return ir.VectorType(element, lanes)


@lru_cache(maxsize=512)
def free(type_: Any) -> Any:
    """A vector whose lanes may hold anything."""
    return Free(type_)


@lru_cache(maxsize=512)
def zeros(type_: Any) -> Any:
    """A vector of zeros."""
    return constant(type_, 0)


def fenced(builder: ir.IRBuilder, vector: Any) -> Any:
    """A vector as it is, but LLVM does not know what made it; one of less than 32 bits it does.

    LLVM has such a fence for floating-point numbers, of which it changes no bit.
    """
    own = vector.type
    words, rest = divmod(own.count * element_bits(own), 32)
    if rest:
        return vector
    type_ = vector_type(ir.FloatType(), words)
    made = intrinsic(builder, "arithmetic.fence", [builder.bitcast(vector, type_)])
    return builder.bitcast(made, own)


@lru_cache(maxsize=4096)
def integers(bits: int, values: tuple[int, ...]) -> Any:
    """A constant vector of integers of so many bits.

    It is one object for all who ask for it, because llvmlite keeps the text of an object: a network
    of shuffles names the same few masks again and again.
    """
    type_ = ir.IntType(bits)
    if len(set(values)) == 1:
        return Splat(type_(values[0]), len(values))
    return ir.Constant(vector_type(type_, len(values)), [type_(one) for one in values])


def active_lanes(mask: Any) -> list[int] | None:
    """The lanes that a mask lets through, if it is a literal."""
    if not isinstance(mask, ir.Constant) or not isinstance(mask.constant, list):
        return None
    return [lane for lane, one in enumerate(mask.constant) if one.constant]


def lane_numbers(count: int) -> Any:
    """The vector 0, 1, 2, ... of i64."""
    return integers(64, tuple(range(count)))


def mask_of(active: Iterable[bool]) -> Any:
    """The mask of the lanes that are active, a bit for each."""
    return integers(1, tuple(map(int, active)))


def all_lanes(count: int) -> Any:
    """The mask with every lane active."""
    return mask_of([True] * count)


def shuffled(builder: ir.IRBuilder, first: Any, second: Any, lanes: Iterable[int]) -> Any:
    """A vector of lanes of two others, counted through both."""
    return builder.shuffle_vector(first, second, integers(32, tuple(lanes)))


def constant(type_: Any, value: float) -> Any:
    """A number as a constant of a type; of a vector type, in every lane."""
    if isinstance(type_, ir.VectorType):
        return Splat(ir.Constant(type_.element, value), type_.count)
    return ir.Constant(type_, value)
