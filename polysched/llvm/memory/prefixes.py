"""Load and store the first elements of a vector on processors without masks for its elements.

AVX2 masks elements of 32 and 64 bits only. LLVM tests every lane of a masked load of bytes, with a
branch and an instruction for each. Here ``n`` bytes move by two loads or stores of the largest
power of two up to ``n``, one from the beginning and one to the end, as in the C library's
``memcpy``. They touch no byte that the mask excludes. The bytes in the middle move twice.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.function_builder import new_function
from polysched.llvm.builder.intrinsics import element_bits, shuffled, vector_type, zeros

LARGEST = 64
"""Bytes of the longest vector that the functions here move."""
PIECES = 16
"""Bytes of the longest vector that moves in two pieces of general registers."""
_Emit = Callable[[ir.IRBuilder, Any, Any], None]
"""Emits a function; the last argument is the function for half as many bytes, or None."""
_BYTE, _SIZE, _POINTER, _VOID = ir.IntType(8), ir.IntType(64), ir.PointerType(), ir.VoidType()


def masks_elements(features: Set[str], bits: int) -> bool:
    """Whether masked loads and stores of elements of ``bits`` bits need no branch for each lane.

    Vectors of SSE have at most four elements of 32 bits, which a call would not make cheaper.
    """
    return bits >= 32 or "avx512bw" in features or "sve" in features


@dataclass(frozen=True)
class Prefixes:
    """Loads and stores of the first elements, by functions of the module.

    A call keeps remainders short: a statement has one for each of its accesses.

    Attributes:
        features: LLVM's names of the instruction sets of the processor.
    """

    builder: ir.IRBuilder
    features: Set[str]

    def moves(self, type_: Any) -> bool:
        """Whether a vector has to be moved by these functions, and has a size that they move."""
        size, rest = divmod(element_bits(type_) * int(type_.count), 8)
        is_size = rest == 0 and 2 <= size <= LARGEST and size & (size - 1) == 0
        return is_size and not masks_elements(self.features, element_bits(type_))

    def load(self, pointer: Any, type_: Any, number: Any) -> Any:
        """Load the first ``number`` elements, an i8, of a vector; the others become 0."""
        function = self._function("load", _size(type_), _emit_load)
        loaded = self.builder.call(function, [pointer, _bytes(self.builder, type_, number)])
        return self.builder.bitcast(loaded, type_)

    def store(self, vector: Any, pointer: Any, number: Any) -> None:
        """Store the first ``number`` elements, an i8, of a vector."""
        size = _size(vector.type)
        function = self._function("store", size, _emit_store)
        stored = self.builder.bitcast(vector, vector_type(_BYTE, size))
        self.builder.call(function, [pointer, _bytes(self.builder, vector.type, number), stored])

    def _function(self, verb: str, size: int, emit: _Emit) -> ir.Function:
        """The function of the module that moves the first bytes of a vector of ``size`` bytes.

        It takes the address, the number of bytes, and a vector to store. The name tells apart the
        processors of one module: an exported one also has code for any processor.
        """
        module = self.builder.module
        processor = zlib.crc32(",".join(sorted(self.features)).encode())
        name = f"polysched.{verb}_first.{size}.{processor:08x}"
        function = module.globals.get(name)
        if function is None:
            vector = vector_type(_BYTE, size)
            stored = [vector] if verb == "store" else []
            result = _VOID if stored else vector
            signature = ir.FunctionType(result, [_POINTER, _SIZE, *stored])
            function, builder = new_function(module, name, signature, internal=True)
            function.attributes.add_effects("argmem: write" if stored else "argmem: read")
            # A vector of more than 16 bytes is moved as a whole half and the rest.
            half = self._function(verb, size // 2, emit) if size > PIECES else None
            emit(builder, function, half)
        return function


def load_literal_first(builder: ir.IRBuilder, pointer: Any, type_: Any, number: int) -> Any:
    """Load the first elements of a vector, of which the number is literal; the others become 0."""
    if number == 0:
        return zeros(type_)
    part = vector_type(type_.element, 1 << number.bit_length() - 1)
    element = element_bits(type_) // 8
    parts = [
        _load(builder, _after(builder, pointer, _SIZE(start * element)), part, element)
        for start in (0, number - part.count)
    ]
    behind = part.count - number
    lanes = [lane if lane < part.count else part.count + lane + behind for lane in range(number)]
    whole = [*lanes, *[None] * (type_.count - number)]
    both = shuffled(builder, parts[0], parts[1], whole)
    rest = range(type_.count, 2 * type_.count - number)
    return shuffled(builder, both, zeros(type_), [*range(number), *rest])


def store_literal_first(builder: ir.IRBuilder, vector: Any, pointer: Any, number: int) -> None:
    """Store the first elements of a vector, of which the number is literal."""
    if number == 0:
        return
    part, element = 1 << number.bit_length() - 1, element_bits(vector.type) // 8
    for start in dict.fromkeys((0, number - part)):
        stored = shuffled(builder, vector, vector, range(start, start + part))
        address = _after(builder, pointer, _SIZE(start * element))
        builder.store(stored, address).align = element


def _size(type_: Any) -> int:
    return element_bits(type_) * int(type_.count) // 8


def _bytes(builder: ir.IRBuilder, type_: Any, number: Any) -> Any:
    return builder.mul(builder.zext(number, _SIZE), _SIZE(element_bits(type_) // 8))


def _load(builder: ir.IRBuilder, pointer: Any, type_: Any, alignment: int = 1) -> Any:
    loaded = builder.load(pointer, typ=type_)
    loaded.align = alignment
    return loaded


def _after(builder: ir.IRBuilder, pointer: Any, behind: Any) -> Any:
    return builder.gep(pointer, [behind], source_etype=_BYTE)


def _emit_load(builder: ir.IRBuilder, function: Any, inner: Any) -> None:
    pointer, number = function.args
    type_ = function.function_type.return_type
    size = type_.count
    half = size // 2
    with builder.if_then(builder.icmp_unsigned(">=", number, _SIZE(size))):
        builder.ret(_load(builder, pointer, type_))
    if inner is not None:
        empty = zeros(vector_type(_BYTE, half))
        with builder.if_then(builder.icmp_unsigned(">", number, _SIZE(half))):
            rest = builder.sub(number, _SIZE(half))
            last = builder.call(inner, [_after(builder, pointer, _SIZE(half)), rest])
            first = _load(builder, pointer, empty.type)
            builder.ret(shuffled(builder, first, last, range(size)))
        first = builder.call(inner, [pointer, number])
        builder.ret(shuffled(builder, first, empty, range(size)))
        return
    for piece in _pieces(size):
        with builder.if_then(builder.icmp_unsigned(">=", number, _SIZE(piece))):
            part, pair = ir.IntType(8 * piece), ir.IntType(16 * piece)
            behind = builder.and_(number, _SIZE(piece - 1))
            first = builder.zext(_load(builder, pointer, part), pair)
            last = builder.zext(_load(builder, _after(builder, pointer, behind), part), pair)
            both = builder.or_(first, builder.shl(last, _bits(builder, behind, pair)))
            if piece < half:
                both = builder.zext(both, ir.IntType(8 * size))
            builder.ret(builder.bitcast(both, type_))
    builder.ret(zeros(type_))


def _emit_store(builder: ir.IRBuilder, function: Any, inner: Any) -> None:
    pointer, number, vector = function.args
    size = vector.type.count
    half = size // 2
    with builder.if_then(builder.icmp_unsigned(">=", number, _SIZE(size))):
        builder.store(vector, pointer).align = 1
        builder.ret_void()
    if inner is not None:
        first = shuffled(builder, vector, vector, range(half))
        with builder.if_then(builder.icmp_unsigned(">", number, _SIZE(half))):
            rest = builder.sub(number, _SIZE(half))
            last = shuffled(builder, vector, vector, range(half, size))
            builder.store(first, pointer).align = 1
            builder.call(inner, [_after(builder, pointer, _SIZE(half)), rest, last])
            builder.ret_void()
        builder.call(inner, [pointer, number, first])
        builder.ret_void()
        return
    whole = builder.bitcast(vector, ir.IntType(8 * size))
    for piece in _pieces(size):
        with builder.if_then(builder.icmp_unsigned(">=", number, _SIZE(piece))):
            part, pair = ir.IntType(8 * piece), ir.IntType(16 * piece)
            behind = builder.and_(number, _SIZE(piece - 1))
            both = builder.trunc(whole, pair) if piece < half else whole
            last = builder.lshr(both, _bits(builder, behind, pair))
            builder.store(builder.trunc(both, part), pointer).align = 1
            address = _after(builder, pointer, behind)
            builder.store(builder.trunc(last, part), address).align = 1
            builder.ret_void()
    builder.ret_void()


def _pieces(size: int) -> list[int]:
    """The powers of two below a size, the largest first."""
    return [1 << power for power in reversed(range(size.bit_length() - 1))]


def _bits(builder: ir.IRBuilder, number: Any, type_: Any) -> Any:
    """A number of bytes as a number of bits, in the type of the integer that they shift."""
    bits = builder.shl(number, _SIZE(3))
    if type_.width == 64:
        return bits
    return builder.zext(bits, type_) if type_.width > 64 else builder.trunc(bits, type_)
