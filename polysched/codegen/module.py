"""The whole of code generation: a loop program becomes the text of an LLVM module."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llvmlite import ir
from llvmlite.ir.values import FunctionAttributes

from polysched.codegen.emit import Emitter
from polysched.codegen.expand import expand
from polysched.codegen.memory import BYTE, CACHE_LINE, Storage, row_major
from polysched.codegen.registers import promote_registers
from polysched.codegen.values import INDEX, declared, element_type, stack_slot, vector_of
from polysched.errors import LoweringError
from polysched.ir.expressions import Constant
from polysched.ir.kernel import Array, Role
from polysched.ir.linear import Intervals, linear_form
from polysched.loops.generate import parameter_intervals
from polysched.loops.nodes import LoopProgram
from polysched.loops.usage import accessed_arrays
from polysched.machine.description import Machine

LARGEST_ON_STACK = 16 * 1024
"""Bytes of an array up to which it is placed on the stack."""

PAGE = 4096
"""Bytes to which each array of the workspace is aligned."""

LARGEST_SIZE = 2**62
"""Bytes that no allocation can have: what larger sizes are taken for."""

CALLED = frozenset(
    """
    aligned_alloc free memcpy memmove memset exp expf fma fmaf fmod fmodf floor floorf trunc truncf
    """.split()
)
"""Functions of the C library that the machine code may call: a kernel must not take their place."""

INT32 = ir.IntType(32)


def emit_module(program: LoopProgram, machine: Machine) -> str:
    """The LLVM IR of a program for a machine, as text.

    Raises:
        LoweringError: the program says something that has no machine code, or has the name of a
            function that its own code may call.
    """
    if program.name in CALLED:
        raise LoweringError(
            f"a kernel cannot be named '{program.name}': its code may call the C library's "
            "function of that name; choose another name"
        )
    known = parameter_intervals(program.context, program.parameters)
    expanded = replace(program, body=expand(program.body, known))
    promoted = promote_registers(expanded, known, machine.vector_registers)
    module = ir.Module(name=program.name)
    module.triple = machine.triple
    _emit_function(module, promoted.program, promoted.registers, known)
    return str(module)


def _emit_function(
    module: ir.Module, program: LoopProgram, registers: tuple[str, ...], known: Intervals
) -> None:
    arguments = [array for array in program.arrays.values() if array.role is not Role.TEMPORARY]
    signature = ir.FunctionType(
        INT32, [ir.PointerType()] * len(arguments) + [INDEX] * len(program.parameters)
    )
    function = ir.Function(module, signature, program.name)
    function.attributes = _KernelAttributes()
    function.attributes.add("nounwind")
    function.attributes.add('"no-builtins"')
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    storages: dict[str, Storage] = {}
    parameters: dict[str, Any] = {}
    for name, value in zip(program.parameters, function.args[len(arguments) :], strict=True):
        value.name = name
        parameters[name] = value
    place = _Placement(builder, parameters, known)
    for array, pointer in zip(arguments, function.args, strict=False):
        pointer.name = array.name
        pointer.add_attribute("noalias")
        storages[array.name] = place.argument(array, pointer)
    slots = {
        name: (program.arrays[name], place.register(program.arrays[name])) for name in registers
    }
    accessed = accessed_arrays(program.body)
    memory = [
        array
        for name, array in program.arrays.items()
        if array.role is Role.TEMPORARY and name not in registers and name in accessed
    ]
    workspace = place.temporaries(memory, storages)
    emitter = Emitter(builder, parameters, storages, slots, known)
    emitter.node(program.body)
    if workspace is not None:
        free = declared(module, "free", ir.FunctionType(ir.VoidType(), [ir.PointerType()]))
        builder.call(free, [workspace])
    builder.ret(INT32(0))


class _KernelAttributes(FunctionAttributes):  # type: ignore[misc]  # llvmlite is untyped
    """The attributes of emitted functions.

    ``no-builtins`` keeps LLVM from calling memcpy and memset for the copy loops of small tiles.
    """

    _known = FunctionAttributes._known | {'"no-builtins"'}


class _Placement:
    """Gives arrays their place: arguments, registers, the stack, or one allocated workspace."""

    def __init__(self, builder: ir.IRBuilder, parameters: dict[str, Any], known: Intervals) -> None:
        self.builder = builder
        self.sizes = Emitter(builder, parameters, {}, {}, known)

    def _multiply(self, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        as_values = [INDEX(one) if isinstance(one, int) else one for one in (left, right)]
        return self.builder.mul(*as_values)

    def _size(self, left: Any, right: Any) -> Any:
        """The product of two numbers of at least 0, or a huge one instead of an overflow."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left * right, LARGEST_SIZE)
        as_values = [INDEX(one) if isinstance(one, int) else one for one in (left, right)]
        signature = ir.FunctionType(INDEX, [INDEX, INDEX, INT32])
        multiply = declared(self.builder.module, "llvm.smul.fix.sat.i64", signature)
        return self.builder.call(multiply, [*as_values, INT32(0)])

    def _sum(self, left: Any, right: Any) -> Any:
        signature = ir.FunctionType(INDEX, [INDEX, INDEX])
        add = declared(self.builder.module, "llvm.sadd.sat.i64", signature)
        return self.builder.call(add, [left, right])

    def _extents(self, array: Array) -> tuple[Any, ...]:
        """The extents of an array, each a literal or an i64; below 0 where nothing runs, maybe."""
        forms = [linear_form(extent, self.sizes.known) for extent in array.stored_shape]
        return tuple(
            form.constant if form.is_constant else self.sizes.index(form.expression())
            for form in forms
        )

    def _not_negative(self, extent: Any) -> Any:
        if isinstance(extent, int):
            return max(extent, 0)
        signature = ir.FunctionType(INDEX, [INDEX, INDEX])
        maximum = declared(self.builder.module, "llvm.smax.i64", signature)
        return self.builder.call(maximum, [extent, INDEX(0)])

    def argument(self, array: Array, pointer: Any) -> Storage:
        """An array that the caller passes: contiguous, aligned to its elements."""
        strides = row_major(self._extents(array), self._multiply)
        return Storage(array, pointer, strides, array.dtype.bytes)

    def register(self, array: Array) -> Any:
        """A stack slot that LLVM turns into SSA values."""
        lanes = None
        if array.shape:
            (extent,) = array.shape
            assert isinstance(extent, Constant)
            lanes = int(extent.value)
        return stack_slot(self.builder, vector_of(element_type(array.dtype), lanes))

    def temporaries(self, arrays: list[Array], storages: dict[str, Storage]) -> Any:
        """Place temporaries and buffers; the workspace, if one had to be allocated."""
        allocated: list[tuple[Array, tuple[Any, ...], Any]] = []
        for array in arrays:
            extents = self._extents(array)
            strides = row_major(extents, self._multiply)
            size = array.dtype.bytes
            for extent in extents:
                size = self._size(size, self._not_negative(extent))
            if isinstance(size, int) and size <= LARGEST_ON_STACK:
                slot = stack_slot(self.builder, ir.ArrayType(BYTE, max(size, 1)))
                slot.align = CACHE_LINE
                storages[array.name] = Storage(array, slot, strides, CACHE_LINE)
            else:
                allocated.append((array, strides, size))
        return self._workspace(allocated, storages) if allocated else None

    def _workspace(
        self, arrays: list[tuple[Array, tuple[Any, ...], Any]], storages: dict[str, Storage]
    ) -> Any:
        builder = self.builder
        total: Any = INDEX(0)
        places = []
        for array, strides, size in arrays:
            places.append((array, strides, total))
            value = INDEX(size) if isinstance(size, int) else size
            padded = builder.and_(self._sum(value, INDEX(PAGE - 1)), INDEX(-PAGE))
            total = self._sum(total, padded)
        # aligned_alloc of nothing may return null, which would look like a failure
        total = self._sum(total, INDEX(PAGE))
        signature = ir.FunctionType(ir.PointerType(), [INDEX, INDEX])
        allocate = declared(builder.module, "aligned_alloc", signature)
        workspace = builder.call(allocate, [INDEX(PAGE), total])
        failed = builder.icmp_unsigned("==", workspace, ir.Constant(ir.PointerType(), None))
        with builder.if_then(failed, likely=False):
            builder.ret(INT32(1))
        for array, strides, start in places:
            pointer = builder.gep(workspace, [start], inbounds=True, source_etype=BYTE)
            storages[array.name] = Storage(array, pointer, strides, CACHE_LINE)
        return workspace
