"""Calls of LLVM's intrinsics, and constants, for scalars and for vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from llvmlite import ir
from llvmlite.ir.values import ArgumentAttributes


def intrinsic(builder: ir.IRBuilder, name: str, operands: list[Any], flags: Any = ()) -> Any:
    """Call an overloaded intrinsic whose operands and result have the same type."""
    type_ = operands[0].type
    suffix = mangled(type_)
    function_type = ir.FunctionType(type_, [operand.type for operand in operands])
    function = declared(builder.module, f"llvm.{name}.{suffix}", function_type)
    return builder.call(function, operands, fastmath=flags)


def emit_prefetch(builder: ir.IRBuilder, pointer: Any, level: int) -> None:
    """Prefetch a cache line for reading into the cache of a level from 1 to 3.

    LLVM's locality counts in the other direction: 3 keeps a line in all caches, 1 only in the
    last-level cache.
    """
    number = ir.IntType(32)
    types = [pointer.type, number, number, number]
    function_type = ir.FunctionType(ir.VoidType(), types)
    function = declared(builder.module, f"llvm.prefetch.{mangled(pointer.type)}", function_type)
    builder.call(function, [pointer, number(0), number(4 - level), number(1)])


def declared(module: ir.Module, name: str, type_: ir.FunctionType) -> ir.Function:
    """The declaration of a function in the module; added at the first use."""
    function = module.globals.get(name)
    return function if function is not None else ir.Function(module, type_, name)


def aligned(call: Any, operand: int, alignment: int) -> Any:
    """Annotate a call with the alignment of one of its pointer arguments."""
    attributes = ArgumentAttributes()
    attributes.align = alignment
    call.arg_attributes[operand] = attributes
    return call


def mangled(type_: Any) -> str:
    """The suffix of a type in an intrinsic's name."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{mangled(type_.element)}"
    if isinstance(type_, ir.PointerType):
        return "p0"
    if isinstance(type_, ir.IntType):
        return f"i{type_.width}"
    return "f32" if isinstance(type_, ir.FloatType) else "f64"


def element_bits(type_: Any) -> int:
    """The bits of an element of a vector type, or of a scalar type."""
    element = type_.element if isinstance(type_, ir.VectorType) else type_
    if isinstance(element, ir.IntType):
        return int(element.width)
    return 64 if isinstance(element, ir.DoubleType) else 32


class Splat(ir.Constant):  # type: ignore[misc]  # llvmlite is untyped
    """A vector with the same constant in every lane, in LLVM's short form."""

    def __init__(self, lane: Any, lanes: int) -> None:
        super().__init__(vector_type(lane.type, lanes), [lane] * lanes)
        self.lane = lane

    def _get_reference(self) -> str:
        return f"splat ({self.lane})"


def literal_value(value: Any) -> float | None:
    """The value of a literal scalar, or of a vector of equal literals; None for other values."""
    constant = value.lane if isinstance(value, Splat) else value
    if not isinstance(constant, ir.Constant) or isinstance(constant.type, ir.VectorType):
        return None
    return float(constant.constant)


class Free(ir.Constant):  # type: ignore[misc]
    """A vector with undefined lanes, in LLVM's short form."""

    def __init__(self, type_: Any) -> None:
        super().__init__(type_, ir.Undefined)

    def _get_reference(self) -> str:
        return "poison"


@lru_cache(maxsize=512)
def vector_type(element: Any, lanes: int) -> Any:
    """The type of a vector. Equal types are the same object, because llvmlite caches its text."""
    return ir.VectorType(element, lanes)


@lru_cache(maxsize=512)
def free(type_: Any) -> Any:
    """A vector with undefined lanes."""
    return Free(type_)


@lru_cache(maxsize=512)
def zeros(type_: Any) -> Any:
    """A vector of zeros."""
    return constant(type_, 0)


def fenced(builder: ir.IRBuilder, vector: Any) -> Any:
    """Hide the origin of a vector from LLVM; vectors of less than 32 bits are returned unchanged.

    LLVM's ``arithmetic.fence`` takes floating-point vectors, and changes no bit of them.
    """
    own = vector.type
    words, rest = divmod(own.count * element_bits(own), 32)
    if rest:
        return vector
    type_ = vector_type(ir.FloatType(), words)
    result = intrinsic(builder, "arithmetic.fence", [builder.bitcast(vector, type_)])
    return builder.bitcast(result, own)


@lru_cache(maxsize=4096)
def integers(bits: int, values: tuple[int, ...]) -> Any:
    """A constant vector of integers of ``bits`` bits.

    Equal vectors are the same object, because llvmlite caches the text of an object, and a shuffle
    network uses the same few masks repeatedly.
    """
    type_ = ir.IntType(bits)
    if len(set(values)) == 1:
        return Splat(type_(values[0]), len(values))
    return ir.Constant(vector_type(type_, len(values)), [type_(value) for value in values])


def active_lanes(mask: Any) -> list[int] | None:
    """The active lanes of a literal mask; None for other masks."""
    if not isinstance(mask, ir.Constant) or not isinstance(mask.constant, list):
        return None
    return [lane for lane, bit in enumerate(mask.constant) if bit.constant]


def lane_numbers(count: int) -> Any:
    """The vector 0, 1, 2, ... of i64."""
    return integers(64, tuple(range(count)))


def mask_of(active: Iterable[bool]) -> Any:
    """The mask of the active lanes, one bit per lane."""
    return integers(1, tuple(map(int, active)))


def all_lanes(count: int) -> Any:
    """The mask with every lane active."""
    return mask_of([True] * count)


def shuffled(builder: ir.IRBuilder, first: Any, second: Any, lanes: Iterable[int | None]) -> Any:
    """Select lanes of two vectors; lane numbers count through both vectors.

    None leaves a lane undefined, so that LLVM may choose the cheapest instructions for the others.
    """
    return builder.shuffle_vector(first, second, _lane_selection(tuple(lanes)))


@lru_cache(maxsize=4096)
def _lane_selection(lanes: tuple[int | None, ...]) -> Any:
    """The mask of a shuffle."""
    known = tuple([lane for lane in lanes if lane is not None])
    if len(known) == len(lanes):
        return integers(32, known)
    number = ir.IntType(32)
    numbers = [number(ir.Undefined if lane is None else lane) for lane in lanes]
    return ir.Constant(vector_type(number, len(lanes)), numbers)


def in_parts(builder: ir.IRBuilder, lanes: int, function: Callable[..., Any], *vectors: Any) -> Any:
    """Apply a function to each ``lanes`` lanes of vectors, whose length is 2^k times as many."""
    count = vectors[0].type.count
    results = []
    for start in range(0, count, lanes):
        taken = range(start, start + lanes)
        parts = vectors if count == lanes else [shuffled(builder, v, v, taken) for v in vectors]
        results.append(function(*parts))
    while len(results) > 1:
        joined = range(2 * results[0].type.count)
        pairs = zip(results[::2], results[1::2], strict=True)
        results = [shuffled(builder, *pair, joined) for pair in pairs]
    return results[0]


def constant(type_: Any, value: float) -> Any:
    """A number as a constant of a type; in every lane for a vector type."""
    if isinstance(type_, ir.VectorType):
        return Splat(ir.Constant(type_.element, value), type_.count)
    return ir.Constant(type_, value)
