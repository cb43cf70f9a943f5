"""Modules for programs in other languages: the plain C interface around a kernel's function.

Beside the kernel's own function, which becomes ``NAME.kernel`` and cannot be seen from outside, the
module has::

    int NAME(arrays..., int64_t parameter...)
    int NAME_supported(void)

``NAME`` returns 0, 1 if there is no memory for its workspace, or 2 if the processor lacks an
instruction set; of 1 and 2 nothing has been written. A kernel with parallel loops gets the team of
threads of the OpenMP runtime that it is linked with, see :mod:`polysched.llvm.emit.regions`.

All functions say in attributes which processor they are for, so that the text of the module gives
the same code in any of LLVM's tools.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llvmlite import ir

from polysched.errors import ExportError
from polysched.ir.core.kernel import Role
from polysched.llvm.builder.functions import compile_for, new_function
from polysched.llvm.emit.module import build_module
from polysched.llvm.emit.regions import PARALLEL, TEAM
from polysched.llvm.export.processor_check import BASELINE, ProcessorCheck, emit_processor_check
from polysched.llvm.values.expressions import INDEX
from polysched.loops.analysis.parallel import parallel_loops
from polysched.loops.ir.nodes import LoopProgram
from polysched.machine.cpuid import questions
from polysched.machine.description import Machine

UNSUPPORTED = 2
"""What the exported function returns on a processor that it is not for."""

_INT32 = ir.IntType(32)
_POINTER = ir.PointerType()
_MOST_THREADS = "omp_get_max_threads"


def emit_exported_module(program: LoopProgram, machine: Machine) -> str:
    """The LLVM IR of a program with the interface above, as text.

    Args:
        machine: one of :func:`polysched.machine.cpuid.checkable`.

    Raises:
        LoweringError: the program says something that has no machine code.
        ExportError: it has the name of a function that it calls.
    """
    return str(build_exported_module(program, machine))


def build_exported_module(program: LoopProgram, machine: Machine) -> ir.Module:
    """The module of `emit_exported_module`, which functions may be added to; raises as that."""
    is_threaded = bool(parallel_loops(program.body))
    if is_threaded and program.name in (_MOST_THREADS, TEAM):
        raise ExportError(
            f"kernel '{program.name}' has the name of a function of the OpenMP runtime, which its "
            "parallel loops call; choose another name"
        )
    module = build_module(replace(program, name=f"{program.name}.kernel"), machine)
    for function in module.functions:
        if not function.is_declaration:
            compile_for(function, machine.cpu, machine.features)
    kernel = module.get_global(f"{program.name}.kernel")
    kernel.linkage = "internal"
    check = emit_processor_check(module, program.name, questions(machine.enabled_features))
    _emit_entry(module, program, kernel, check, is_threaded=is_threaded)
    return module


def _emit_entry(
    module: ir.Module,
    program: LoopProgram,
    kernel: ir.Function,
    check: ProcessorCheck,
    *,
    is_threaded: bool,
) -> None:
    """The function that others call."""
    names = [array.name for array in program.arrays.values() if array.role is not Role.TEMPORARY]
    types = [_POINTER] * len(names) + [INDEX] * len(program.parameters)
    function, builder = new_function(module, program.name, ir.FunctionType(_INT32, types))
    compile_for(function, *BASELINE)
    for argument, name in zip(function.args, [*names, *program.parameters], strict=True):
        argument.name = name
    with builder.if_then(builder.not_(check.is_known(builder)), likely=False):
        answer = builder.call(check.function, [])
        with builder.if_then(builder.icmp_unsigned("==", answer, _INT32(0))):
            builder.ret(_INT32(UNSUPPORTED))
    arguments: list[Any] = list(function.args)
    if is_threaded:
        arguments.insert(len(names), ir.Function(module, PARALLEL, TEAM))
        most = ir.Function(module, ir.FunctionType(_INT32, []), _MOST_THREADS)
        arguments.append(builder.sext(builder.call(most, []), INDEX))
    builder.ret(builder.call(kernel, arguments))
