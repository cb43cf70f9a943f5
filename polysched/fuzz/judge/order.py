"""Judge a schedule that only reorders by enumeration: accepted, refused, and its witness."""

from __future__ import annotations

import numpy as np

from polysched.fuzz.judge.enumeration import Enumeration, Mask, runs_two_as_one, violated
from polysched.fuzz.judge.judgment import Finding, Judgment, Mode
from polysched.fuzz.judge.subject import Subject
from polysched.ir.core.tree import Node, executed
from polysched.legality.verdicts.verdict import Verdict, VerdictKind, Violation, ViolationKind
from polysched.schedule.schedule import Schedule


def judge_order(subject: Subject, schedule: Schedule, verdict: Verdict) -> Judgment:
    """Compare a verdict with all pairs of instances at small sizes.

    A legal schedule must keep all pairs. An illegal schedule must break the pair of its witness at
    the size of the witness.
    """
    tree = executed(schedule.program.tree)
    if verdict.kind is VerdictKind.LEGAL:
        table = subject.small
        if table is None:
            return Judgment(Mode.ORDER, verdict.kind, remark="too large to enumerate")
        reason = _illegal(table, tree)
        if reason:
            return Judgment(Mode.ORDER, verdict.kind, Finding.ACCEPTED_ILLEGAL, reason)
    elif verdict.violation is not None:
        return _refused(subject, tree, verdict.violation)
    return Judgment(Mode.ORDER, verdict.kind)


def _illegal(table: Enumeration, tree: Node) -> str:
    """Return why a tree is illegal at one of the sizes; empty if it is legal."""
    if table.is_outside:
        return "the kernel has an access outside an array"
    if table.is_undefined:
        return "the kernel reads an element that nothing has defined"
    if runs_two_as_one(table, tree):
        return "two instances run as one"
    broken = violated(table, tree)
    return _named(table, int(np.argmax(broken))) if broken.any() else ""


def _named(table: Enumeration, pair: int) -> str:
    ends = table.conflicts.first[pair], table.conflicts.second[pair]
    names = [f"{name}{list(values)}" for name, values in map(table.instances.at, map(int, ends))]
    return f"{' and '.join(names)} are not kept apart, in that order"


def _refused(subject: Subject, tree: Node, violation: Violation) -> Judgment:
    sizes = dict(violation.witness.parameters)
    if not all(name in sizes for name in subject.kernel.parameters):
        missing = [name for name in subject.kernel.parameters if name not in sizes]
        return _finding(Finding.WRONG_WITNESS, f"it has no value of {', '.join(missing)}")
    table = subject.at(sizes)
    if table is None:
        return Judgment(Mode.ORDER, VerdictKind.ILLEGAL, remark="witness too large to enumerate")
    if violation.in_kernel:
        outside = violation.kind is ViolationKind.BOUNDS
        if table.is_outside if outside else table.is_undefined:
            return Judgment(Mode.ORDER, VerdictKind.ILLEGAL)
        return _finding(Finding.REFUSED_LEGAL, f"the kernel has no such fault at {sizes}")
    if violation.kind is ViolationKind.ONCE:
        if runs_two_as_one(table, tree):
            return Judgment(Mode.ORDER, VerdictKind.ILLEGAL)
        return _finding(Finding.REFUSED_LEGAL, f"no two instances run as one at {sizes}")
    broken = violated(table, tree)
    if not broken.any():
        return _finding(Finding.REFUSED_LEGAL, f"every pair of instances is kept at {sizes}")
    if not _is_broken(table, broken, violation):
        source, sink = violation.witness.source, violation.witness.sink
        ends = f"{source.name} and {'nothing' if sink is None else sink.name}"
        return _finding(Finding.WRONG_WITNESS, f"{ends} are kept apart at {sizes}")
    return Judgment(Mode.ORDER, VerdictKind.ILLEGAL)


def _is_broken(table: Enumeration, broken: Mask, violation: Violation) -> bool:
    source, sink = violation.witness.source, violation.witness.sink
    if sink is None:
        return False
    wanted = {(end.statement, end.instance) for end in (source, sink)}
    return any(
        {table.instances.at(int(table.conflicts.first[pair]))}
        | {table.instances.at(int(table.conflicts.second[pair]))}
        == wanted
        for pair in np.flatnonzero(broken)
    )


def _finding(finding: Finding, detail: str) -> Judgment:
    return Judgment(Mode.ORDER, VerdictKind.ILLEGAL, finding, detail)
