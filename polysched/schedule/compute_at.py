"""compute_at: a producer runs inside its consumer's loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polysched.dependence.relations import DependenceKind
from polysched.errors import ScheduleError, suggestion
from polysched.ir.tree import Leaf, Loop, Node, Sequence, restrict, sequence, statements
from polysched.schedule.program import (
    Program,
    counted_loop,
    counts_nothing,
    prefix_loops,
    prefix_map,
)


@dataclass(frozen=True)
class ComputeAt:
    """Run the statements that produce an array at the start of an iteration of the consumer's loop.

    Args:
        producer: a statement, or an array: all the statements that write it move.
        at: a loop around a consumer.
    """

    producer: str
    at: str


def compute_at(program: Program, step: ComputeAt) -> Program:
    """Run each producer instance in the first iteration of the loop that reads what it produces.

    Nothing is computed twice: an instance needed by several iterations runs in the first of them.
    The producer keeps those of its own loops that still have something to count, now from 0; a loop
    whose name is also around it is renamed ``<loop>_inner``.

    before::

        for i in 0..n: P(i)
        for i in 0..n: C(i)

    after ``split("C.i", 8).compute_at("P", at="io")``::

        for io in 0..ceil(n / 8):
          for i in 0..min(8, n - 8*io): P(8*io + i)
          for ii in 0..min(8, n - 8*io): C(8*io + ii)
    """
    producers = _producers(program, step)
    target = counted_loop(program, step.at)
    below = frozenset(statements(target))
    if producers & below:
        raise ScheduleError(
            f"'{step.producer}' is below loop '{step.at}' already; compute_at moves a producer "
            "that runs elsewhere"
        )
    around = prefix_loops(program, target)
    first = {name: _first_use(program, name, below, around, step) for name in sorted(producers)}
    nest = restrict(program.tree, producers)
    rest = restrict(program.tree, frozenset(program.statements) - producers)
    assert nest is not None
    assert rest is not None
    inner = _renamed(_rebased(program, nest, first), frozenset(loop.name for loop in around))
    columns = [
        {name: uses.get_at(position) for name, uses in first.items()}
        for position in range(len(around))
    ]
    return program.with_tree(_inserted(rest, min(below), columns, inner))


def _producers(program: Program, step: ComputeAt) -> frozenset[str]:
    if step.producer in program.statements:
        return frozenset({step.producer})
    writers = frozenset(
        name
        for name, statement in program.statements.items()
        if statement.target.array == step.producer
    )
    if not writers:
        known = {*program.statements, *(s.target.array for s in program.statements.values())}
        raise ScheduleError(
            f"no statement is, and none writes, '{step.producer}'{suggestion(step.producer, known)}"
        )
    return writers


def _first_use(
    program: Program,
    producer: str,
    consumers: frozenset[str],
    around: tuple[Loop, ...],
    step: ComputeAt,
) -> isl.PwMultiAff:
    """For each instance of ``producer`` the first iteration of the loops that uses its result."""
    uses: isl.Map | None = None
    for dependence in program.dependences:
        if (
            dependence.kind is DependenceKind.FLOW
            and dependence.source.statement == producer
            and dependence.sink.statement in consumers
        ):
            consumer = program.statements[dependence.sink.statement]
            used = dependence.relation.apply_range(prefix_map(consumer, around, []))
            uses = used if uses is None else uses.union(used)
    if uses is None:
        raise ScheduleError(f"no statement below loop '{step.at}' reads what '{producer}' produces")
    unused = program.statements[producer].domain.subtract(uses.domain())
    if not unused.is_empty():
        raise ScheduleError(
            f"compute_at('{step.producer}', at='{step.at}') leaves instances of '{producer}' "
            f"without a place: loop '{step.at}' does not read what {unused.sample_point()} produces"
        )
    return isl.PwMultiAff.from_map(uses.lexmin().coalesce())


def _rebased(program: Program, node: Node, first: Mapping[str, isl.PwMultiAff]) -> Node:
    """Count the loops from the first value within one iteration of the target.

    Loops that the target's iteration fixes are dropped; one that never counted anything stays, so
    that a schedule for all sizes finds it at size 1 too.
    """
    match node:
        case Leaf():
            return node
        case Sequence(children=children):
            return sequence([_rebased(program, child, first) for child in children])
        case Loop(values=values):
            body = _rebased(program, node.body, first)
            counted = replace(node, values=_counted_from_zero(program, values, first), body=body)
            is_fixed = counts_nothing(program, counted) and not _is_constant(program, node)
            return body if is_fixed else counted


def _is_constant(program: Program, loop: Loop) -> bool:
    """Whether the loop has one iteration in all, wherever it stands."""
    reached = (
        isl.Map.from_pw_aff(value).intersect_domain(program.statements[name].domain).range()
        for name, value in loop.values.items()
    )
    return reduce(isl.Set.union, reached).is_singleton()


def _counted_from_zero(
    program: Program, values: Mapping[str, isl.PwAff], first: Mapping[str, isl.PwMultiAff]
) -> Mapping[str, isl.PwAff]:
    reached: isl.Map | None = None
    for name, value in values.items():
        domain = program.statements[name].domain
        tile = isl.Map.from_pw_multi_aff(first[name]).intersect_domain(domain)
        column = tile.reverse().apply_range(isl.Map.from_pw_aff(value))
        reached = column if reached is None else reached.union(column)
    assert reached is not None
    lowest = reached.dim_min(0).coalesce()
    if lowest.n_piece() != 1:
        return values
    return {
        name: value.sub(lowest.pullback_pw_multi_aff(first[name]))
        .gist(program.statements[name].domain)
        .coalesce()
        for name, value in values.items()
    }


def _renamed(node: Node, taken: frozenset[str]) -> Node:
    match node:
        case Leaf():
            return node
        case Sequence(children=children):
            return sequence([_renamed(child, taken) for child in children])
        case Loop(name=name):
            while name in taken:
                name += "_inner"
            return replace(node, name=name, body=_renamed(node.body, taken | {name}))


def _inserted(node: Node, consumer: str, columns: list[dict[str, isl.PwAff]], inner: Node) -> Node:
    """Add the producers' columns to the loops around the consumer; put their nest into the last."""
    match node:
        case Loop(values=values, body=body):
            column, *deeper = columns
            return replace(
                node,
                values={**values, **column},
                body=_inserted(body, consumer, deeper, inner)
                if deeper
                else sequence([inner, body]),
            )
        case Sequence(children=children):
            return sequence(
                [
                    _inserted(child, consumer, columns, inner)
                    if consumer in statements(child)
                    else child
                    for child in children
                ]
            )
        case Leaf():
            raise AssertionError("the target loop is on the consumer's path")
