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
from types import MappingProxyType

from polysched.codegen.module import emit_module
from polysched.dependence.printing import format_dependences
from polysched.errors import PolyschedError, suggestion
from polysched.ir.printing import format_kernel
from polysched.legality.check import check
from polysched.legality.condition import Condition, legality_condition
from polysched.legality.loop_properties import explain_loops
from polysched.legality.loop_reports import format_loop_reports
from polysched.loops.c import print_c
from polysched.loops.generate import generate_loops
from polysched.loops.nodes import If, LoopProgram
from polysched.loops.pseudo import print_loops
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.cache import ObjectCache
from polysched.runtime.jit import emit_assembly
from polysched.runtime.kernel import CompiledKernel, compile_kernel
from polysched.schedule.printing import format_tree
from polysched.schedule.schedule import Schedule

DEBUG_VARIABLE = "POLYSCHED_DEBUG"


def lower(schedule: Schedule) -> LoopProgram:
    """The loops of a schedule, which is not checked here.

    Raises:
        LoweringError: the schedule cannot be turned into loops.
    """
    return generate_loops(schedule.program)


def compile(
    schedule: Schedule,
    machine: Machine | str | None = None,
    *,
    guard: bool = False,
    cache: ObjectCache | None = None,
) -> CompiledKernel:
    """Prove a schedule legal, compile it and return the callable kernel.

    Args:
        schedule: the schedule.
        machine: what to compile for: a description, a preset's name, a file; by default this
            machine.
        guard: if the schedule is legal for some values of the parameters only, compile it together
            with the program as written, and choose between them at each call.
        cache: where object code is kept on disk; by default in the user's cache folder.

    Raises:
        IllegalScheduleError: the schedule breaks a dependence; the message holds the witness.
        UnknownLegalityError: legality could not be decided within the quota.
        LoweringError, MachineError: there is no machine code for it.
    """
    target = _machine(machine)
    wanted = _debug_stages()
    for stage in STAGES:
        if stage in wanted:
            print(f"-- {stage}\n{show(schedule, stage, target)}", file=sys.stderr)
    verdict = check(schedule)
    condition = legality_condition(schedule) if guard and not verdict.is_legal else None
    if condition is None:
        verdict.raise_if_refused()
        loops = lower(schedule)
    else:
        loops = guarded(lower(condition.schedule), condition, lower(Schedule(schedule.kernel)))
    return compile_kernel(loops, emit_module(loops, target), target, cache=cache)


def guarded(scheduled: LoopProgram, condition: Condition, plain: LoopProgram) -> LoopProgram:
    """The scheduled loops where the condition on the parameters holds, else the plain ones."""
    return replace(
        plain,
        arrays={**plain.arrays, **scheduled.arrays},
        body=If(condition.expression, scheduled.body, plain.body),
    )


def _machine(machine: Machine | str | None) -> Machine:
    return machine if isinstance(machine, Machine) else load_machine(machine)


def _debug_stages() -> list[str]:
    return [stage for stage in os.environ.get(DEBUG_VARIABLE, "").split(",") if stage]


STAGES: Mapping[str, Callable[[Schedule, Machine], str]] = MappingProxyType(
    {
        "domain": lambda schedule, machine: format_kernel(schedule.kernel),
        "deps": lambda schedule, machine: format_dependences(schedule.program.dependences),
        "schedule": lambda schedule, machine: format_tree(schedule.program),
        "properties": lambda schedule, machine: format_loop_reports(explain_loops(schedule)),
        "loops": lambda schedule, machine: print_loops(lower(schedule)),
        "c": lambda schedule, machine: print_c(lower(schedule)),
        "llvm": lambda schedule, machine: emit_module(lower(schedule), machine),
        "asm": lambda schedule, machine: emit_assembly(
            emit_module(lower(schedule), machine), machine
        ),
    }
)
"""The printable stages in the order of the flow."""


def show(schedule: Schedule, stage: str, machine: Machine | str | None = None) -> str:
    """One stage of the flow as text.

    Raises:
        PolyschedError: there is no such stage, or the schedule cannot be brought there.
    """
    if stage not in STAGES:
        raise PolyschedError(f"unknown stage '{stage}'{suggestion(stage, STAGES)}")
    return STAGES[stage](schedule, _machine(machine))
