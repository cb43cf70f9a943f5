"""Emit a function that replaces a C function: it has the same name and signature.

The kernel's function and the processor check are the C interface of
:mod:`polysched.llvm.export.c_interface`, under internal names. The wrapper passes arrays on, widens
integers, and stores numbers passed by value to memory that the kernel reads. The kernel cannot run
without memory for its workspace, on a processor without an instruction set, with an unsigned size
that no signed integer holds, or if it writes over a size or pointer that it has read from memory.
A C function has no status to report this, so the wrapper writes a line to the standard error output
and aborts.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

from llvmlite import ir

from polysched.errors import ExportError
from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import DType, i64, u64
from polysched.ir.expr.expressions import Expression
from polysched.llvm.builder.function_builder import compile_for, new_function
from polysched.llvm.builder.intrinsics import declared
from polysched.llvm.emit.evaluation import Evaluator
from polysched.llvm.emit.module import CALLED, add_function_as_written
from polysched.llvm.export.c_interface import ExportedProgram, build_exported_module
from polysched.llvm.export.fallback import (
    Fallback,
    address_of,
    emit_exceeds,
    emit_is_apart,
    emit_is_valid,
)
from polysched.llvm.export.processor_check import BASELINE
from polysched.llvm.values.expressions import INDEX, memory_type, stack_slot
from polysched.loops.ir.nodes import LoopProgram
from polysched.machine.description import Machine
from polysched.vector.lowering import Lowering

_INT32 = ir.IntType(32)
_POINTER = ir.PointerType()
_BYTE = ir.IntType(8)
_ERROR_OUTPUT = 2
_CANNOT_RUN = (
    "no memory for its workspace, or a processor without the instructions that it is compiled for"
)
_TOO_LARGE = (
    "an unsigned size is too large for its bounds and conditions, which are computed with signed "
    "64-bit integers"
)
_CHANGES_SIZES = (
    "an array that it writes overlaps a size or a pointer of a struct, which it reads only once; "
    "copy them to local variables first"
)


RESULT_BYTES = 16
"""Bytes of the stack for the result, at least those of a number.

LLVM allocates 8 bytes by ``push`` and frees them by ``pop``, which loads them: with a result of 4
bytes the load waits for two stores. Measured on Sapphire Rapids: a sum of 3 floats takes 5.9 ns
with 4 bytes and 3.6 ns with 16.
"""


@dataclass(frozen=True)
class CArgument:
    """A parameter of a C function.

    Attributes:
        dtype: the type of the number, or of the pointer's target; None for void.
        meaning: the array or parameter of the kernel that it stands for; None if it is unused.
        is_size: whether ``meaning`` is a parameter of the kernel.
    """

    name: str
    dtype: DType | None
    is_pointer: bool
    meaning: str | None
    is_size: bool = False


@dataclass(frozen=True)
class CMember:
    """Member of a struct to which a parameter of a C function points.

    Attributes:
        meaning: the array or parameter of the kernel that it stands for.
        argument: the pointer to the struct, or to an array of structs.
        offset: the offset of the member in the struct, in bytes.
        dtype: the type of the number, or of the target of the member's pointer.
        is_size: whether ``meaning`` is a parameter of the kernel.
        is_pointer: whether it is a pointer to the array.
    """

    meaning: str
    argument: str
    offset: int
    dtype: DType
    is_size: bool = False
    is_pointer: bool = False

    @property
    def bytes(self) -> int:
        """Size of the number or pointer."""
        return INDEX.width // 8 if self.is_pointer else self.dtype.bytes


@dataclass(frozen=True)
class CFunction:
    """Signature of a C function.

    Attributes:
        result: the array of the kernel whose only element is the return value; None for a void
            function.
        fallback: the unscheduled program, which runs for arguments for which the schedule is not
            valid; None if the schedule is valid for all arguments.
        members: the members of structs that the kernel uses.
        computed: the parameters of the kernel that are computed from others, with their values.
        tested: the parameters of the kernel that are 1 if a pointer is not null, else 0, with the
            pointer: a parameter of the function, or the meaning of a member.
    """

    name: str
    arguments: tuple[CArgument, ...]
    result: str | None = None
    fallback: Fallback | None = None
    members: tuple[CMember, ...] = ()
    computed: Mapping[str, Expression] = field(default_factory=dict)
    tested: Mapping[str, str] = field(default_factory=dict)


def emit_c_function(
    exported: ExportedProgram,
    machine: Machine,
    function: CFunction,
    as_written: LoopProgram | None = None,
) -> str:
    """The LLVM IR of a module that defines a C function, as text.

    Args:
        exported: the loops, with the arrays and parameters that ``function`` names as meanings.
        machine: one of :func:`polysched.machine.cpuid.checkable`.
        as_written: the loops of the function's fallback; None if it has none.

    Raises:
        ExportError: the function has the name of a function that its code may call.
    """
    if function.name in CALLED:
        raise ExportError(
            f"function '{function.name}' has the name of one that its own code may call; choose "
            "another name"
        )
    status_name = f"{function.name}.status"
    program = exported.program
    module = build_exported_module(exported, status_name, machine)
    for name in (status_name, f"{status_name}_supported"):
        module.get_global(name).linkage = "internal"
    passed = [_passed(argument) for argument in function.arguments]
    result = None if function.result is None else program.arrays[function.result].dtype
    returned = ir.VoidType() if result is None else _by_value(result)
    defined, builder = new_function(module, function.name, ir.FunctionType(returned, passed))
    compile_for(defined, *BASELINE)
    meanings = _meanings(builder, function, defined)
    lowering = Lowering(program, machine)
    programs = [program] if as_written is None else [program, as_written]
    sizes = dict.fromkeys(name for program in programs for name in program.parameters)
    for name, value in function.computed.items():
        known = {name: meanings[name] for name in sizes if name in meanings}
        values = Evaluator(builder, known, {}, {})
        meanings[name] = values.value(lowering.value(value, None), None).ir
    result_slot = None
    if function.result is not None and result is not None:
        result_slot = meanings[function.result] = _result_slot(builder)
    scheduled = module.get_global(status_name)
    numbers = {member.meaning for member in function.members if member.is_size}
    given = [_given(program, meanings, numbers) for program in programs]
    types = _size_types(function)
    is_large = emit_exceeds(builder, programs, types, meanings, u64)
    if is_large is not None:
        _abort_if(module, builder, is_large, f"{function.name}.size", _TOO_LARGE)
    if function.fallback is None or as_written is None:
        status = builder.call(scheduled, given[0])
    else:
        plain = _as_written(
            module, replace(as_written, name=f"{function.name}.as_written"), machine
        )
        widths = {address_of(member.meaning): member.bytes for member in function.members}
        is_valid = emit_is_valid(builder, program, machine, function.fallback, meanings, widths)
        is_large = emit_exceeds(builder, [program], types, meanings, i64)
        if is_large is not None:
            is_valid = builder.and_(is_valid, builder.not_(is_large))
        if function.fallback.read_once:
            pairs = function.fallback.read_once
            is_apart = emit_is_apart(builder, as_written, machine, pairs, meanings, widths)
            fails = builder.not_(builder.or_(is_valid, is_apart))
            _abort_if(module, builder, fails, f"{function.name}.overlap", _CHANGES_SIZES)
        status = _either(builder, is_valid, scheduled, plain, given)
    has_failed = builder.icmp_unsigned("!=", status, _INT32(0))
    _abort_if(module, builder, has_failed, f"{function.name}.message", _CANNOT_RUN)
    if result_slot is None:
        builder.ret_void()
    else:
        builder.ret(builder.load(result_slot, typ=returned))
    return str(module)


def _result_slot(builder: ir.IRBuilder) -> Any:
    slot = stack_slot(builder, ir.ArrayType(ir.IntType(8), RESULT_BYTES))
    slot.align = RESULT_BYTES
    return slot


def _given(program: LoopProgram, meanings: Mapping[str, Any], numbers: Set[str]) -> list[Any]:
    """Return the arguments of a program: its arrays and parameters.

    Args:
        numbers: the numbers in structs that another program has as parameters.
    """
    arrays = [array.name for array in program.arrays.values() if array.role is not Role.TEMPORARY]
    keys = [address_of(name) if name in numbers else name for name in arrays]
    return [meanings[name] for name in (*keys, *program.parameters)]


def _as_written(module: ir.Module, program: LoopProgram, machine: Machine) -> ir.Function:
    """Add the fallback; it runs on every processor, because no check precedes it."""
    before = set(module.functions)
    add_function_as_written(module, program, replace(machine, features=BASELINE[1]))
    for function in module.functions:
        if function not in before and not function.is_declaration:
            compile_for(function, *BASELINE)
    result = module.get_global(program.name)
    result.linkage = "internal"
    return result


def _either(
    builder: ir.IRBuilder,
    holds: Any,
    first: ir.Function,
    second: ir.Function,
    given: list[list[Any]],
) -> Any:
    """Call one of two functions with its own arguments; return its status."""
    with builder.if_else(holds, likely=True) as (if_true, if_false):
        with if_true:
            first_status, first_block = builder.call(first, given[0]), builder.block
        with if_false:
            second_status, second_block = builder.call(second, given[1]), builder.block
    status = builder.phi(_INT32)
    status.add_incoming(first_status, first_block)
    status.add_incoming(second_status, second_block)
    return status


def _passed(argument: CArgument) -> Any:
    if argument.is_pointer or argument.dtype is None:
        return _POINTER
    return _by_value(argument.dtype)


def _by_value(dtype: DType) -> Any:
    """The LLVM type of a number that C passes by value; both half types in a vector register."""
    return ir.HalfType() if dtype.is_half else memory_type(dtype)


def _meanings(builder: ir.IRBuilder, function: CFunction, defined: ir.Function) -> dict[str, Any]:
    """Compute the kernel's arguments, by the kernel's names."""
    meanings: dict[str, Any] = {}
    for argument, value in zip(function.arguments, defined.args, strict=True):
        value.name = argument.name
        if argument.meaning is None or argument.dtype is None:
            continue
        if argument.is_pointer:
            meanings[argument.meaning] = value
        elif argument.is_size:
            meanings[argument.meaning] = _widened(builder, value, argument.dtype)
        else:
            slot = stack_slot(builder, value.type)
            builder.store(value, slot)
            meanings[argument.meaning] = slot
    pointers = {
        argument.name: value
        for argument, value in zip(function.arguments, defined.args, strict=True)
    }
    for member in function.members:
        address = builder.gep(pointers[member.argument], [INDEX(member.offset)], source_etype=_BYTE)
        if not (member.is_size or member.is_pointer):
            meanings[member.meaning] = address
            continue
        meanings[address_of(member.meaning)] = address
        loaded = _loaded(builder, pointers[member.argument], address, member)
        is_number = member.is_size
        meanings[member.meaning] = _widened(builder, loaded, member.dtype) if is_number else loaded
    for name, pointer in function.tested.items():
        tested = pointers[pointer] if pointer in pointers else meanings[pointer]
        given = builder.icmp_unsigned("!=", tested, ir.Constant(_POINTER, None))
        meanings[name] = builder.zext(given, INDEX)
    return meanings


def _loaded(builder: ir.IRBuilder, struct: Any, address: Any, member: CMember) -> Any:
    """Load a member; 0 if the struct pointer is null, because the program may not read it then."""
    type_ = _POINTER if member.is_pointer else memory_type(member.dtype)
    slot = stack_slot(builder, type_)
    builder.store(ir.Constant(type_, None if member.is_pointer else 0), slot)
    with builder.if_then(builder.icmp_unsigned("!=", struct, ir.Constant(_POINTER, None))):
        builder.store(builder.load(address, typ=type_), slot)
    return builder.load(slot, typ=type_)


def _widened(builder: ir.IRBuilder, value: Any, dtype: DType) -> Any:
    if dtype.bits == INDEX.width:
        return value
    return (builder.sext if dtype.is_signed else builder.zext)(value, INDEX)


def _size_types(function: CFunction) -> dict[str, DType]:
    """Return the C types of the kernel's parameters that are arguments, not computed."""
    given: tuple[CArgument | CMember, ...] = (*function.arguments, *function.members)
    return {
        size.meaning: size.dtype
        for size in given
        if size.is_size and size.meaning is not None and size.dtype is not None
    }


def _abort_if(module: ir.Module, builder: ir.IRBuilder, holds: Any, symbol: str, why: str) -> None:
    """Abort the process with a line on the standard error output, if a condition holds."""
    text = f"{symbol.partition('.')[0]}: {why}\n".encode()
    array = ir.ArrayType(ir.IntType(8), len(text))
    message = ir.GlobalVariable(module, array, symbol)
    # llvmlite still has typed pointers for global variables; LLVM reads only opaque pointers.
    message.type = _POINTER
    message.linkage = "internal"
    message.global_constant = True
    message.initializer = ir.Constant(array, bytearray(text))
    write = declared(module, "write", ir.FunctionType(INDEX, [_INT32, _POINTER, INDEX]))
    abort = declared(module, "abort", ir.FunctionType(ir.VoidType(), []))
    with builder.if_then(holds, likely=False):
        builder.call(write, [_INT32(_ERROR_OUTPUT), message, INDEX(len(text))])
        builder.call(abort, [])
