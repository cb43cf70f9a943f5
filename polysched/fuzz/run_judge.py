"""Judging any schedule by running its loops: with values, and with sources for values."""

from __future__ import annotations

import numpy as np

from polysched.errors import KernelError, LoweringError
from polysched.fuzz.instances import Sizes
from polysched.fuzz.judgment import NO_LOOPS, Finding, Judgment, Mode
from polysched.fuzz.storage_judge import spoilt_read
from polysched.fuzz.subject import Subject
from polysched.ir.tree import LoopKind, loops
from polysched.legality.verdict import Cause, Verdict
from polysched.loops.execution import IterationOrder, ascending, descending, shuffled
from polysched.loops.generate import generate_loops
from polysched.loops.interpreter import interpreter
from polysched.loops.last_writer import last_writer_errors
from polysched.loops.nodes import LoopProgram
from polysched.schedule.program import Program
from polysched.schedule.schedule import Schedule

SIZES = (0, 1, 2, 3, 5)
"""Values of the parameters, as far as there are not too many instances."""

MOST_INSTANCES = 250
LARGEST_WITNESS = 2000
"""Instances of the scheduled program at the sizes of a witness, at most, to be run there."""

RUNS = 3
"""Sizes at which one schedule runs, at most."""


def judge_run(subject: Subject, schedule: Schedule, verdict: Verdict) -> Judgment:
    """What the loops compute, at some sizes, and what each of their reads sees.

    Of an accepted schedule everything must be right. A refused one runs at the sizes of its witness
    too. Where tiles spoil each other's memory, some read must see it there. If nothing is wrong
    with another refused schedule, a remark says what the refusal is about.
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
        match spoilt_read(schedule.program, sizes, LARGEST_WITNESS):
            case "":
                detail = f"right at {sizes}"
                return Judgment(Mode.RUN, verdict.kind, Finding.REFUSED_LEGAL, detail)
            case str():
                return Judgment(Mode.RUN, verdict.kind)
    return Judgment(Mode.RUN, verdict.kind, remark=UNSEEN)


TOO_LARGE = "refused, too large to run at the sizes of the witness"
RACE = "refused for a race that no run of ours shows"
"""Lanes and threads run one after the other here: what is written last is what the program writes
last, or the same value; and two elements in one byte do not disturb each other.
"""
UNSEEN = "refused, though no value that anybody sees is wrong"
"""What is written in the wrong order is overwritten or never read, or one tile finds in the memory
of a buffer what another one has left there.
"""

_AT_ONCE = (
    Cause.LANES,
    Cause.REDUCTION_LANES,
    Cause.THREADS,
    Cause.REDUCTION_THREADS,
    Cause.SHARED_BYTE,
)
_BY_VALUES = (Cause.TWO_TILES, Cause.OVERWRITTEN)
"""Causes of which a read that sees another value is the only proof."""


def _is_parallel(program: Program) -> bool:
    return any(loop.kind is LoopKind.PARALLEL for loop in loops(program.tree))


def _wrong(subject: Subject, scheduled: Program, program: LoopProgram, every: list[Sizes]) -> str:
    """The first thing that is wrong at any of the sizes; empty if nothing is."""
    orders: list[IterationOrder] = [ascending]
    if _is_parallel(scheduled):
        orders += [descending, shuffled(len(scheduled.statements))]
    interpreters = [interpreter(program, order=order) for order in orders]
    for sizes in every:
        run = subject.run(sizes)
        try:
            errors = last_writer_errors(
                scheduled, sizes, loops=program, order=orders[-1], declared=run.flow
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
