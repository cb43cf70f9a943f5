"""Exactly-once check: each declared instance runs; no two of a statement share a timestamp."""

from __future__ import annotations

import islpy as isl

from polysched.dependence.relations import timestamp_map
from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Node, path, statements
from polysched.ir.isl.smallest import smallest_pair, smallest_point
from polysched.legality.verdicts.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.verdicts.witness import bare_occurrence
from polysched.schedule.core.program import Program


def once_violation(program: Program, tree: Node) -> Violation | None:
    """Find an instance that the executed tree loses or adds, or two instances at one timestamp."""
    run = statements(tree)
    for name, declared in program.kernel.statements.items():
        kept = program.statements.get(name)
        if kept is None or name not in run:
            return _single(program, declared, declared.domain, Cause.LOST, runs=False)
        violation = _other_instances(program, declared, kept)
        if violation is not None:
            return violation
    for statement in program.statements.values():
        violation = _repeated(program, statement, tree)
        if violation is not None:
            return violation
    return None


def _other_instances(program: Program, declared: Statement, kept: Statement) -> Violation | None:
    """Find a declared instance that the scheduled statement lacks, or an instance that it adds."""
    if kept is declared:
        return None
    copies = program.recomputed.get(kept.name)
    if copies is not None:
        added = kept.domain.subtract(copies.intersect_range(declared.domain).domain())
        lost = declared.domain.subtract(copies.intersect_domain(kept.domain).range())
    else:
        added = kept.domain.subtract(declared.domain)
        lost = declared.domain.subtract(kept.domain)
    if not lost.is_empty():
        return _single(program, declared, lost, Cause.LOST, runs=False)
    if not added.is_empty():
        return _single(program, kept, added, Cause.ADDED)
    return None


def _single(
    program: Program, statement: Statement, instances: isl.Set, cause: Cause, *, runs: bool = True
) -> Violation:
    point = smallest_point(instances)
    shown = bare_occurrence(program, statement, point, runs=runs)
    return Violation(ViolationKind.ONCE, cause, Witness(point.parameters, shown))


def _repeated(program: Program, statement: Statement, tree: Node) -> Violation | None:
    around = path(tree, statement.name)
    times = timestamp_map(statement, [loop.values[statement.name] for loop in around])
    without = statement.domain.subtract(times.domain())
    if not without.is_empty():
        return _single(program, statement, without, Cause.LOST, runs=False)
    if times.is_injective():
        return None
    domain = statement.domain
    pairs = times.apply_range(times.reverse()).intersect(domain.lex_lt_set(domain))
    source, sink = smallest_pair(pairs)
    return Violation(
        ViolationKind.ONCE,
        Cause.SAME_TIME,
        Witness(
            source.parameters,
            bare_occurrence(program, statement, source),
            bare_occurrence(program, statement, sink),
        ),
        loop=around[-1].name if around else None,
    )
