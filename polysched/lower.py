"""The flow, stage by stage, in order: this file is the list of passes.

========== =============================================== ========================================
stage      from -> to                                      where
========== =============================================== ========================================
domain     the declared kernel                             :mod:`polysched.ir`
deps       kernel -> memory-based dependences              :mod:`polysched.dependence`
schedule   kernel + steps -> loop tree                     :mod:`polysched.schedule`
properties loop tree + dependences -> what loops could be  :mod:`polysched.legality`
(check)    loop tree + dependences -> verdict              :mod:`polysched.legality`
loops      loop tree -> imperative loops, by isl's AST     :mod:`polysched.loops`
c          loops -> C99 text                               :mod:`polysched.loops.c`
unroll ... loops -> loops, one stage a pass                :mod:`polysched.codegen.passes`
llvm       loops -> LLVM IR text                           :mod:`polysched.codegen`
asm        LLVM IR -> assembly                             :mod:`polysched.runtime`
========== =============================================== ========================================

Every stage can be printed: :func:`show`, ``polysched show --stage``, or, for what is compiled, the
environment variable ``POLYSCHED_DEBUG=deps,loops,llvm,asm`` (printed to the error output).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from weakref import WeakKeyDictionary

from polysched.codegen.c_function import CFunction
from polysched.codegen.module import emit_module
from polysched.codegen.passes import PASSES, run_passes
from polysched.dependence.printing import format_dependences
from polysched.errors import PolyschedError, suggestion
from polysched.ir.budget import DEFAULT_SECONDS, time_budget
from polysched.ir.printing import format_kernel
from polysched.ir.tree import executed
from polysched.legality.check import check
from polysched.legality.condition import Condition, legality_condition
from polysched.legality.loop_properties import explain_loops
from polysched.legality.loop_reports import format_loop_reports
from polysched.loops.c import print_c
from polysched.loops.generate import generate_loops
from polysched.loops.nodes import If, LoopProgram
from polysched.loops.parallel import parallel_loops
from polysched.loops.pseudo import print_loops
from polysched.loops.size_limits import with_limited_sizes
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
from polysched.runtime.cache import ObjectCache
from polysched.runtime.collection import collection_paused
from polysched.runtime.export import export_files, write_export
from polysched.runtime.jit import emit_assembly
from polysched.runtime.kernel import CompiledKernel, compile_kernel
from polysched.schedule.printing import format_schedule
from polysched.schedule.program import Program
from polysched.schedule.schedule import Schedule

DEBUG_VARIABLE = "POLYSCHED_DEBUG"


_LOOPS: WeakKeyDictionary[Program, LoopProgram] = WeakKeyDictionary()
"""The loops of programs that are still held: a stage that is shown, code for a second machine and
what a machine fits are of the same loops, which take isl longer than the rest of the flow.
"""


def lower(schedule: Schedule) -> LoopProgram:
    """The loops of a schedule, which is not checked here.

    Raises:
        LoweringError: the schedule cannot be turned into loops.
    """
    program = schedule.program
    loops = _LOOPS.get(program)
    if loops is None:
        loops = _LOOPS[program] = generate_loops(program)
    return loops


def compile(
    schedule: Schedule,
    machine: Machine | str | None = None,
    *,
    guard: bool = False,
    cache: ObjectCache | None = None,
    seconds: float = DEFAULT_SECONDS,
) -> CompiledKernel:
    """Prove a schedule legal, compile it and return the callable kernel.

    Args:
        schedule: the schedule.
        machine: what to compile for: a description, a preset's name, a file; by default this
            machine.
        guard: if the schedule is legal for some values of the parameters only, compile it together
            with the program as written, and choose between them at each call.
        cache: where object code is kept on disk; by default in the user's cache folder.
        seconds: the wall time of the proof and of the generation of loops together; 0: no limit.
            LLVM's time is not counted: the size of the code is limited instead.

    Raises:
        IllegalScheduleError: the schedule breaks a dependence; the message holds the witness.
        UnknownLegalityError: legality could not be decided within the limits.
        LoweringError, MachineError: there is no machine code for it.
    """
    target = as_machine(machine)
    with collection_paused():
        with time_budget(seconds):
            loops = _proved(schedule, target, guard=guard)
        threaded = bool(parallel_loops(loops.body))
        text = emit_module(loops, target)
        return compile_kernel(loops, text, target, threaded=threaded, cache=cache)


def export(
    schedule: Schedule,
    path: str | Path,
    *,
    header: str | Path | None = None,
    machine: Machine | str | None = None,
    guard: bool = False,
    c_function: CFunction | None = None,
    seconds: float = DEFAULT_SECONDS,
) -> None:
    """Prove a schedule legal and write its code for programs that need no Python.

    The function is ``int NAME(arrays..., int64_t parameter...)``, the arrays in the order of
    declaration. It returns 0, 1 if there is no memory for its workspace, or 2 if the processor
    lacks an instruction set; nothing has been written then. ``int NAME_supported(void)`` tells
    whether the processor has what it takes. Code with parallel loops needs an OpenMP runtime
    (``-fopenmp``).

    Args:
        schedule: the schedule.
        path: the file; its extension says what it is: ``.o``, ``.so``, ``.ll``, ``.s`` or ``.c``.
        header: where to write a header for C and C++ that says how to call the function.
        machine: what to compile for, as in :func:`compile`; code for another one than this may be
            made as long as both are 64-bit x86. C text is the same for all.
        guard: as in :func:`compile`.
        c_function: the C function whose place the code takes, by its own signature, in place of the
            two functions above.
        seconds: as in :func:`compile`.

    Raises:
        IllegalScheduleError: the schedule breaks a dependence; the message holds the witness.
        UnknownLegalityError: legality could not be decided within the limits.
        ExportError: a file cannot be written, a name is none in C, or linking fails. A file that
            was there is as it was, after all other errors too.
        LoweringError, MachineError: there is no machine code for it.
    """
    files = export_files(Path(path), None if header is None else Path(header))
    target = as_machine(machine)
    with time_budget(seconds):
        loops = _proved(schedule, target, guard=guard)
    write_export(loops, target, files, c_function)


def _proved(schedule: Schedule, machine: Machine, *, guard: bool) -> LoopProgram:
    """The loops of a schedule that is legal, or that the plain program stands in for where it is
    not.
    """
    wanted = _debug_stages()
    for stage in STAGES:
        if stage in wanted:
            print(f"-- {stage}\n{show(schedule, stage, machine)}", file=sys.stderr)
    verdict = check(schedule)
    condition = legality_condition(schedule) if guard and not verdict.is_legal else None
    if condition is None:
        verdict.raise_if_refused()
        return with_limited_sizes(lower(schedule))
    return with_limited_sizes(
        guarded(lower(condition.schedule), condition, lower(schedule.first(0)))
    )


def guarded(scheduled: LoopProgram, condition: Condition, plain: LoopProgram) -> LoopProgram:
    """The scheduled loops where the condition on the parameters holds, else the plain ones."""
    return replace(
        plain,
        arrays={**plain.arrays, **scheduled.arrays},
        body=If(condition.expression, scheduled.body, plain.body),
    )


def _debug_stages() -> list[str]:
    return [stage for stage in os.environ.get(DEBUG_VARIABLE, "").split(",") if stage]


def show_dependences(
    schedule: Schedule, *, scheduled: bool = False, relations: bool = False
) -> str:
    """The table of :func:`polysched.dependence.printing.format_dependences`.

    Args:
        scheduled: of the program after the steps, along the loops that it really runs; otherwise of
            the program as declared.
        relations: with the exact relations.
    """
    program = schedule.program if scheduled else schedule.programs[0]
    return format_dependences(
        program.dependences, program.statements, executed(program.tree), relations=relations
    )


def _show_pass(name: str, schedule: Schedule, machine: Machine) -> str:
    return print_loops(run_passes(lower(schedule), machine, last=name))


STAGES: Mapping[str, Callable[[Schedule, Machine], str]] = MappingProxyType(
    {
        "domain": lambda schedule, machine: format_kernel(schedule.kernel),
        "deps": lambda schedule, machine: show_dependences(schedule),
        "schedule": lambda schedule, machine: format_schedule(schedule),
        "properties": lambda schedule, machine: format_loop_reports(explain_loops(schedule)),
        "loops": lambda schedule, machine: print_loops(lower(schedule)),
        "c": lambda schedule, machine: print_c(lower(schedule)),
        **{one.name: partial(_show_pass, one.name) for one in PASSES},
        "llvm": lambda schedule, machine: emit_module(lower(schedule), machine),
        "asm": lambda schedule, machine: emit_assembly(
            emit_module(lower(schedule), machine), machine
        ),
    }
)
"""The printable stages in the order of the flow."""


@time_budget()
def show(schedule: Schedule, stage: str, machine: Machine | str | None = None) -> str:
    """One stage of the flow as text.

    Raises:
        PolyschedError: there is no such stage, or the schedule cannot be brought there.
    """
    if not isinstance(stage, str) or stage not in STAGES:
        raise PolyschedError(f"unknown stage {stage!r}{suggestion(str(stage), STAGES)}")
    return STAGES[stage](schedule, as_machine(machine))
