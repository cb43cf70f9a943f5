"""Every kind of witness stands up to arithmetic, and no changed one does."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from polysched.dependence.relations import DependenceKind, Reference
from polysched.fuzz.exploring import Judges, judged
from polysched.fuzz.judge.judgment import Finding, Mode
from polysched.fuzz.judge.subject import Subject
from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import Sequence, executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.isl.smallest import SmallPoint
from polysched.legality import check as checker
from polysched.legality.check import check, find_violation, kernel_violation
from polysched.legality.checks.bounds import bounds_violation
from polysched.legality.checks.storage import storage_violation
from polysched.legality.verdicts.verdict import (
    Cause,
    Occurrence,
    Timestamp,
    UnknownLegalityError,
    VerdictKind,
    Violation,
    Witness,
)
from polysched.legality.verdicts.witness import occurrence
from polysched.legality.verdicts.witness_check import _interrupted, unconfirmed
from polysched.legality.verdicts.witness_end import End
from polysched.machine.load import load_machine
from polysched.schedule.core.program import Program, initial_program
from polysched.schedule.schedule import Schedule
from tests.instructions.test_declaration import nest
from tests.legality.checks.test_once import with_domain, with_value
from tests.legality.kernels import (
    copy_shifted,
    interrupted_sums,
    matmul,
    overlapping_sums,
    producer_consumer,
    windows,
)
from tests.schedule.primitives.test_tensorize import dots
from tests.support import packed_kernels
from tests.support.indirect import histogram, permutation
from tests.support.kernels import prefix


def behind() -> Kernel:
    """``S: t[i] = b[i]``, then ``T: b[i + 1] = 1``: T[0] comes before S[1]."""
    build = KernelBuilder("behind")
    n = build.parameter("N", minimum=1)
    b, t = build.inout("b", i32, (n + 1,)), build.output("t", i32, (n,))
    with build.loops(i=n) as i:
        with build.statement("S"):
            t[i] = b[i]
        with build.statement("T"):
            b[i + 1] = 1
    return build.kernel()


def outside() -> Kernel:
    build = KernelBuilder("outside")
    n = build.parameter("N", minimum=1)
    a = build.inout("A", i32, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        a[i] = a[i + 1]
    return build.kernel()


def sum_without_start() -> Kernel:
    build = KernelBuilder("sum")
    n = build.parameter("N", minimum=1)
    a, s = build.input("a", i32, (n,)), build.output("s", i32, (1,))
    with build.loops(i=n) as i, build.statement("S", order="any"):
        s[0] += a[i]
    return build.kernel()


def unfed() -> Program:
    """A buffer that nothing fills: no step makes such a program."""
    program = Schedule(windows()).promote("t", "i").program
    program = with_domain(program, "S", "[N] -> { S[i, k] : false }")
    without = [one for one in program.dependences if one.kind is not DependenceKind.FLOW]
    return replace(program, dependences=tuple(without))


def in_two_threads() -> Program:
    return Schedule(windows()).promote("t", "i").reorder("k", "i").parallel("k").program


def at_one_time() -> Program:
    program = initial_program(copy_shifted(1, 0))
    return program.with_tree(
        with_value(program.tree, "j", "[N, M] -> { S[i, j] -> [floor(j / 2)] }")
    )


def lost() -> Program:
    domain = "[N] -> { P[i] : N >= 2 and 0 < i <= N + 1 }"
    return with_domain(initial_program(producer_consumer()), "P", domain)


def unplaced() -> Program:
    program = initial_program(producer_consumer())
    assert isinstance(program.tree, Sequence)
    return program.with_tree(program.tree.children[1])


def added() -> Program:
    domain = "[N] -> { P[i] : N >= 2 and 0 <= i <= N + 2 }"
    return with_domain(initial_program(producer_consumer()), "P", domain)


def reassociated() -> Program:
    options = ("llvm.x86.avx512.vpdpbusd.512", ("sums", "a", "b"))
    instruction = Instruction(nest(), *options, broadcast=("a", "b"), reassociates=True)
    schedule = Schedule(dots(order="exact")).vectorize("n", 16).unroll("r")
    return schedule.tensorize("nv", instruction).program


def of_storage(program: Program) -> Violation | None:
    return storage_violation(program, executed(program.tree))


def of_bounds(program: Program) -> Violation | None:
    return bounds_violation(program, program.statements.values())


Finder = Callable[[Program], Violation | None]

CASES: dict[str, tuple[Cause, Program, Finder]] = {
    "loop": (
        Cause.LOOP,
        Schedule(copy_shifted(1, -1)).reorder("j", "i").program,
        find_violation,
    ),
    "sequence": (Cause.SEQUENCE, Schedule(behind()).distribute("i").program, find_violation),
    "lanes": (Cause.LANES, Schedule(prefix()).vectorize("i", 8).program, find_violation),
    "lanes that may meet": (
        Cause.LANES,
        Schedule(permutation()).vectorize("i", 8).program,
        find_violation,
    ),
    "lanes of a reduction": (
        Cause.REDUCTION_LANES,
        Schedule(matmul("any")).vectorize("k", 4).program,
        find_violation,
    ),
    "lanes of a reduction that may meet": (
        Cause.REDUCTION_LANES,
        Schedule(histogram()).vectorize("i", 8).program,
        find_violation,
    ),
    "threads": (Cause.THREADS, Schedule(prefix()).parallel("i").program, find_violation),
    "threads of a reduction": (
        Cause.REDUCTION_THREADS,
        Schedule(matmul("any")).parallel("k").program,
        find_violation,
    ),
    "terms of one instruction": (Cause.INSTRUCTION, reassociated(), find_violation),
    "bytes": (
        Cause.SHARED_BYTE,
        Schedule(packed_kernels.pack("i3")).parallel("i").program,
        find_violation,
    ),
    "one time": (Cause.SAME_TIME, at_one_time(), find_violation),
    "two tiles": (
        Cause.TWO_TILES,
        Schedule(windows()).promote("t", "i").distribute("k").distribute("i").program,
        find_violation,
    ),
    "two tiles in lanes": (
        Cause.TWO_TILES,
        Schedule(matmul()).promote("C", "update.j").vectorize("update.j", 4).program,
        find_violation,
    ),
    "overwritten": (
        Cause.OVERWRITTEN,
        Schedule(producer_consumer(2)).fold_storage("t", "d0", 2).program,
        find_violation,
    ),
    "two threads": (Cause.LIFETIME, in_two_threads(), of_storage),
    "unfed": (Cause.LIFETIME, unfed(), of_storage),
    "interrupted": (Cause.INTERRUPTED, interrupted_sums().program, find_violation),
    "outside": (Cause.OUTSIDE, initial_program(outside()), kernel_violation),
    "undefined": (Cause.NEVER_WRITTEN, initial_program(sum_without_start()), kernel_violation),
    "lost": (Cause.LOST, lost(), find_violation),
    "unplaced": (Cause.LOST, unplaced(), find_violation),
    "added": (Cause.ADDED, added(), find_violation),
}


def found(name: str) -> tuple[Program, Violation]:
    cause, program, finder = CASES[name]
    violation = finder(program)
    assert violation is not None
    assert violation.cause is cause
    return program, violation


def test_there_is_a_case_for_every_cause() -> None:
    assert {cause for cause, _, _ in CASES.values()} == set(Cause)


@pytest.mark.parametrize("name", CASES)
def test_a_witness_stands_up_to_arithmetic(name: str) -> None:
    assert unconfirmed(*found(name)) == ""


def changed_ends(one: Occurrence) -> Iterator[tuple[str, Occurrence]]:
    if one.instance:
        yield "far", replace(one, instance=(*one.instance[:-1], one.instance[-1] + 1000))
        yield "short", replace(one, instance=one.instance[1:])
    yield "stranger", replace(one, statement="nobody")
    if one.element:
        yield "element", replace(one, element=(*one.element[:-1], one.element[-1] + 77))
    if one.array is not None:
        yield "action", replace(one, action="reads" if one.action == "writes" else "writes")
    if one.old:
        yield "old", replace(one, old=later(one.old))
    if one.new:
        yield "new", replace(one, new=later(one.new))


def later(time: Timestamp) -> Timestamp:
    (loop, value), *rest = time
    return ((loop, value + 1), *rest)


def changed(violation: Violation) -> Iterator[tuple[str, Violation]]:
    witness = violation.witness

    def with_witness(changed: Witness) -> Violation:
        return replace(violation, witness=changed)

    for what, end in changed_ends(witness.source):
        yield f"source: {what}", with_witness(replace(witness, source=end))
    if witness.sink is not None:
        for what, end in changed_ends(witness.sink):
            yield f"sink: {what}", with_witness(replace(witness, sink=end))
        yield "alone", with_witness(replace(witness, sink=None))
        yield "same", with_witness(replace(witness, sink=witness.source))
    if witness.parameters:
        yield "no sizes", with_witness(replace(witness, parameters=()))
        negative = tuple((name, -1) for name, _ in witness.parameters)
        yield "context", with_witness(replace(witness, parameters=negative))


@pytest.mark.parametrize("name", CASES)
def test_no_changed_witness_stands_up(name: str) -> None:
    program, violation = found(name)
    accepted = [what for what, wrong in changed(violation) if not unconfirmed(program, wrong)]
    assert accepted == []


@pytest.mark.parametrize("name", ["loop", "sequence", "two tiles", "overwritten", "lanes"])
def test_source_and_sink_are_not_exchanged(name: str) -> None:
    program, violation = found(name)
    witness = violation.witness
    assert witness.sink is not None
    turned = replace(witness, source=witness.sink, sink=witness.source)
    assert unconfirmed(program, replace(violation, witness=turned))


@pytest.mark.parametrize(
    ("name", "other", "doubt"),
    [
        ("loop", Cause.LANES, "S[2,3] and S[3,2] do not run at once"),
        ("lanes", Cause.LOOP, "the schedule does not run S[2] before S[1] there"),
        ("lanes", Cause.SAME_TIME, "S[1] and S[2] run at different times"),
        ("threads", Cause.LANES, "S[1] and S[2] do not run at once"),
        ("two tiles", Cause.LIFETIME, "t_local[0,0] and t_local[0,0] are not"),
        ("outside", Cause.NEVER_WRITTEN, "the caller defines A"),
        ("undefined", Cause.OUTSIDE, "array s has the shape (1,)"),
        ("lost", Cause.SEQUENCE, "1 instances do not show that the sink's statement stands"),
    ],
)
def test_another_cause_is_doubted(name: str, other: Cause, doubt: str) -> None:
    program, violation = found(name)
    if name == "undefined":
        violation = replace(violation, shape=(7,))
    assert unconfirmed(program, replace(violation, cause=other)).startswith(doubt)


def with_ends(
    program: Program, violation: Violation, *ends: tuple[Reference, tuple[int, ...]]
) -> Violation:
    """The violation with other instances, whose times and elements are right."""
    sizes = violation.witness.parameters
    source, sink = (
        occurrence(program, reference, SmallPoint(sizes, instance)) for reference, instance in ends
    )
    return replace(violation, witness=Witness(sizes, source, sink))


def test_elements_without_a_byte_in_common_are_doubted() -> None:
    program = Schedule(packed_kernels.pack("i4")).parallel("i").program
    violation = find_violation(program)
    assert violation is not None
    write = Reference(violation.witness.source.statement, 0)
    sizes = (("n", 3),)
    violation = replace(violation, witness=replace(violation.witness, parameters=sizes))
    assert not unconfirmed(program, with_ends(program, violation, (write, (0,)), (write, (1,))))
    doubt = unconfirmed(program, with_ends(program, violation, (write, (1,)), (write, (2,))))
    assert doubt == "w[1] and w[2] have no byte in common"


def test_a_value_that_is_written_later_is_not_overwritten() -> None:
    program, violation = found("two tiles")
    read, write = Reference("T", 1), Reference("S", 0)
    assert not unconfirmed(program, with_ends(program, violation, (read, (0, 0)), (write, (1, 0))))
    doubt = unconfirmed(program, with_ends(program, violation, (read, (1, 0)), (write, (0, 0))))
    assert doubt == "the value that T[1,0] reads is written after S[0,0]"


def test_what_is_read_in_time_is_not_overwritten() -> None:
    _, violation = found("two tiles")
    program = Schedule(windows()).promote("t", "i").program
    ends = with_ends(program, violation, (Reference("T", 1), (0, 0)), (Reference("S", 0), (1, 0)))
    assert unconfirmed(program, ends) == "T[0,0] reads before S[1,0] writes"


def test_an_element_inside_is_not_outside() -> None:
    program, violation = found("outside")
    sizes = (("N", 3),)
    shown = occurrence(program, Reference("S", 1), SmallPoint(sizes, (0,)))
    inside = replace(violation, witness=Witness(sizes, shown), shape=(3,))
    assert unconfirmed(program, inside) == "A[1] lies inside the array"


def test_each_doubt_is_named() -> None:
    program, violation = found("loop")
    named = {what: unconfirmed(program, wrong) for what, wrong in changed(violation)}
    assert named["context"] == "the context excludes these parameters"
    assert named["source: far"] == "S[2,1003] is not in the domain of S"


def test_data_may_not_lead_outside_of_the_declared_range() -> None:
    program, violation = found("lanes that may meet")
    witness = violation.witness
    assert witness.sink is not None
    source, sink = (replace(one, element=(77,)) for one in (witness.source, witness.sink))
    wrong = replace(violation, witness=replace(witness, source=source, sink=sink))
    assert unconfirmed(program, wrong) == "P[0] does not touch y[77]"


def test_an_unconfirmed_witness_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(copy_shifted(1, -1)).reorder("j", "i")
    _, violation = found("loop")
    assert violation.witness.sink is not None
    sink = replace(violation.witness.sink, element=(0, 0))
    wrong = replace(violation, witness=replace(violation.witness, sink=sink))
    monkeypatch.setattr(checker, "find_violation", lambda program: wrong)
    verdict = check(schedule)
    assert verdict.kind is VerdictKind.UNKNOWN
    assert verdict.doubted is wrong
    assert verdict.violation is None
    assert str(verdict) == (
        "unknown: the analysis found a violation (order of A: the loop runs the sink's iteration "
        "before the source's), but arithmetic does not confirm its witness: S[3,2] does not touch "
        "A[0,0]. This is an error in polysched; please report it with the kernel and the schedule"
    )
    with pytest.raises(UnknownLegalityError):
        verdict.raise_if_refused()
    judgment = judged(Subject(schedule.kernel), schedule, Mode.ORDER, Judges(load_machine()))
    assert judgment.finding is Finding.WRONG_WITNESS


def test_subscripts_and_domains_beyond_64_bits_are_exact() -> None:
    """`3 * i` leaves 64 bits at the witness, and a bound of the domain needs 65."""
    build = KernelBuilder("huge")
    y = build.inout("y", i32, (10,))
    with build.loops(i=(-(2**63), 2**63 - 1)) as i, build.statement("S"):
        y[i % 10] = y[(3 * i) % 10]
    verdict = check(Schedule(build.kernel()).vectorize("i", 8))
    assert verdict.kind is VerdictKind.ILLEGAL
    assert verdict.violation is not None
    source, sink = verdict.violation.witness.source, verdict.violation.witness.sink
    assert sink is not None
    subscripts = {"writes": lambda i: i % 10, "reads": lambda i: 3 * i % 10}
    for end in (source, sink):
        assert end.element == (subscripts[end.action](end.instance[0]),)


def test_an_interrupted_tile_is_not_copied_out_before_the_other_is_copied_in() -> None:
    """The same two copies in, in a schedule that runs one tile after the other."""
    violation = check(interrupted_sums()).violation
    assert violation is not None
    assert violation.cause is Cause.INTERRUPTED
    sink = violation.witness.sink
    assert sink is not None
    sizes = dict(violation.witness.parameters)

    def claims(schedule: Schedule) -> list[str]:
        ends = (End(schedule.program, sizes, end) for end in (violation.witness.source, sink))
        return list(_interrupted(violation, *ends))

    assert claims(interrupted_sums()) == []
    one_by_one = Schedule(overlapping_sums()).promote("y", "i")
    assert any("copies out before" in claim for claim in claims(one_by_one))
