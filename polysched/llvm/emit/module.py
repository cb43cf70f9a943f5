"""Emit the LLVM module of a loop program: run the vector passes, then emit its function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir

from polysched.errors import LoweringError
from polysched.ir.expr.operators import LIBRARY_BINARY, LIBRARY_UNARY
from polysched.llvm.builder.function_builder import new_function
from polysched.llvm.builder.intrinsics import declared
from polysched.llvm.emit.evaluation import Evaluator
from polysched.llvm.emit.nodes import Emitter
from polysched.llvm.emit.placement import PAGE, Placement
from polysched.llvm.emit.regions import Regions, Team, private_bytes
from polysched.llvm.memory.arrays import Storage
from polysched.llvm.memory.streaming import emit_fence
from polysched.llvm.values.expressions import INDEX
from polysched.loops.branches import form_branches
from polysched.loops.ir.nodes import LoopProgram
from polysched.loops.leave_loops import leave_loops
from polysched.machine.description import Machine
from polysched.vector.ir import Loop, VectorProgram, walk
from polysched.vector.pass_list import vector_program
from polysched.vector.passes.vectorize import vectorize

_LIBRARY = [operator.value for operator in LIBRARY_UNARY | LIBRARY_BINARY]

CALLED = frozenset(
    """
    aligned_alloc free memcpy memmove memset exp expf fma fmaf ceil ceilf floor floorf rint rintf
    round roundf trunc truncf
    """.split()
) | {name + suffix for name in _LIBRARY for suffix in ("", "f")}
"""C library functions that the machine code may call: a kernel must not replace them."""

INT32 = ir.IntType(32)
_POINTER = ir.PointerType()
_NOWHERE = ir.Constant(_POINTER, None)
_FALSE = ir.IntType(1)(0)


def emit_module(program: LoopProgram, machine: Machine) -> str:
    """The LLVM IR of a program for a machine, as text.

    Raises:
        LoweringError: the program contains an operation without machine code, nests loops too deep,
            or has the name of a C library function that its code may call.
    """
    return str(build_module(program, machine))


def build_module(program: LoopProgram, machine: Machine) -> ir.Module:
    """Build the module of `emit_module`, which a caller may extend. Raises the same errors."""
    require_own_name(program.name)
    vectors = vector_program(program, machine)
    module = ir.Module(name=program.name)
    module.triple = machine.triple
    _emit_function(module, vectors, machine)
    return module


def require_own_name(name: str) -> None:
    """Check that a kernel's code calls no function of the kernel's name. Raises LoweringError."""
    if name in CALLED:
        raise LoweringError(
            f"a kernel cannot be named '{name}': its code may call the C library's "
            "function of that name; choose another name"
        )


def add_function_as_written(module: ir.Module, program: LoopProgram, machine: Machine) -> None:
    """Add the function of an unscheduled program whose arrays may overlap.

    Every access goes to memory in program order: no pass keeps elements in registers, and the
    pointers are not ``noalias``. Early ends and branches only ask temporaries, which overlap
    nothing.

    Args:
        program: loops without vector, parallel or unrolled loops.
    """
    program = form_branches(leave_loops(program), is_apart=False)
    _emit_function(module, vectorize(program, machine), machine, is_apart=False)


def _emit_function(
    module: ir.Module, program: VectorProgram, machine: Machine, *, is_apart: bool = True
) -> None:
    frame, arguments = program.frame, program.frame.outside
    regions = [node.region for node in walk(program.body) if isinstance(node, Loop) and node.region]
    is_threaded = bool(regions)
    types = [_POINTER] * (len(arguments) + is_threaded)
    types += [INDEX] * (len(program.parameters) + is_threaded)
    function, builder = new_function(module, program.name, ir.FunctionType(INT32, types))
    pointers, rest = function.args[: len(arguments)], function.args[len(arguments) :]
    team, *numbers = rest if is_threaded else (None, *rest)
    parameters = dict(zip(program.parameters, numbers, strict=False))
    for name, value in parameters.items():
        value.name = name
    placement = Placement(builder, parameters, program)
    storages: dict[str, Storage] = {}
    for name, pointer in zip(arguments, pointers, strict=True):
        pointer.name = name
        if is_apart:
            pointer.add_attribute("noalias")
        storages[name] = placement.argument(name, pointer)
    registers = placement.registers(frame)
    storages |= placement.on_stack(frame)
    heap = placement.on_heap(frame)
    threads = placement.larger(numbers[-1], 1) if is_threaded else 1
    private = private_bytes(placement, regions)
    sizes = [array.size for array in heap]
    if not isinstance(private, int):
        sizes.append(placement.product(threads, private))
    workspaces = _allocated(placement, sizes)
    storages |= {
        array.array.name: Storage(array.array, workspace, array.strides)
        for array, workspace in zip(heap, workspaces, strict=False)
    }
    features = machine.enabled_features
    values = Evaluator(builder, parameters, storages, registers, features=features)
    threaded = None
    if is_threaded:
        first = _NOWHERE if isinstance(private, int) else workspaces[-1]
        threaded = Regions(program, Team(team, threads, first, placement.sum(private, 0)), module)
    Emitter(values, threaded).node(program.body)
    if any(storage.array.streamed for storage in storages.values()):
        emit_fence(builder)
    _free(builder, workspaces)
    builder.ret(INT32(0))
    values.slots.drop_needless()


def _allocated(placement: Placement, sizes: Sequence[Any]) -> list[Any]:
    """Allocate memory for the whole call; the function returns 1 if that fails.

    Each array has its own memory, so that LLVM knows that accesses to two arrays never overlap.

    Args:
        sizes: bytes of each array.
    """
    if not sizes:
        return []
    builder = placement.builder
    signature = ir.FunctionType(_POINTER, [INDEX, INDEX])
    allocate = declared(builder.module, "aligned_alloc", signature)
    allocate.return_value.add_attribute("noalias")
    workspaces, failed = [], _FALSE
    for size in sizes:
        # aligned_alloc of 0 bytes may return null, which would look like a failure
        workspace = builder.call(allocate, [INDEX(PAGE), placement.pages(size)])
        failed = builder.or_(failed, builder.icmp_unsigned("==", workspace, _NOWHERE))
        workspaces.append(workspace)
    with builder.if_then(failed, likely=False):
        _free(builder, workspaces)
        builder.ret(INT32(1))
    return workspaces


def _free(builder: ir.IRBuilder, workspaces: Iterable[Any]) -> None:
    free = declared(builder.module, "free", ir.FunctionType(ir.VoidType(), [_POINTER]))
    for workspace in workspaces:
        builder.call(free, [workspace])
