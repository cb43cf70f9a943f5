"""Judge a schedule by interpreting its loops: compare results, and the source of every read."""

from __future__ import annotations

import numpy as np

from polysched.errors import KernelError, LoweringError
from polysched.fuzz.judge.instances import Sizes
from polysched.fuzz.judge.judgment import NO_LOOPS, Finding, Judgment, Mode
from polysched.fuzz.judge.storage import clobbered_read
from polysched.fuzz.judge.subject import Subject
from polysched.ir.core.tree import LoopKind, loops
from polysched.legality.verdicts.verdict import Cause, Verdict
from polysched.loops.generate import generate_loops
from polysched.loops.interpret.execution import IterationOrder, ascending, descending, shuffled
from polysched.loops.interpret.interpreter import interpreter
from polysched.loops.ir.nodes import LoopProgram
from polysched.loops.verify.last_writer import last_writer_errors
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule

SIZES = (0, 1, 2, 3, 5)
"""Values of the parameters; sizes with more than ``MOST_INSTANCES`` instances are skipped."""

MOST_INSTANCES = 250
"""Most statement instances of one run."""

LARGEST_WITNESS = 2000
"""Most instances of a program to run at the sizes of a witness."""

RUNS = 3
"""Most sizes at which to run one schedule."""


def judge_run(subject: Subject, schedule: Schedule, verdict: Verdict) -> Judgment:
    """Interpret the loops at some sizes; check the results and the source of each read.

    An accepted schedule must have no error. A refused schedule also runs at the sizes of its
    witness. If it was refused because storage is clobbered, some read there must see a clobbered
    value. If any other refused schedule has no error, a remark tells the kind of the refusal.
    """
    try:
        program = generate_loops(schedule.program)
    except LoweringError:
        return Judgment(Mode.RUN, verdict.kind, remark=NO_LOOPS if verdict.is_legal else "")
    violation = verdict.violation
    every = subject.affordable(SIZES, MOST_INSTANCES, RUNS)
    sizes = {} if violation is None else dict(violation.witness.parameters)
    is_small = violation is not None and 0 <= subject.count(sizes) <= LARGEST_WITNESS
    if is_small and sizes not in every:
        every.append(sizes)
    wrong = _wrong(subject, schedule.program, program, every)
    if verdict.is_legal and wrong:
        return Judgment(Mode.RUN, verdict.kind, Finding.WRONG_RESULT, wrong)
    if violation is None or violation.in_kernel or wrong:
        return Judgment(Mode.RUN, verdict.kind)
    if not is_small:
        return Judgment(Mode.RUN, verdict.kind, remark=TOO_LARGE)
    if violation.cause in _AT_ONCE:
        return Judgment(Mode.RUN, verdict.kind, remark=RACE)
    if violation.cause in _BY_VALUES and not _is_parallel(schedule.program):
        match clobbered_read(schedule.program, sizes, LARGEST_WITNESS):
            case "":
                detail = f"right at {sizes}"
                return Judgment(Mode.RUN, verdict.kind, Finding.REFUSED_LEGAL, detail)
            case str():
                return Judgment(Mode.RUN, verdict.kind)
    return Judgment(Mode.RUN, verdict.kind, remark=UNSEEN)


TOO_LARGE = "refused, too large to run at the sizes of the witness"
RACE = "refused for a race that no run of ours shows"
"""The interpreter runs lanes and threads one after the other, so most races have no effect: the
last write stores the program's last value, and elements of one byte do not interfere.
"""
UNSEEN = "refused, though no value that anybody sees is wrong"
"""Writes in the wrong order are overwritten or never read, or a tile finds in a buffer the value
that another tile left there.
"""

_AT_ONCE = (
    Cause.LANES,
    Cause.REDUCTION_LANES,
    Cause.THREADS,
    Cause.REDUCTION_THREADS,
    Cause.SHARED_BYTE,
)
_BY_VALUES = (Cause.TWO_TILES, Cause.OVERWRITTEN)
"""Causes that must show as a read of a clobbered value."""


def _is_parallel(program: Program) -> bool:
    return any(loop.kind is LoopKind.PARALLEL for loop in loops(program.tree))


def _wrong(subject: Subject, scheduled: Program, program: LoopProgram, every: list[Sizes]) -> str:
    """Describe the first error at any of the sizes; empty if there is none."""
    orders: list[IterationOrder] = [ascending]
    if _is_parallel(scheduled):
        orders += [descending, shuffled(len(scheduled.statements))]
    interpreters = [interpreter(program, order=order) for order in orders]
    is_declared = scheduled.kernel is subject.kernel  # else temporaries are inlined
    for sizes in every:
        run = subject.run(sizes)
        flow = run.flow if is_declared else None
        try:
            errors = last_writer_errors(
                scheduled, sizes, loops=program, order=orders[-1], declared=flow
            )
            if errors:
                return f"at {sizes}: {errors[0]}"
            for interpreted in interpreters:
                got = interpreted(run.arguments, sizes)
                for name, expected in run.results.items():
                    if not np.array_equal(expected, got[name], equal_nan=True):
                        return f"at {sizes}: array '{name}' differs"
        except KernelError as error:
            return f"at {sizes}: {error}"
    return ""
