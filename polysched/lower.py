"""The compilation pipeline: its stages in order, and the entry points that run them.

========== =============================================== ========================================
stage      from -> to                                      where
========== =============================================== ========================================
domain     the declared kernel                             :mod:`polysched.ir`
deps       kernel -> memory-based dependences              :mod:`polysched.dependence`
schedule   kernel + steps -> loop tree                     :mod:`polysched.schedule`
properties loop tree + dependences -> legal loop kinds     :mod:`polysched.legality`
(check)    loop tree + dependences -> verdict              :mod:`polysched.legality`
loops      loop tree -> imperative loops, by isl's AST     :mod:`polysched.loops`
c          loops -> C99 text                               :mod:`polysched.loops.printers.c`
narrow ... loops -> loops, one stage for each pass         :mod:`polysched.vector.pass_list`
vectorize  loops -> explicit vectors, masks and accesses   :mod:`polysched.vector`
windows .. vectors -> vectors, one stage for each pass     :mod:`polysched.vector.pass_list`
vector     vectors after all passes                        :mod:`polysched.vector`
llvm       vectors -> LLVM IR text                         :mod:`polysched.llvm`
asm        LLVM IR -> assembly                             :mod:`polysched.runtime`
========== =============================================== ========================================

Print a stage with :func:`show` or ``polysched show --stage``. The environment variable
``POLYSCHED_DEBUG=deps,loops,llvm,asm`` prints the named stages of each compiled schedule to stderr.
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

from polysched.dependence.printing import format_dependences
from polysched.errors import PolyschedError, suggestion
from polysched.ir.core.kernel import Kernel, Order
from polysched.ir.core.printing import format_kernel
from polysched.ir.core.tree import executed
from polysched.ir.expr.expressions import Expression
from polysched.ir.isl.budget import SAFETY_SECONDS, time_budget
from polysched.legality.check import check
from polysched.legality.condition import Condition, legality_condition
from polysched.legality.reports.answer import advice, answer_of
from polysched.legality.reports.loop_reports import explained, format_loop_reports
from polysched.llvm.emit.module import emit_module
from polysched.llvm.export.c_function import CFunction
from polysched.llvm.export.c_interface import ExportedProgram, Unscheduled
from polysched.loops.analysis.parallel import parallel_loops
from polysched.loops.analysis.size_limits import with_limited_sizes
from polysched.loops.generate import generate_loops
from polysched.loops.ir.nodes import If, LoopProgram
from polysched.loops.isl_ast.schedule_tree import schedule_tree
from polysched.loops.printers.c import print_c
from polysched.loops.printers.pseudo import print_loops
from polysched.loops.separation import simplified_where
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
from polysched.runtime.cache import ObjectCache
from polysched.runtime.collection import collection_paused
from polysched.runtime.compiling import compile_kernel
from polysched.runtime.export import ExportFormat, export_files, write_export
from polysched.runtime.jit import emit_assembly
from polysched.runtime.kernel import CompiledKernel
from polysched.schedule.core.program import Program
from polysched.schedule.notation.printing import format_schedule
from polysched.schedule.schedule import Schedule, as_schedule
from polysched.vector.pass_list import PASSES, run_passes
from polysched.vector.printing import print_vectors

DEBUG_VARIABLE = "POLYSCHED_DEBUG"

_LOOPS: WeakKeyDictionary[Program, LoopProgram] = WeakKeyDictionary()
"""Cache of the generated loops of each live program.

Loop generation by isl takes longer than the rest of the pipeline. Printing a stage, compiling for a
second machine and checking a program against a machine all start from the same loops.
"""

_LIMITED: WeakKeyDictionary[Program, LoopProgram] = WeakKeyDictionary()
"""Cache of the loops that are compiled, for limited sizes."""


def lower(schedule: Schedule) -> LoopProgram:
    """Generate the loops of a schedule without checking that it is legal.

    Raises:
        LoweringError: the schedule cannot be turned into loops.
    """
    program = schedule.program
    loops = _LOOPS.get(program)
    if loops is None:
        loops = _LOOPS[program] = generate_loops(program)
    return loops


def limited_loops(schedule: Schedule) -> LoopProgram:
    """Generate the loops of a schedule for sizes whose numbers fit 64 bits. Raises as `lower`."""
    limited = _LIMITED.get(schedule.program)
    if limited is None:
        limited = _LIMITED[schedule.program] = with_limited_sizes(lower(schedule))
    return limited


def compile(
    schedule: Schedule | Kernel,
    machine: Machine | str | None = None,
    *,
    guard: bool = False,
    cache: ObjectCache | None = None,
    seconds: float = SAFETY_SECONDS,
) -> CompiledKernel:
    """Prove a schedule legal, compile it and return the callable kernel.

    Args:
        schedule: the schedule; a kernel is compiled as declared.
        machine: the target: a description, a preset's name or a file; by default this machine.
        guard: if the schedule is legal for some parameter values only, compile it together with the
            unscheduled program and choose between them at each call.
        cache: the cache of object code on disk; by default in the user's cache folder.
        seconds: limit on the processor time of the proof and of loop generation together; 0 for no
            limit. LLVM's time does not count: the size of the code is limited instead.

    Raises:
        IllegalScheduleError: the schedule breaks a dependence; the message holds the witness, the
            condition under which the schedule is legal, and repairs.
        UnknownLegalityError: legality could not be decided within the limits.
        LoweringError, MachineError: the schedule cannot be compiled for the machine.
    """
    target = as_machine(machine)
    with collection_paused():
        with time_budget(seconds):
            loops = proved(as_schedule(schedule), target, guard=guard)
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
    gains: Expression | None = None,
    seconds: float = SAFETY_SECONDS,
) -> None:
    """Prove a schedule legal and export it as an object file, library, IR, assembly or C text.

    The exported code needs no Python. The function is ``int NAME(arrays..., int64_t parameter...)``
    with the arrays in the order of their declaration. It returns 0 on success, 1 if it cannot
    allocate its workspace, and 2 if the processor lacks an instruction set. If it fails, it has
    written nothing. ``int NAME_supported(void)`` returns whether the processor has the instruction
    sets. Code with parallel loops needs an OpenMP runtime (``-fopenmp``).

    Args:
        schedule: the schedule.
        path: the output file; its extension selects the format: ``.o``, ``.so``, ``.ll``, ``.s`` or
            ``.c``.
        header: the path of a C and C++ header to write, which declares the function.
        machine: the target as in :func:`compile`. Cross-compilation works between 64-bit x86
            machines. C text does not depend on the target.
        guard: as in :func:`compile`.
        c_function: a C function that the code replaces; its signature is exported instead of the
            two functions above.
        gains: the condition on the parameters under which the schedule gains; otherwise the program
            runs as written, as LLVM optimizes it.
        seconds: as in :func:`compile`.

    Raises:
        IllegalScheduleError: the schedule breaks a dependence; the message holds the witness, the
            condition under which the schedule is legal, and repairs.
        UnknownLegalityError: legality could not be decided within the limits.
        ExportError: a file cannot be written, a name is not a C identifier, or linking fails.
        LoweringError, MachineError: the schedule cannot be compiled for the machine.

        After any error an existing output file is unchanged.
    """
    files = export_files(Path(path), None if header is None else Path(header))
    target = as_machine(machine)
    with time_budget(seconds):
        loops = proved(schedule, target, guard=guard)
        fallback = None if c_function is None else c_function.fallback
        as_written = (
            None if fallback is None else with_limited_sizes(lower(Schedule(fallback.kernel)))
        )
        unscheduled = None
        if gains is not None and files.format is not ExportFormat.C:
            unscheduled = unscheduled_variant(schedule, gains)
            loops = replace(loops, body=simplified_where(loops.body, loops.ranges, gains))
    write_export(ExportedProgram(loops, unscheduled), target, files, c_function, as_written)


def unscheduled_variant(schedule: Schedule, gains: Expression) -> Unscheduled:
    """Generate the loops of the program as written, for parameters at which a schedule is slower.

    Args:
        gains: the condition on the parameters under which the schedule gains.
    """
    written = schedule.first(0)
    free = {
        name
        for name, statement in written.program.statements.items()
        if statement.reduction is not None and statement.reduction.order is Order.ANY
    }
    loops = replace(with_limited_sizes(lower(written)), reassociated=frozenset(free))
    return Unscheduled(loops, gains)


def proved(schedule: Schedule, machine: Machine, *, guard: bool) -> LoopProgram:
    """Check a schedule and generate its loops; raises as `export`.

    If the schedule is only legal under a condition and ``guard`` is set, the unscheduled program
    runs wherever the condition fails.
    """
    printed_stages = [stage for stage in os.environ.get(DEBUG_VARIABLE, "").split(",") if stage]
    for stage in STAGES:
        if stage in printed_stages:
            print(f"-- {stage}\n{show(schedule, stage, machine)}", file=sys.stderr)
    verdict = check(schedule)
    condition = legality_condition(schedule) if guard and not verdict.is_legal else None
    if condition is None:
        verdict.raise_if_refused(advice(answer_of("", schedule, verdict)))
        return limited_loops(schedule)
    return with_limited_sizes(
        guarded(lower(condition.schedule), condition, lower(schedule.first(0)))
    )


def guarded(scheduled: LoopProgram, condition: Condition, plain: LoopProgram) -> LoopProgram:
    """Version a program: run ``scheduled`` if the parameters meet the condition, else ``plain``."""
    return replace(
        plain,
        arrays={**plain.arrays, **scheduled.arrays},
        body=If(condition.expression, scheduled.body, plain.body),
    )


def show_dependences(
    schedule: Schedule, *, scheduled: bool = False, relations: bool = False
) -> str:
    """Format the dependences as the table of `polysched.dependence.printing.format_dependences`.

    Args:
        scheduled: show the program after all steps, in its execution order; otherwise the declared
            program.
        relations: add the exact relation of each dependence.
    """
    program = schedule.program if scheduled else schedule.programs[0]
    return format_dependences(
        program.dependences, program.statements, executed(program.tree), relations=relations
    )


def _show_pass(name: str | None, schedule: Schedule, machine: Machine) -> str:
    program = run_passes(lower(schedule), machine, last=name)
    return print_loops(program) if isinstance(program, LoopProgram) else print_vectors(program)


STAGES: Mapping[str, Callable[[Schedule, Machine], str]] = MappingProxyType(
    {
        "domain": lambda schedule, machine: format_kernel(schedule.kernel),
        "deps": lambda schedule, machine: show_dependences(schedule),
        "schedule": lambda schedule, machine: format_schedule(schedule),
        "tree": lambda schedule, machine: schedule_tree(schedule.program, schedule.program.tree),
        "properties": lambda schedule, machine: format_loop_reports(explained(schedule)),
        "loops": lambda schedule, machine: print_loops(lower(schedule)),
        "c": lambda schedule, machine: print_c(lower(schedule)),
        **{stage.name: partial(_show_pass, stage.name) for stage in PASSES},
        "vector": partial(_show_pass, None),
        "llvm": lambda schedule, machine: emit_module(lower(schedule), machine),
        "asm": lambda schedule, machine: emit_assembly(
            emit_module(lower(schedule), machine), machine
        ),
    }
)
"""Printers of the stages, in pipeline order."""


@time_budget(SAFETY_SECONDS)
def show(schedule: Schedule, stage: str, machine: Machine | str | None = None) -> str:
    """Print one stage of the pipeline as text.

    Raises:
        PolyschedError: the stage is unknown, or an earlier stage fails for this schedule.
    """
    if not isinstance(stage, str) or stage not in STAGES:
        raise PolyschedError(f"unknown stage {stage!r}{suggestion(str(stage), STAGES)}")
    return STAGES[stage](schedule, as_machine(machine))
