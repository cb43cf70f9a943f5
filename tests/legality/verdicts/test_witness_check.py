"""Every kind of witness stands up to arithmetic, and no changed one does."""

from dataclasses import replace

import pytest

from polysched.dependence.relations import Reference
from polysched.fuzz.exploring import Judges, judged
from polysched.fuzz.judge.judgment import Finding, Mode
from polysched.fuzz.judge.subject import Subject
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.isl.smallest import SmallPoint
from polysched.legality import check as checker
from polysched.legality.check import check, find_violation
from polysched.legality.verdicts.verdict import (
    Cause,
    UnknownLegalityError,
    VerdictKind,
    Witness,
)
from polysched.legality.verdicts.witness import occurrence
from polysched.legality.verdicts.witness_check import _interrupted, unconfirmed
from polysched.legality.verdicts.witness_end import End
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import (
    copy_shifted,
    interrupted_sums,
    overlapping_sums,
    windows,
)
from tests.legality.verdicts.witnesses import CASES, changed, found, with_ends
from tests.support import packed_kernels


def test_there_is_a_case_for_every_cause() -> None:
    assert {cause for cause, _, _ in CASES.values()} == set(Cause)


@pytest.mark.parametrize("name", CASES)
def test_a_witness_stands_up_to_arithmetic(name: str) -> None:
    assert unconfirmed(*found(name)) == ""


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
