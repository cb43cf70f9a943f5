"""Memory of the interpreters: bounds-checked arrays with recognizable undefined contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from polysched.errors import CallError, KernelError
from polysched.ir.core.conditions import context_text
from polysched.ir.core.data_dependent import FARTHEST
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.limits import limited
from polysched.ir.core.packing import Rows, byte_shape
from polysched.ir.core.printing import values_text
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Expression
from polysched.ir.semantics.bit_packing import Overflow, pack_bits, unpack_bits, unused_bits
from polysched.ir.semantics.points import at_parameters
from polysched.ir.semantics.scalar import Scalar, wrapper
from polysched.ir.semantics.value_range import require_values

AnyArray: TypeAlias = NDArray[Any]

# Each byte of an undefined integer, so that undefined integers are large and easy to recognize.
POISON_BYTE = 0xA5


@dataclass(frozen=True)
class Memory:
    """Arrays by name, with bounds-checked reads and writes.

    Packed arguments are stored unpacked, each element in its container. ``buffers`` holds copies of
    the packed buffers, whose padding bits must stay unchanged.
    """

    arrays: dict[str, AnyArray]
    buffers: Mapping[str, AnyArray] = field(default_factory=dict)

    def read(self, name: str, position: tuple[int, ...]) -> Scalar:
        """The element at ``position`` as a numpy scalar; 0 if an optional index is absent."""
        if min(position, default=0) < FARTHEST:
            return self.arrays[name].dtype.type(0)
        self._check(name, position)
        return self.arrays[name][position]

    def write(self, name: str, position: tuple[int, ...], value: Scalar) -> None:
        """Store ``value``, which must be in the range of the element type.

        If an optional index is absent, nothing is stored.

        Raises:
            KernelError: the element lies outside the array.
        """
        if min(position, default=0) < FARTHEST:
            return
        self._check(name, position)
        self.arrays[name][position] = value

    def _check(self, name: str, position: tuple[int, ...]) -> None:
        array = self.arrays.get(name)
        if array is None:
            element = _element(name, position)
            raise KernelError(f"{element} is used outside the lifetime of array '{name}'")
        shape = array.shape
        if len(position) != len(shape):
            raise KernelError(
                f"{_element(name, position)}: array '{name}' has {len(shape)} dimensions"
            )
        for subscript, extent in zip(position, shape, strict=True):
            if not 0 <= subscript < extent:
                raise KernelError(
                    f"{_element(name, position)} is outside array '{name}' of shape {shape}; "
                    "expected 0 <= subscript < extent in every dimension"
                )


def _element(name: str, position: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, position))}]"


def undefined(shape: tuple[int, ...], dtype: DType) -> AnyArray:
    """Create an array of undefined elements: NaN, or a recognizable large integer."""
    array: AnyArray = np.empty(shape, dtype.numpy())
    if dtype.is_float:
        array.fill(np.nan)
    elif dtype.is_integer:
        poison = int.from_bytes(bytes([POISON_BYTE]) * dtype.bytes, "little")
        array.fill(wrapper(dtype)(poison))
    else:
        array.fill(True)
    return array


def concrete_shape(shape: tuple[Expression, ...], parameters: Mapping[str, int]) -> tuple[int, ...]:
    """Evaluate extents; a negative extent counts as 0."""
    return tuple(max(0, evaluate(extent, parameters)) for extent in shape)


def check_parameters(context: isl.Set, parameters: Mapping[str, int]) -> None:
    """Check that parameter values satisfy the context."""
    with limited(CallError, "the parameters cannot be checked"):
        holds = not at_parameters(context, parameters).is_empty()
    if not holds:
        shown = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        raise CallError(f"{shown} violates {context_text(context)}")


def argument_memory(
    arrays: Mapping[str, Array], arguments: Mapping[str, AnyArray], parameters: Mapping[str, int]
) -> Memory:
    """Copy argument arrays; create undefined temporaries and outputs that are not given.

    Raises:
        CallError: an array is missing or unknown, has another shape or element type, or holds a
            value outside its declared range.
    """
    for name in arguments:
        if name not in arrays or arrays[name].role is Role.TEMPORARY:
            raise CallError(f"'{name}' is not an argument array")
    memory = {}
    buffers = {}
    for name, array in arrays.items():
        shape = concrete_shape(array.stored_shape, parameters)
        if name in arguments and array.rows is not None:
            buffers[name] = _checked_buffer(array, array.rows, arguments[name], shape)
            memory[name] = unpack_bits(buffers[name], array.dtype, shape, rows=array.rows)
        elif name in arguments:
            memory[name] = _checked_copy(array, arguments[name], shape, parameters)
        elif array.role in (Role.INPUT, Role.INOUT):
            raise CallError(f"array '{name}' is missing; expected {array.dtype} of shape {shape}")
        else:
            memory[name] = undefined(shape, array.dtype)
    return Memory(memory, buffers)


def _checked_buffer(array: Array, rows: Rows, buffer: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    expected = byte_shape(array.dtype, shape, rows)
    if buffer.shape != expected or buffer.dtype != np.uint8:
        raise CallError(
            f"array '{array.name}': expected a buffer of uint8 of shape {expected}, for "
            f"{array.dtype} of shape {shape} with {rows.value} rows; got {buffer.dtype} of shape "
            f"{buffer.shape}"
        )
    return buffer.copy()


def _checked_copy(
    array: Array, values: AnyArray, shape: tuple[int, ...], parameters: Mapping[str, int]
) -> AnyArray:
    if values.shape != shape or values.dtype != array.dtype.numpy():
        raise CallError(
            f"array '{array.name}': expected {array.dtype} of shape {shape}; got {values.dtype} of "
            f"shape {values.shape}"
        )
    if array.values is not None:
        lower, upper = (evaluate(end, parameters) for end in array.values)
        declared = values_text(array.values)
        require_values(f"array '{array.name}'", values, lower, upper, declared)
    return values.copy()


def results(arrays: Mapping[str, Array], memory: Memory) -> dict[str, AnyArray]:
    """The output and inout arrays by name; packed arrays as buffers."""
    return {name: _result(array, memory) for name, array in arrays.items() if array.is_written}


def _result(array: Array, memory: Memory) -> AnyArray:
    values = memory.arrays[array.name]
    if array.rows is None:
        return values
    buffer = pack_bits(values, array.dtype, rows=array.rows, overflow=Overflow.WRAP)
    if array.name in memory.buffers:
        unused = unused_bits(array.dtype, values.shape, array.rows)
        buffer |= memory.buffers[array.name] & unused
    return buffer
