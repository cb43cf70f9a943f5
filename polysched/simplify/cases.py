"""Split statements whose subscripts have cases, so that the subscripts of each part are affine.

A wrapped or clamped subscript has another form at the ends of a loop than in its middle::

    for i in 0..n: y[i] = x[select(i < 1, n - 1, i - 1)]      for i in 0..1: y[i] = x[n - 1]
                                                          ->  for i in 1..n: y[i] = x[i - 1]

Otherwise vectors gather their elements one by one, also in the middle. Halide calls this loop
partitioning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from types import MappingProxyType

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.expr.affine import to_set
from polysched.ir.expr.expressions import Expression, Load, Operation
from polysched.ir.expr.linear import simplify
from polysched.ir.expr.operators import COMPARISONS, Operator
from polysched.ir.expr.traversal import children, loads, transform, walk
from polysched.simplify.splitting import split_statements

MOST_PARTS = 9
"""Parts into which one statement is split: the inside, the edges and the corners of a matrix."""

_CASES = frozenset({Operator.SELECT, Operator.MINIMUM, Operator.MAXIMUM})


def with_affine_subscripts(kernel: Kernel, independent: Set[str]) -> Kernel:
    """Return the kernel with statements split where a case of one of their subscripts changes.

    Args:
        independent: the statements that are alone in a nest and whose instances do not depend on
            one another.
    """
    parts = {
        name: own
        for name in kernel.statements
        if name in independent and len(own := _parts(kernel.statements[name])) > 1
    }
    if not parts:
        return kernel
    split = split_statements(kernel, parts)
    statements = {
        name: statement if kernel.statements.get(name) is statement else _decided(statement)
        for name, statement in split.statements.items()
    }
    return replace(split, statements=MappingProxyType(statements))


def has_cases(statement: Statement) -> bool:
    """Whether a subscript of a statement has cases."""
    return any(True for _ in _cases(statement))


def _cases(statement: Statement) -> Iterator[Operation]:
    """The selections and extrema in subscripts that do not depend on data."""
    for access in statement.accesses:
        for subscript in access.subscripts:
            if not loads(subscript):
                for node in walk(subscript):
                    if isinstance(node, Operation) and node.operator in _CASES:
                        yield node


def _comparisons(nodes: Iterable[Operation]) -> tuple[Expression, ...]:
    """The different comparisons that decide between the cases of some operations."""
    every: dict[str, Expression] = {}
    for node in nodes:
        for condition in _leaves(_condition(node)):
            every.setdefault(str(condition), condition)
    return tuple(every.values())


def _condition(node: Operation) -> Expression:
    """The condition under which a selection or a minimum is its first value, a maximum its last."""
    if node.operator is Operator.SELECT:
        return node.operands[0]
    left, right = node.operands
    return left <= right


def _leaves(condition: Expression) -> Iterator[Expression]:
    """The comparisons that a condition joins."""
    if isinstance(condition, Operation) and condition.operator in COMPARISONS:
        yield condition
    else:
        for child in children(condition):
            yield from _leaves(child)


def _parts(statement: Statement) -> tuple[isl.Set, ...]:
    """The parts of a statement's domain; the domain alone if the cases make too many parts."""
    domain = statement.domain
    comparisons = _comparisons(_cases(statement))
    if not comparisons:
        return (domain,)
    try:
        sets = [to_set(comparison, domain.get_space()) for comparison in comparisons]
    except KernelError:
        return (domain,)
    parts = _divided(domain, sets)
    return parts if len(parts) <= MOST_PARTS else (domain,)


def _divided(domain: isl.Set, sets: Sequence[isl.Set]) -> tuple[isl.Set, ...]:
    """Convex parts of a domain in which, for given sizes, no set begins or ends."""
    parts = [domain]
    for holds in sets:
        parts = [half for part in parts for half in _halves(part, holds)]
        if len(parts) > MOST_PARTS:
            break
    return tuple(parts)


def _halves(part: isl.Set, holds: isl.Set) -> list[isl.Set]:
    """The convex parts inside and outside of a set; the part itself if the sizes decide."""
    inside, outside = part.intersect(holds), part.subtract(holds)
    if inside.params().is_disjoint(outside.params()):
        return [part]
    return [
        isl.Set.from_basic_set(basic)
        for half in (inside, outside)
        for basic in half.make_disjoint().coalesce().get_basic_sets()
    ]


def _decided(statement: Statement) -> Statement:
    """A part of a statement, with the case of each subscript that its domain chooses."""
    domain = statement.domain

    def chosen(node: Expression) -> Expression | None:
        if not isinstance(node, Operation) or node.operator not in _CASES or loads(node):
            return None
        holds = to_set(_condition(node), domain.get_space())
        values = node.operands[-2:]
        if domain.is_subset(holds):
            return values[node.operator is Operator.MAXIMUM]
        if domain.is_disjoint(holds):
            return values[node.operator is not Operator.MAXIMUM]
        return None

    def rule(node: Expression) -> Expression | None:
        if not isinstance(node, Load):
            return None
        return replace(node, subscripts=tuple(map(subscript, node.subscripts)))

    def subscript(expression: Expression) -> Expression:
        changed = transform(expression, chosen)
        return expression if changed is expression else simplify(changed, {})

    target = replace(
        statement.target, subscripts=tuple(map(subscript, statement.target.subscripts))
    )
    return replace(statement, target=target, value=transform(statement.value, rule))
