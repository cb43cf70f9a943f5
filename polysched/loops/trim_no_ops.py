"""Trim loops to the iterations that do something, where data decides which these are.

::

    for k in 0..m:
      s = s + select(ptr[i] <= k and k < ptr[i + 1], e, -0.0)

    for k in max(0, ptr[i])..min(m, ptr[i + 1]):
      s = s + e

A loop whose bounds are data is declared over all iterations that may run, and its statements keep
their targets where a condition on data does not hold. So every order is judged for the larger set
of iterations, and this rewrite, like Halide's `trim_no_ops`, makes the loop skip those that change
nothing. It looks for conditions ``e <= f`` and ``f < e``, where ``e`` reads data and ``f`` is
affine in the loops. A loop of strips of vectors is trimmed to the strips that have an active lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import TypeAlias

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import boolean, i64
from polysched.ir.expr.expressions import (
    Constant,
    Expression,
    Index,
    Load,
    Operation,
)
from polysched.ir.expr.functions import cast, maximum, minimum
from polysched.ir.expr.linear import FAR, linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.literal_conditions import TRUE
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform, walk
from polysched.loops.analysis.data_bounds import (
    Bound,
    bounds_of,
    comparison,
    data_bounds,
    ordered,
)
from polysched.loops.analysis.evaluated import evaluation_condition
from polysched.loops.analysis.facts import Facts, conjuncts
from polysched.loops.ir import nodes
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    LoopProgram,
    map_children,
)

UNTRIMMED = FAR // 2**10
"""Iterations of a loop that does not come to an end, even if it is one over tiles."""


_Conditions: TypeAlias = Mapping[Bound, int] | None
"""Conditions without which a node does nothing, each with its constant; None: it does nothing."""


def trim_no_ops(program: LoopProgram) -> LoopProgram:
    """Trim the loops of a program to the iterations that change something.

    Raises:
        LoweringError: a loop that only data bounds is not trimmed.
    """
    assignments = [node for node in nodes.walk(program.body) if isinstance(node, Assign)]
    if any(data_bounds(node.target, node.value) for node in assignments):
        uses = Counter(name for node in assignments for name in _accesses(node))
        scalars = {
            name
            for name, array in program.arrays.items()
            if array.role is Role.TEMPORARY and not array.shape
        }
        body = _Trimmer(uses, scalars, Facts(program.ranges)).node(program.body, frozenset())
        program = replace(program, body=body)
    for node in nodes.walk(program.body):
        if isinstance(node, For) and any(map(_is_far, (node.lower, node.upper))):
            raise LoweringError(
                f"loop '{node.loop}' is not trimmed to the iterations that data bounds: its "
                "statements do not share a condition whose data stays the same in the loop"
            )
    return program


def _is_far(end: Expression) -> bool:
    return isinstance(end, Constant) and abs(end.value) >= UNTRIMMED


@dataclass(frozen=True)
class _Trimmer:
    """One walk over a program.

    Attributes:
        uses: the number of accesses to each array.
        scalars: the temporaries of one element.
        facts: the facts about the parameters.
    """

    uses: Mapping[str, int]
    scalars: Set[str]
    facts: Facts

    def node(self, node: LoopNode, tested: frozenset[Expression]) -> LoopNode:
        """Trim the loops in a node.

        Args:
            tested: the values to which the loops around the node are trimmed.
        """
        if isinstance(node, For) and node.kind is LoopKind.SEQUENTIAL:
            trimmed, values = self._trimmed(node)
            if values:
                return self._where_evaluated(node, trimmed, tested, values)
        elif isinstance(node, For) and node.kind is LoopKind.VECTOR:
            return self._tested(node, tested)
        return map_children(node, lambda child: self.node(child, tested))

    def _where_evaluated(
        self, loop: For, trimmed: For, tested: frozenset[Expression], values: frozenset[Expression]
    ) -> LoopNode:
        """Choose a trimmed loop where the loop evaluates the values of its new bounds."""
        inside = map_children(trimmed, lambda child: self.node(child, tested | values))
        if any(map(_is_far, (loop.lower, loop.upper))):
            return inside  # the program itself reads the bounds of such a loop
        found = [evaluation_condition(loop, value) for value in sorted(values, key=str)]
        if None in found:
            return map_children(loop, lambda child: self.node(child, tested))
        conditions = dict.fromkeys(condition for condition in found if condition is not None)
        condition = self.facts.decide(reduce(and_, conditions))
        if condition == Constant(True):
            return inside
        is_run = loop.lower < loop.upper
        fails = [self.facts.where(~conjunct).decide(is_run) for conjunct in conjuncts(condition)]
        if all(fail == Constant(False) for fail in fails):
            return If(condition, inside)
        return If(condition, inside, map_children(loop, lambda child: self.node(child, tested)))

    def _trimmed(self, node: For) -> tuple[For, frozenset[Expression]]:
        """Trim one loop; also return the values that are its new bounds."""
        body = list(nodes.walk(node.body))
        changed = {part.target.array for part in body if isinstance(part, Assign)}
        used: dict[Bound, int] = {}
        lower, upper = node.lower, node.upper
        for bound, constant in (self._acting(node.body, self._own(node)) or {}).items():
            rest, factor = bound.form.without(node.variable)
            is_lower = bound.is_upper == (factor < 0)
            if not factor or (is_lower and node.step > 1):
                continue
            if not _is_fixed(bound.value, node.variable, changed):
                continue
            used[bound] = constant
            end = _solved(bound, rest.plus(constant), factor)
            lower, upper = (
                (maximum(lower, end), upper) if is_lower else (lower, minimum(upper, end))
            )
        if not used:
            return node, frozenset()
        inside = _without(node.body, used)
        return replace(node, lower=lower, upper=upper, body=inside), frozenset(
            bound.value for bound in used
        )

    def _tested(self, node: For, tested: frozenset[Expression]) -> LoopNode:
        """Skip a vector statement without active lanes, unless loops around it do."""
        condition: Expression | None = None
        for bound, constant in (self._acting(node, frozenset()) or {}).items():
            if bound.value not in tested and evaluation_condition(node.body, bound.value) == TRUE:
                end = bound.form.plus(constant).expression()
                holds = end < bound.value if bound.is_upper else bound.value <= end
                condition = holds if condition is None else condition & holds
        if condition is None:
            return node
        is_empty = self.facts.decide(node.lower < node.upper) != Constant(True)
        return If(node.lower < node.upper, If(condition, node)) if is_empty else If(condition, node)

    def _own(self, loop: For) -> frozenset[str]:
        """The arrays whose elements each iteration of a loop writes before it reads them."""
        body = list(nodes.walk(loop.body))
        own = {part.array for part in body if isinstance(part, Allocate)}
        uses = Counter(
            name for part in body if isinstance(part, Assign) for name in _accesses(part)
        )
        seen: set[str] = set()
        for child in _straight(loop.body):
            if isinstance(child, Assign):
                seen |= {load.array for load in child.reads}
                name = child.target.array
                if name in self.scalars - seen and uses[name] == self.uses[name]:
                    own.add(name)
                seen.add(name)
            else:
                inner = [part for part in nodes.walk(child) if isinstance(part, Assign)]
                own |= self._own(child) if isinstance(child, For) else frozenset()
                seen |= {name for part in inner for name in _accesses(part)}
        return frozenset(own)

    def _acting(self, node: LoopNode, own: frozenset[str]) -> _Conditions:
        """The conditions without which a node changes nothing but the arrays ``own``."""
        match node:
            case Assign(target=target, value=value):
                return None if target.array in own else data_bounds(target, value)
            case If(condition=condition, then=then, otherwise=None):
                inner = self._acting(then, own)
                return None if inner is None else {**inner, **bounds_of(condition)}
            case For():
                return _around(node, self._acting(node.body, own))
            case Block() | If() | Allocate():
                result: _Conditions = None
                for child in nodes.children(node):
                    result = _either(result, self._acting(child, own))
                return result
        return {}


def _accesses(node: Assign) -> Iterator[str]:
    yield node.target.array
    yield from (load.array for load in node.reads)


def _straight(node: LoopNode) -> Iterator[LoopNode]:
    """The nodes that run one after another in each iteration."""
    if isinstance(node, Block | Allocate):
        for child in nodes.children(node):
            yield from _straight(child)
    else:
        yield node


def _is_fixed(value: Expression, variable: str, changed: Set[str]) -> bool:
    """Whether a value is the same in all iterations of a loop."""
    return not any(
        (isinstance(part, Index) and part.name == variable)
        or (isinstance(part, Load) and part.array in changed)
        for part in walk(value)
    )


def _either(first: _Conditions, second: _Conditions) -> _Conditions:
    """The conditions that two nodes have in common, the weaker of each."""
    if first is None or second is None:
        return second if first is None else first
    return {
        bound: (min if bound.is_upper else max)(constant, second[bound])
        for bound, constant in first.items()
        if bound in second
    }


def _around(loop: For, conditions: _Conditions) -> _Conditions:
    """The conditions without which no iteration of a loop does anything."""
    found: dict[Bound, int] = {}
    for bound, constant in (conditions or {}).items():
        rest, factor = bound.form.without(loop.variable)
        if any(
            isinstance(part, Index) and part.name == loop.variable for part in walk(bound.value)
        ):
            continue
        if factor:
            at = _end(loop, is_last=(factor > 0) != bound.is_upper)
            if at is None:
                continue
            rest = rest.plus(at, factor)
        moved = replace(bound, form=ordered(rest.plus(-rest.constant)))
        if moved in found:  # both hold, so either will do
            continue
        found[moved] = rest.constant + constant
    return None if conditions is None else found


def _end(loop: For, *, is_last: bool) -> LinearForm | int | None:
    """The first or last value of a loop variable; None if it is not affine."""
    literal = loop.bounds[is_last]
    if literal is not None:
        return literal
    form = linear_form(loop.upper if is_last else loop.lower, {})
    return form.plus(-int(is_last)) if form.is_affine else None


def _solved(bound: Bound, rest: LinearForm, factor: int) -> Expression:
    """The end of a loop's range to which ``bound`` limits its variable.

    Args:
        rest: the bound's form without the loop's variable, with its constant.
        factor: the factor of the variable.
    """
    value = bound.value if bound.value.dtype == i64 else cast(bound.value, i64)
    if factor == 1 and rest == LinearForm((), 0):
        return value
    # No iteration is as far as FAR. A limited value does not overflow.
    value = maximum(minimum(value, FAR), -FAR)
    difference = value - rest.expression()
    if factor > 0:
        return (difference + (factor - 1)) // factor
    return (-difference) // -factor + 1


def _without(node: LoopNode, used: Mapping[Bound, int]) -> LoopNode:
    """Drop the conditions that hold in all iterations of a trimmed loop."""

    def rule(part: Expression) -> Expression | None:
        match part:
            case Operation(operator=Operator.AND, operands=(Constant(value=True), other)):
                return other
            case Operation(operator=Operator.AND, operands=(other, Constant(value=True))):
                return other
            case Operation(operator=Operator.SELECT, operands=(Constant(value=True), then, _)):
                return then
        compared = comparison(part)
        if compared is not None and compared[0] in used:
            bound, constant = compared
            limit = used[bound]
            if constant <= limit if bound.is_upper else constant >= limit:
                return Constant(True, boolean)
        return None

    match node:
        case Assign():
            return replace(node, value=transform(node.value, rule))
        case If():
            condition = transform(node.condition, rule)
            if condition == Constant(True, boolean):
                return _without(node.then, used)
            node = replace(node, condition=condition)
    return map_children(node, lambda child: _without(child, used))
