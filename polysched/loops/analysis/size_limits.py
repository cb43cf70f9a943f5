"""Limit sizes so that 64-bit arithmetic computes bounds and subscripts exactly.

Proofs treat bounds, conditions and subscripts as functions on unbounded integers; the code computes
them with 64 bits. Both agree if all intermediate values fit. The parameters in these expressions
are therefore limited. No array and no terminating loop comes near the limit: it is 2**57 for a
program whose intermediate values grow ten times as fast as its sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

import islpy as isl

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Array
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operation,
    Parameter,
)
from polysched.ir.expr.operators import COMPARISONS, LOGICAL, Operator
from polysched.ir.expr.traversal import loads
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
)

LARGEST = 2**61
"""A quarter of the signed 64-bit range: room for sums and differences in generated code."""

Rational: TypeAlias = int | Fraction
"""An exact number; few are fractions, and computing with integers takes a fifth of the time."""


@dataclass(frozen=True)
class Growth:
    """A bound ``slope * size + offset``, if all used parameters are at most ``size``."""

    slope: Rational
    offset: Rational

    def plus(self, other: Growth) -> Growth:
        """The bound of a sum or a difference."""
        return Growth(self.slope + other.slope, self.offset + other.offset)

    def times(self, factor: Rational) -> Growth:
        """The bound of a multiple."""
        return Growth(self.slope * factor, self.offset * factor)

    def joined(self, other: Growth) -> Growth:
        """The bound that holds for both numbers."""
        return Growth(max(self.slope, other.slope), max(self.offset, other.offset))


def _literal(value: int) -> Growth:
    return Growth(0, abs(value))


NOTHING = _literal(0)
_SIZE = Growth(1, 0)

Variables = Mapping[str, Growth]


def with_limited_sizes(program: LoopProgram) -> LoopProgram:
    """Limit the sizes so that no bound, condition or subscript exceeds 64 bits.

    Parameters that only values use stay free.

    Raises:
        LoweringError: a bound, condition or subscript that has no such sizes.
    """
    survey = _Survey(program.arrays)
    survey.node(program.body, MappingProxyType({}))
    for array in program.arrays.values():
        survey.every(array.stored_shape, MappingProxyType({}))
    if not survey.used or not survey.largest.slope:
        return program
    limit = max(Fraction(LARGEST - survey.largest.offset) / survey.largest.slope, Fraction(0))
    size = 1 << max(int(limit).bit_length() - 1, 0)
    context = program.context.params()
    # In a fixed order, because the order of constraints shows in reports and in the code.
    for name in sorted(survey.used):
        position = context.find_dim_by_name(isl.dim_type.param, name)
        context = context.lower_bound_val(isl.dim_type.param, position, isl.Val(-size))
        context = context.upper_bound_val(isl.dim_type.param, position, isl.Val(size))
    if limit < 1 or context.is_empty():
        raise LoweringError(
            f"kernel '{program.name}': at the sizes that it is declared for, its bounds and "
            "subscripts need more than 64 bits; expected smaller sizes, or smaller factors"
        )
    return replace(program, context=context)


@dataclass
class _Survey:
    """The parameters found so far, and the bound of all intermediate values."""

    arrays: Mapping[str, Array]
    used: set[str] = field(default_factory=set)
    largest: Growth = NOTHING

    def node(self, node: LoopNode, variables: Variables) -> None:
        match node:
            case For(variable=variable, lower=lower, upper=upper, step=step, body=body):
                ends = self.every((lower, upper), variables).plus(_literal(step))
                self.largest = self.largest.joined(ends)
                self.node(body, {**variables, variable: ends})
            case If(condition=condition, then=then, otherwise=otherwise):
                self.every((condition,), variables)
                self.node(then, variables)
                if otherwise is not None:
                    self.node(otherwise, variables)
            case Block(children=children):
                for child in children:
                    self.node(child, variables)
            case Allocate(body=body):
                self.node(body, variables)
            case (
                InstructionCall(meaning=meaning)
                | TileCall(meaning=meaning)
                | Transposition(meaning=meaning)
            ):
                self.node(meaning, variables)
            case Assign(target=target, value=value):
                self.every(target.subscripts, variables)
                for load in loads(value):
                    self.every(load.subscripts, variables)

    def every(self, expressions: Iterable[Expression], variables: Variables) -> Growth:
        """The bound of several expressions."""
        bound = NOTHING
        for expression in expressions:
            bound = bound.joined(self.expression(expression, variables))
        return bound

    def expression(self, expression: Expression, variables: Variables) -> Growth:
        bound = self._bound(expression, variables)
        self.largest = self.largest.joined(bound)
        return bound

    def _bound(self, expression: Expression, variables: Variables) -> Growth:
        match expression:
            case Constant(value=value):
                return _literal(int(value))
            case Parameter(name=name):
                self.used.add(name)
                return _SIZE
            case Index(name=name):
                return variables[name]
            case Load(array=array, subscripts=subscripts, values=values):
                self.every(subscripts, variables)
                return self._loaded(self.arrays[array], values)
            case Cast(operand=operand):
                return self.expression(operand, variables)
            case Operation(operator=operator, operands=operands):
                return self._operation(
                    operator, [self.expression(operand, variables) for operand in operands]
                )
        raise TypeError(f"{type(expression).__name__} is not an expression node")

    def _loaded(self, array: Array, values: tuple[Expression, Expression] | None) -> Growth:
        """The bound of an index array's elements: the declared range, which every call checks."""
        if values is not None:
            return self.every(values, MappingProxyType({}))
        return _literal(1 << array.dtype.bits)

    def _operation(self, operator: Operator, bounds: list[Growth]) -> Growth:
        if operator in COMPARISONS or operator in LOGICAL:
            return _literal(1)
        match operator, bounds:
            case ((Operator.ADD | Operator.SUBTRACT), [left, right]):
                return left.plus(right)
            case Operator.MULTIPLY, [left, right]:
                factor, other = (left, right) if not left.slope else (right, left)
                if factor.slope:
                    raise LoweringError("a subscript, bound or condition multiplies two sizes")
                return other.times(factor.offset)
            case ((Operator.FLOOR_DIVIDE | Operator.QUOTIENT), [left, right]) if not right.slope:
                return left.times(Fraction(1) / max(right.offset, 1)).plus(_literal(1))
            case ((Operator.MODULO | Operator.REMAINDER), [_, right]):
                return right
            case Operator.SELECT, [_, if_true, if_false]:
                return if_true.joined(if_false)
        joined = NOTHING
        for bound in bounds:
            joined = joined.joined(bound)
        return joined
