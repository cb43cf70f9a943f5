"""C interface of exported modules: a wrapper around a kernel's function.

The kernel's function becomes the internal function ``NAME.kernel``. The module exports::

    int NAME(arrays..., int64_t parameter...)
    int NAME_supported(void)

``NAME`` returns 0 on success. It returns 1 if the workspace cannot be allocated, or 2 if the
processor lacks an instruction set; in both cases it has written nothing. A kernel with parallel
loops uses the threads of the OpenMP runtime with which it is linked, see
:mod:`polysched.llvm.emit.regions`.

All functions have attributes for their target processor, so that all of LLVM's tools compile the
module to the same code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from llvmlite import ir

from polysched.errors import ExportError
from polysched.ir.core.kernel import Role
from polysched.ir.expr.expressions import Expression
from polysched.llvm.builder.function_builder import compile_for, new_function
from polysched.llvm.emit.evaluation import Evaluator
from polysched.llvm.emit.module import build_module, require_own_name
from polysched.llvm.emit.regions import PARALLEL
from polysched.llvm.export.processor_check import BASELINE, ProcessorCheck, emit_processor_check
from polysched.llvm.values.expressions import INDEX
from polysched.loops.analysis.parallel import parallel_loops
from polysched.loops.ir.nodes import LoopProgram
from polysched.machine.cpuid import questions
from polysched.machine.description import Machine
from polysched.vector.lowering import Lowering

UNSUPPORTED = 2
"""Status of an exported function on a processor that lacks an instruction set."""

_INT32 = ir.IntType(32)
_POINTER = ir.PointerType()
_MOST_THREADS = "omp_get_max_threads"


@dataclass(frozen=True)
class Unscheduled:
    """The program as written, which runs where the schedule is not predicted to gain.

    Attributes:
        program: its loops, with the arrays and parameters of the scheduled loops.
        gains: the condition on the parameters under which the scheduled program runs.
    """

    program: LoopProgram
    gains: Expression


@dataclass(frozen=True)
class ExportedProgram:
    """A program to export, with the program as written for other sizes; None if for none."""

    program: LoopProgram
    unscheduled: Unscheduled | None = None

    @property
    def unscheduled_symbol(self) -> str:
        """The name of the function of the program as written, which is no C identifier."""
        return f"{self.program.name}.unscheduled"


def emit_unscheduled(unscheduled: Unscheduled, symbol: str, machine: Machine) -> str:
    """The LLVM IR of the module that defines the function of an unscheduled program, as text.

    LLVM chooses the width of vectors as C compilers do: in 100 terms of a sum, 256 bits leave 4
    terms for a scalar loop where 512 bits leave 36.
    """
    module = build_module(replace(unscheduled.program, name=symbol), machine)
    kept = [
        feature for feature in machine.features.split(",") if not feature[1:].startswith("prefer-")
    ]
    for function in module.functions:
        if not function.is_declaration:
            compile_for(function, machine.cpu, ",".join(kept))
    return str(module)


def emit_exported_module(exported: ExportedProgram, machine: Machine) -> str:
    """The LLVM IR of a program with the interface above, as text.

    It declares the function of the program as written, which `emit_unscheduled` defines.

    Args:
        machine: one of :func:`polysched.machine.cpuid.checkable`.

    Raises:
        ExportError: the program has the name of a function that it calls.
    """
    return str(build_exported_module(exported, exported.program.name, machine))


def build_exported_module(exported: ExportedProgram, name: str, machine: Machine) -> ir.Module:
    """Build the module of `emit_exported_module`, which a caller may extend; same errors.

    Args:
        name: the name of the exported function.
    """
    program = replace(exported.program, name=name)
    is_threaded = bool(parallel_loops(program.body))
    if is_threaded and program.name in (_MOST_THREADS, TEAM):
        raise ExportError(
            f"kernel '{program.name}' has the name of a function of the OpenMP runtime, which its "
            "parallel loops call; choose another name"
        )
    require_own_name(program.name)
    module = build_module(replace(program, name=f"{program.name}.kernel"), machine)
    for function in module.functions:
        if not function.is_declaration:
            compile_for(function, machine.cpu, machine.features)
    kernel = module.get_global(f"{program.name}.kernel")
    kernel.linkage = "internal"
    check = emit_processor_check(module, program.name, questions(machine.enabled_features))
    choice = partial(_emit_choice, exported, machine)
    _emit_entry(module, program, kernel, check, choice, is_threaded=is_threaded)
    return module


def _emit_entry(
    module: ir.Module,
    program: LoopProgram,
    kernel: ir.Function,
    check: ProcessorCheck,
    choice: Callable[[ir.IRBuilder], None],
    *,
    is_threaded: bool,
) -> None:
    """Emit the exported function.

    Its first call goes through another function, so that it saves no registers in later calls.
    """
    names = [array.name for array in program.arrays.values() if array.role is not Role.TEMPORARY]
    types = [_POINTER] * len(names) + [INDEX] * len(program.parameters)
    function, builder = new_function(module, program.name, ir.FunctionType(_INT32, types))
    compile_for(function, *BASELINE)
    for argument, name in zip(function.args, [*names, *program.parameters], strict=True):
        argument.name = name
    first = _emit_first_call(function, check)
    with builder.if_then(builder.not_(check.is_known(builder)), likely=False):
        builder.ret(builder.call(first, function.args, tail=True))
    choice(builder)
    arguments: list[Any] = list(function.args)
    if is_threaded:
        arguments.insert(len(names), ir.Function(module, PARALLEL, TEAM))
        most = ir.Function(module, ir.FunctionType(_INT32, []), _MOST_THREADS)
        arguments.append(builder.sext(builder.call(most, []), INDEX))
    builder.ret(builder.call(kernel, arguments, tail=True))


def _emit_first_call(exported: ir.Function, check: ProcessorCheck) -> ir.Function:
    """Add the function that checks the processor and calls the exported function again."""
    name = f"{exported.name}.first"
    function, builder = new_function(exported.module, name, exported.ftype, internal=True)
    function.attributes.add("noinline")
    compile_for(function, *BASELINE)
    is_supported = builder.icmp_unsigned("!=", builder.call(check.function, []), _INT32(0))
    with builder.if_then(is_supported):
        builder.ret(builder.call(exported, function.args, tail=True))
    builder.ret(_INT32(UNSUPPORTED))
    return function


def _emit_choice(exported: ExportedProgram, machine: Machine, builder: ir.IRBuilder) -> None:
    """Return the status of the unscheduled program where the scheduled one does not gain."""
    if exported.unscheduled is None:
        return
    names, arguments = exported.program.parameters, builder.function.args
    parameters = dict(zip(names, arguments[len(arguments) - len(names) :], strict=True))
    values = Evaluator(builder, parameters, {}, {})
    condition = Lowering(exported.program, machine).value(exported.unscheduled.gains, None)
    gains = values.value(condition, None).ir
    plain = ir.Function(builder.module, builder.function.ftype, exported.unscheduled_symbol)
    with builder.if_then(builder.not_(gains)):
        builder.ret(builder.call(plain, arguments, tail=True))


TEAM = "GOMP_parallel"
"""Its name: that of libgomp, so that exported code links with ``-fopenmp``."""
