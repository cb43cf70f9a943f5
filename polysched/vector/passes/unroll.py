"""Pass: unroll loops of kind UNROLLED completely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.functions import equal
from polysched.ir.expr.linear import intersection, interval, linear_form, simplify
from polysched.ir.expr.linear_form import Intervals, LinearForm
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
    TileCall,
    Transposition,
    block,
    variable_interval,
)

MOST_COPIES = 2**16
"""Limit on the iterations of an unrolled loop: LLVM would take too long to compile more copies."""


def unroll_loops(program: LoopProgram) -> LoopProgram:
    """Replace every unrolled loop of a program by copies of its body, as :func:`expand` does."""
    return replace(program, body=expand(program.body, program.ranges))


def expand(node: LoopNode, known: Intervals) -> LoopNode:
    """Replace every unrolled loop by copies of its body, and remove nodes that become empty.

    A loop whose trip count is not literal, but has a literal upper bound, becomes guarded copies.
    """
    return _expand(node, _Copy(known))


class _Sum(NamedTuple):
    """An affine expression in a copy: the original, its linear form, and the form as an expression.

    ``of`` keeps the original alive, because its identity is part of the key.
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
        forms: the same values as linear forms.
        sums: cache of the affine subscripts and bounds of all copies so far, before simplification
            by intervals; most copies share them.
    """

    known: Intervals
    values: Mapping[str, Expression] = field(default_factory=dict)
    forms: Mapping[str, LinearForm] = field(default_factory=dict)
    sums: dict[Any, _Sum] = field(default_factory=dict)

    def of(self, variable: str, value: Expression) -> _Copy:
        """Substitute a value for an unrolled loop's variable."""
        forms = {**self.forms, variable: linear_form(value, {})}
        return _Copy(self.known, {**self.values, variable: value}, forms, self.sums)

    def inside(self, loop: For, lower: Expression, upper: Expression) -> _Copy:
        """Enter the body of a loop that is not unrolled, with the given bounds."""
        reached = variable_interval(lower, upper, self.known)
        if loop.kind is LoopKind.VECTOR:
            reached = _lanes(intersection(reached, (0, loop.lanes - 1)))
        own = loop.variable
        values = {name: value for name, value in self.values.items() if name != own}
        forms = {name: form for name, form in self.forms.items() if name != own}
        return _Copy({**self.known, own: reached}, values, forms, self.sums)

    def integer(self, expression: Expression) -> Expression:
        """Copy an integer expression."""
        form = linear_form(expression, {})
        if not form.is_affine:
            return simplify(self.value(expression), self.known)
        inserted = [self.forms.get(atom.name) for atom, _ in form.terms if isinstance(atom, Index)]
        key = (id(expression), *inserted)
        affine = self.sums.get(key)
        if affine is None:
            given = form.with_values(self.forms)
            affine = self.sums[key] = _Sum(expression, given, given.expression())
        if not affine.form.is_affine:
            return simplify(affine.written, self.known)
        form = affine.form.where(self.known)
        return affine.written if form is affine.form else form.expression()

    def integers(self, expressions: tuple[Expression, ...]) -> tuple[Expression, ...]:
        """Copy integer expressions."""
        return tuple([self.integer(expression) for expression in expressions])

    def condition(self, condition: Expression) -> Expression:
        """Copy a condition."""
        return simplify(self.value(condition), self.known)

    def operand(self, operand: Load | Constant) -> Load | Constant:
        """Copy an operand of an instruction."""
        if isinstance(operand, Constant):
            return operand
        return replace(operand, subscripts=self.integers(operand.subscripts))

    def value(self, expression: Expression) -> Expression:
        """Copy the value of a statement."""
        match expression:
            case Index(name=name):
                return self.values.get(name, expression)
            case Load(subscripts=subscripts):
                return rebuild(expression, self.integers(subscripts))
        operands = children(expression)
        return rebuild(expression, tuple([self.value(operand) for operand in operands]))


def _lanes(reached: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    """The interval of a lane variable for simplification; it has at least two values.

    If the only active lane were a literal, simplification would turn a vector of one lane into a
    scalar element, which the register tiles of the neighboring vectors do not hold, and to which no
    vector instruction adds.
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
            operands = tuple((name, copy.operand(operand)) for name, operand in node.operands)
            return replace(node, meaning=whole, operands=operands)
        case TileCall():
            return _expand_tile(node, copy)
        case Transposition():
            raise AssertionError("loops are unrolled before tiles are transposed")
        case Assign(target=target, value=value, instance=instance):
            access = Access(target.array, copy.integers(target.subscripts), target.location)
            return Assign(node.statement, copy.integers(instance), access, copy.value(value))


def _expand_tile(node: TileCall, copy: _Copy) -> LoopNode:
    sizes = tuple((name, copy.integer(size)) for name, size in node.sizes)
    if any(isinstance(size, Constant) and size.value <= 0 for _, size in sizes):
        return Block(())
    meaning = _expand(node.meaning, copy)
    assert isinstance(meaning, For)
    tiles = []
    for name, tile in node.tiles:
        first = replace(tile.first, subscripts=copy.integers(tile.first.subscripts))
        tiles.append((name, replace(tile, first=first)))
    return replace(node, meaning=meaning, sizes=sizes, tiles=tuple(tiles))


def _expand_loop(node: For, copy: _Copy) -> LoopNode:
    lower, upper = copy.integer(node.lower), copy.integer(node.upper)
    if node.kind is not LoopKind.UNROLLED:
        inner = copy.inside(node, lower, upper)
        body = _expand(node.body, inner)
        if body == Block(()):
            return body
        prefetches = tuple(
            replace(prefetch, start=inner.integers(prefetch.start)) for prefetch in node.prefetches
        )
        return replace(node, lower=lower, upper=upper, body=body, prefetches=prefetches)
    copies = []
    for iteration in _iterations(node, lower, upper, copy.known):
        body = _expand(node.body, copy.of(node.variable, iteration))
        copies.append(_guarded(_runs(iteration, lower, upper, node.step, copy.known), body, None))
    return block(copies)


def _runs(
    here: Expression, lower: Expression, upper: Expression, step: int, known: Intervals
) -> Expression:
    """The condition under which a loop has the iteration ``here``."""
    if all(isinstance(expression, Constant) for expression in (here, lower, upper)):
        at, first, end = (
            linear_form(expression, known).constant for expression in (here, lower, upper)
        )
        return Constant(at in range(first, end, step))
    runs = (lower <= here) & (here < upper) & equal((here - lower) % step, 0)
    return simplify(runs, known)


def _iterations(
    node: For, lower: Expression, upper: Expression, known: Intervals
) -> list[Expression]:
    """The values of an unrolled loop's variable, in order; some may be outside the loop's bounds.

    If the loop's values have literal bounds, the values are literals, so that subscripts become
    literal. If not, they are the lower bound plus literals.
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
    return [start.plus(offset).expression() for offset in range(0, longest, node.step)]


def _guarded(condition: Expression, then: LoopNode, otherwise: LoopNode | None) -> LoopNode:
    if condition == Constant(True):
        return then
    if condition == Constant(False) or (then == Block(()) and otherwise is None):
        return Block(()) if otherwise is None else otherwise
    return If(condition, then, otherwise)
