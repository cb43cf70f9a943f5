"""The whole of code generation: a loop program becomes the text of an LLVM module."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.codegen.emit import Emitter
from polysched.codegen.evaluation import Evaluator
from polysched.codegen.functions import new_function
from polysched.codegen.intrinsics import declared
from polysched.codegen.lane_ranges import of_one_range
from polysched.codegen.latency import contraction
from polysched.codegen.memory import Storage
from polysched.codegen.nesting import require_shallow
from polysched.codegen.passes import run_passes
from polysched.codegen.placement import PAGE, Placement
from polysched.codegen.regions import Regions, Team, private_bytes, shared_arrays
from polysched.codegen.streamed_arrays import require_streams
from polysched.codegen.streaming import emit_fence
from polysched.codegen.values import INDEX
from polysched.errors import LoweringError
from polysched.ir.core.kernel import Role
from polysched.ir.expr.operators import LIBRARY_BINARY, LIBRARY_UNARY
from polysched.loops.analysis.parallel import parallel_loops, without_parallel_loops
from polysched.loops.analysis.usage import accessed_arrays
from polysched.loops.ir.nodes import LoopProgram
from polysched.machine.description import Machine

_LIBRARY = [operator.value for operator in LIBRARY_UNARY | LIBRARY_BINARY]

CALLED = frozenset(
    """
    aligned_alloc free memcpy memmove memset exp expf fma fmaf ceil ceilf floor floorf rint rintf
    round roundf trunc truncf
    """.split()
) | {name + suffix for name in _LIBRARY for suffix in ("", "f")}
"""Functions of the C library that the machine code may call: a kernel must not take their place."""

INT32 = ir.IntType(32)
_POINTER = ir.PointerType()
_NOWHERE = ir.Constant(_POINTER, None)


def emit_module(program: LoopProgram, machine: Machine) -> str:
    """The LLVM IR of a program for a machine, as text.

    Raises:
        LoweringError: the program says something that has no machine code, nests loops too deep,
            or has the name of a function that its own code may call.
    """
    return str(build_module(program, machine))


def build_module(program: LoopProgram, machine: Machine) -> ir.Module:
    """The module of `emit_module`, which functions may be added to. Raises as that does."""
    if program.name in CALLED:
        raise LoweringError(
            f"a kernel cannot be named '{program.name}': its code may call the C library's "
            "function of that name; choose another name"
        )
    rewritten = run_passes(program, machine)
    require_shallow(rewritten)
    require_streams(rewritten)
    module = ir.Module(name=program.name)
    module.triple = machine.triple
    _emit_function(module, rewritten, machine)
    return module


def add_function_as_written(module: ir.Module, program: LoopProgram, machine: Machine) -> None:
    """Add the function of an unscheduled program whose arrays may overlap.

    Every access goes to memory in the program's order: no pass keeps elements in registers, and the
    pointers are not ``noalias``.

    Args:
        module: the module to add to.
        program: loops without vector, parallel or unrolled loops.
        machine: its instruction sets may be used.

    Raises:
        LoweringError: the program has no machine code.
    """
    require_shallow(program)
    _emit_function(module, program, machine, is_apart=False)


def _emit_function(
    module: ir.Module, program: LoopProgram, machine: Machine, *, is_apart: bool = True
) -> None:
    registers, known = program.registers, program.ranges
    arguments = [array for array in program.arrays.values() if array.role is not Role.TEMPORARY]
    is_threaded = bool(parallel_loops(program.body))
    types = [_POINTER] * (len(arguments) + is_threaded)
    types += [INDEX] * (len(program.parameters) + is_threaded)
    function, builder = new_function(module, program.name, ir.FunctionType(INT32, types))
    pointers, rest = function.args[: len(arguments)], function.args[len(arguments) :]
    team, *numbers = rest if is_threaded else (None, *rest)
    parameters = dict(zip(program.parameters, numbers, strict=False))
    for name, value in parameters.items():
        value.name = name
    place = Placement(builder, parameters, known)
    storages: dict[str, Storage] = {}
    for array, pointer in zip(arguments, pointers, strict=True):
        pointer.name = array.name
        if is_apart:
            pointer.add_attribute("noalias")
        storages[array.name] = place.argument(array, pointer)
    accessed = accessed_arrays(without_parallel_loops(program.body))
    slots = {
        name: (program.arrays[name], place.register(program.arrays[name]))
        for name in registers
        if name in accessed
    }
    sized = [place.sized(array) for array in shared_arrays(program, registers)]
    storages |= {one.array.name: place.on_stack(one) for one in sized if one.is_small}
    threads = place.larger(numbers[-1], 1) if is_threaded else 1
    shared, private = place.total(sized), private_bytes(place, program, registers)
    workspace = None
    if not isinstance(shared, int) or not isinstance(private, int):
        workspace = _allocated(place, place.sum(shared, place.product(threads, private)))
        storages |= place.carved(sized, workspace)
    values = Evaluator(
        builder,
        parameters,
        storages,
        slots,
        known,
        features=machine.enabled_features,
        fp_contract=contraction(program, set(registers), machine.fma_latency),
    )
    regions = None
    if is_threaded:
        first = _NOWHERE if workspace is None else place.behind(workspace, shared)
        crew = Team(team, threads, first, place.sum(private, 0))
        regions = Regions(program, registers, crew, module, known)
    Emitter(values, regions, of_one_range(program.body, set(registers))).node(program.body)
    if any(storage.array.streamed for storage in storages.values()):
        emit_fence(builder)
    if workspace is not None:
        free = declared(module, "free", ir.FunctionType(ir.VoidType(), [_POINTER]))
        builder.call(free, [workspace])
    builder.ret(INT32(0))
    values.slots.drop_needless()


def _allocated(place: Placement, size: Any) -> Any:
    """Memory for the whole call; the function returns 1 where there is none."""
    builder = place.builder
    # aligned_alloc of nothing may return null, which would look like a failure
    total = place.sum(size, PAGE)
    signature = ir.FunctionType(_POINTER, [INDEX, INDEX])
    allocate = declared(builder.module, "aligned_alloc", signature)
    workspace = builder.call(allocate, [INDEX(PAGE), total])
    failed = builder.icmp_unsigned("==", workspace, _NOWHERE)
    with builder.if_then(failed, likely=False):
        builder.ret(INT32(1))
    return workspace
