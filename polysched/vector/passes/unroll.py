"""Writing unrolled loops out: the loop IR without loops of kind UNROLLED."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.functions import equal
from polysched.ir.expr.linear import (
    Intervals,
    LinearForm,
    intersection,
    interval,
    linear_form,
    simplify,
)
from polysched.ir.expr.traversal import children, rebuild
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    InstructionCall,
    LoopNode,
    LoopProgram,
    Transposition,
    block,
    variable_interval,
)

MOST_COPIES = 2**16
"""Iterations of a loop that is written out: more is code that nothing compiles."""


def unroll_loops(program: LoopProgram) -> LoopProgram:
    """Replace every unrolled loop of a program by copies of its body, as :func:`expand` does."""
    return replace(program, body=expand(program.body, program.ranges))


def expand(node: LoopNode, known: Intervals) -> LoopNode:
    """Replace every unrolled loop by copies of its body; leave out what then holds nothing.

    A loop whose number of iterations is not a literal, but bounded by one, becomes guarded copies.

    Raises:
        LoweringError: nothing bounds the number of iterations.
    """
    return _expand(node, _Copy(known))


class _Sum(NamedTuple):
    """An affine expression of which copies are made, and the form of one: as it is, and written.

    ``of`` is kept because the sum is found by its identity.
    """

    of: Expression
    form: LinearForm
    written: Expression


@dataclass(frozen=True, eq=False)
class _Copy:
    """A copy of the bodies of unrolled loops.

    Attributes:
        known: intervals of the variables of the other loops around, and of the parameters.
        values: the values of the unrolled loops' variables.
        forms: the same as weighted sums.
        sums: the affine subscripts and bounds of all copies so far, as they come out before
            anything is known: most copies share theirs with others.
    """

    known: Intervals
    values: Mapping[str, Expression] = field(default_factory=dict)
    forms: Mapping[str, LinearForm] = field(default_factory=dict)
    sums: dict[Any, _Sum] = field(default_factory=dict)

    def of(self, variable: str, value: Expression) -> _Copy:
        """The copy of an unrolled loop's body for a value of its variable."""
        forms = {**self.forms, variable: linear_form(value, {})}
        return _Copy(self.known, {**self.values, variable: value}, forms, self.sums)

    def inside(self, loop: For, lower: Expression, upper: Expression) -> _Copy:
        """In the body of a loop that stays one, between these ends."""
        reached = variable_interval(lower, upper, self.known)
        if loop.kind is LoopKind.VECTOR:
            reached = _lanes(intersection(reached, (0, loop.lanes - 1)))
        own = loop.variable
        values = {name: value for name, value in self.values.items() if name != own}
        forms = {name: form for name, form in self.forms.items() if name != own}
        return _Copy({**self.known, own: reached}, values, forms, self.sums)

    def integer(self, expression: Expression) -> Expression:
        """An integer expression."""
        form = linear_form(expression, {})
        if not form.is_affine:
            return simplify(self.value(expression), self.known)
        inserted = [self.forms.get(atom.name) for atom, _ in form.terms if isinstance(atom, Index)]
        key = (id(expression), *inserted)
        found = self.sums.get(key)
        if found is None:
            given = form.with_values(self.forms)
            found = self.sums[key] = _Sum(expression, given, given.expression())
        if not found.form.is_affine:
            return simplify(found.written, self.known)
        form = found.form.where(self.known)
        return found.written if form is found.form else form.expression()

    def integers(self, expressions: tuple[Expression, ...]) -> tuple[Expression, ...]:
        """Integer expressions."""
        return tuple([self.integer(one) for one in expressions])

    def condition(self, condition: Expression) -> Expression:
        """A condition."""
        return simplify(self.value(condition), self.known)

    def operand(self, operand: Load | Constant) -> Load | Constant:
        """An operand of an instruction."""
        if isinstance(operand, Constant):
            return operand
        return replace(operand, subscripts=self.integers(operand.subscripts))

    def value(self, expression: Expression) -> Expression:
        """What a statement computes."""
        match expression:
            case Index(name=name):
                return self.values.get(name, expression)
            case Load(subscripts=subscripts):
                return rebuild(expression, self.integers(subscripts))
        operands = children(expression)
        return rebuild(expression, tuple([self.value(one) for one in operands]))


def _lanes(reached: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    """The values of a lane variable for all that is simplified: two at least.

    A literal in its place would make one element of a vector of one lane, which no register of the
    whole vectors beside it holds, and which no vector instruction adds to.
    """
    low, high = reached
    return (low, high + 1) if low is not None and low == high else reached


def _expand(node: LoopNode, copy: _Copy) -> LoopNode:
    match node:
        case For():
            return _expand_loop(node, copy)
        case If(condition=condition, then=then, otherwise=otherwise):
            return _guarded(
                copy.condition(condition),
                _expand(then, copy),
                None if otherwise is None else _expand(otherwise, copy),
            )
        case Block(children=nodes):
            return block([_expand(child, copy) for child in nodes])
        case Allocate(body=body):
            return replace(node, body=_expand(body, copy))
        case InstructionCall(meaning=meaning):
            whole = _expand(meaning, copy)
            assert isinstance(whole, Assign)
            operands = tuple((name, copy.operand(one)) for name, one in node.operands)
            return replace(node, meaning=whole, operands=operands)
        case Transposition():
            raise AssertionError("loops are unrolled before tiles are transposed")
        case Assign(target=target, value=value, instance=instance):
            place = Access(target.array, copy.integers(target.subscripts), target.location)
            return Assign(node.statement, copy.integers(instance), place, copy.value(value))


def _expand_loop(node: For, copy: _Copy) -> LoopNode:
    lower, upper = copy.integer(node.lower), copy.integer(node.upper)
    if node.kind is not LoopKind.UNROLLED:
        inner = copy.inside(node, lower, upper)
        body = _expand(node.body, inner)
        if body == Block(()):
            return body
        asked = tuple(replace(one, start=inner.integers(one.start)) for one in node.prefetches)
        return replace(node, lower=lower, upper=upper, body=body, prefetches=asked)
    copies = []
    for here in _iterations(node, lower, upper, copy.known):
        body = _expand(node.body, copy.of(node.variable, here))
        copies.append(_guarded(_runs(here, lower, upper, node.step, copy.known), body, None))
    return block(copies)


def _runs(
    here: Expression, lower: Expression, upper: Expression, step: int, known: Intervals
) -> Expression:
    """The condition under which a loop has the iteration ``here``."""
    if all(isinstance(one, Constant) for one in (here, lower, upper)):
        at, first, end = (linear_form(one, known).constant for one in (here, lower, upper))
        return Constant(at in range(first, end, step))
    runs = (lower <= here) & (here < upper) & equal((here - lower) % step, 0)
    return simplify(runs, known)


def _iterations(
    node: For, lower: Expression, upper: Expression, known: Intervals
) -> list[Expression]:
    """The values of an unrolled loop's variable, in order; some may lie outside of its bounds.

    Literals where the loop's values have literal bounds, for they make subscripts literal; else the
    lower end plus literals.
    """
    start = linear_form(lower, known)
    _, longest = interval(linear_form(upper, known).plus(start, -1), known)
    first, last = node.values
    if first is not None and last is not None and not start.is_constant:
        literal = range(first, last + 1)
        if longest is None or len(literal) <= longest:
            return [Constant(value) for value in literal]
    if last is not None and start.is_constant:
        most = last - start.constant + 1
        longest = most if longest is None else min(longest, most)
    if longest is None or longest > MOST_COPIES:
        some = "" if longest is None else f" up to {MOST_COPIES}"
        raise LoweringError(
            f"loop '{node.loop}' is unrolled, but no literal{some} bounds its number of "
            f"iterations, from {lower} to {upper}; split it by a literal and unroll the inner loop"
        )
    return [
        start.plus(LinearForm((), offset)).expression() for offset in range(0, longest, node.step)
    ]


def _guarded(condition: Expression, then: LoopNode, otherwise: LoopNode | None) -> LoopNode:
    if condition == Constant(True):
        return then
    if condition == Constant(False) or (then == Block(()) and otherwise is None):
        return Block(()) if otherwise is None else otherwise
    return If(condition, then, otherwise)
