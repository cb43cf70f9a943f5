"""Conversion between expression trees and isl's quasi-affine functions and sets.

An expression is *quasi-affine* if it is built from indices, parameters and integer literals by
addition, multiplication by a literal, floor division and modulo by a positive literal, minimum,
maximum, and selection by a condition over quasi-affine expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from types import MappingProxyType
from typing import TypeAlias

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import boolean, i64
from polysched.ir.expr.expressions import (
    Constant,
    Expression,
    Index,
    Operation,
    Parameter,
    operation,
)
from polysched.ir.expr.functions import equal, select
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads
from polysched.ir.isl.extrema import as_int


def instance_space(parameters: Sequence[str], statement: str, indices: Sequence[str]) -> isl.Space:
    """Create the space ``[parameters] -> { statement[indices] }`` with all dimensions named."""
    space = isl.Space.create_from_names(
        isl.DEFAULT_CONTEXT, set=list(indices), params=list(parameters)
    )
    return space.set_tuple_name(isl.dim_type.set, statement)


def to_pw_aff(expression: Expression, space: isl.Space) -> isl.PwAff:
    """Convert an integer expression to a quasi-affine function on ``space``.

    Raises:
        KernelError: the expression is not quasi-affine, or names an index that ``space`` lacks.
    """
    match expression:
        case Constant(value=value) if isinstance(value, int) and not isinstance(value, bool):
            if not -(2**63) <= value < 2**63:
                raise KernelError(f"{value} does not fit 64 bits, as sizes and subscripts must")
            return literal(space, value)
        case Index(name=name):
            return _variable(space, isl.dim_type.set, name, "index")
        case Parameter(name=name):
            return _variable(space, isl.dim_type.param, name, "parameter")
        case Operation(operator=Operator.SELECT, operands=(condition, if_true, if_false)):
            chosen = to_set(condition, space)
            return (
                to_pw_aff(if_true, space)
                .intersect_domain(chosen)
                .union_add(to_pw_aff(if_false, space).intersect_domain(chosen.complement()))
            )
        case Operation():
            function = to_aff(expression, space)
            if function is not None:
                return isl.PwAff.from_aff(function)
            return _operation(expression, space)
        case _:
            raise KernelError(_not_affine(expression, _expected_nodes(expression)))


def to_aff(expression: Expression, space: isl.Space) -> isl.Aff | None:
    """Convert a sum of variables and literals to a function on ``space``; None for any other.

    This takes one call of isl for each term, where :func:`_operation` takes two for each node.
    """
    terms: _Terms = {}
    constant = _add(expression, 1, space, terms)
    if constant is None:
        return None
    function = isl.Aff.val_on_domain(space, isl.Val(constant))
    for (kind, position), coefficient in terms.items():
        function = function.set_coefficient_val(kind, position, isl.Val(coefficient))
    return function


_SIMPLE_COMPARISONS = MappingProxyType(
    {
        Operator.LESS: isl.Aff.lt_basic_set,
        Operator.LESS_EQUAL: isl.Aff.le_basic_set,
        Operator.EQUAL: isl.Aff.eq_basic_set,
    }
)
"""Comparisons of functions without cases."""

_Terms: TypeAlias = dict[tuple[isl.dim_type, int], int]
"""Coefficients by the kind and the position of a dimension."""


def _add(expression: Expression, factor: int, space: isl.Space, terms: _Terms) -> int | None:
    """Add ``factor`` times a linear expression to the terms; return its part of the constant.

    None if the expression is not a sum of variables and literals with literal factors.
    """
    match expression:
        case Constant(value=value) if isinstance(value, int) and abs(value) < 2**63:
            return None if isinstance(value, bool) else factor * value
        case Index(name=name) | Parameter(name=name):
            is_index = isinstance(expression, Index)
            kind = isl.dim_type.set if is_index else isl.dim_type.param
            position = space.find_dim_by_name(kind, name)
            if position < 0:
                return None
            kind = isl.dim_type.in_ if is_index else kind
            terms[kind, position] = terms.get((kind, position), 0) + factor
            return 0
        case Operation(operator=Operator.NEGATE, operands=(only,)):
            return _add(only, -factor, space, terms)
        case Operation(operator=Operator.MULTIPLY, operands=(term, Constant(value=int(by)))) | (
            Operation(operator=Operator.MULTIPLY, operands=(Constant(value=int(by)), term))
        ) if abs(by) < 2**63:
            return _add(term, factor * by, space, terms)
        case Operation(operator=Operator.ADD | Operator.SUBTRACT as sign, operands=(left, right)):
            first = _add(left, factor, space, terms)
            if first is None:
                return None
            second = _add(right, factor if sign is Operator.ADD else -factor, space, terms)
            return None if second is None else first + second
    return None


def literal(space: isl.Space, value: int) -> isl.PwAff:
    """Create a constant function on ``space``."""
    return isl.PwAff.from_aff(isl.Aff.val_on_domain(space, isl.Val(value)))


def map_of_sums(space: isl.Space, functions: Sequence[isl.Aff]) -> isl.Map:
    """Map each point of ``space`` to the values of functions without cases.

    This takes one call of isl for each function, where a product of maps takes several slow ones.
    """
    values = isl.MultiAff.zero(space.from_domain().add_dims(isl.dim_type.out, len(functions)))
    for position, function in enumerate(functions):
        values = values.set_aff(position, function)
    return isl.Map.from_pw_multi_aff(isl.PwMultiAff.from_multi_aff(values))


def named(function: isl.PwAff, indices: tuple[str, ...]) -> isl.PwAff:
    """Restore the names of a function's dimensions, which some isl operations drop."""
    for position, index in enumerate(indices):
        function = function.set_dim_id(isl.dim_type.in_, position, isl.Id(index))
    return function


def _operation(expression: Operation, space: isl.Space) -> isl.PwAff:
    operands = [to_pw_aff(operand, space) for operand in expression.operands]
    match expression.operator, operands:
        case Operator.ADD, [left, right]:
            return left.add(right)
        case Operator.SUBTRACT, [left, right]:
            return left.sub(right)
        case Operator.NEGATE, [only]:
            return only.neg()
        case Operator.MINIMUM, [left, right]:
            return left.min(right)
        case Operator.MAXIMUM, [left, right]:
            return left.max(right)
        case Operator.MULTIPLY, [left, right]:
            if left.is_cst() or right.is_cst():
                return left.mul(right)
            raise KernelError(_not_affine(expression, "one factor of a product must be a literal"))
        case ((Operator.FLOOR_DIVIDE | Operator.MODULO), [left, _]):
            divisor = expression.operands[1]
            if not isinstance(divisor, Constant) or divisor.value <= 0:
                raise KernelError(_not_affine(expression, "a divisor must be a positive literal"))
            value = isl.Val(int(divisor.value))
            if expression.operator is Operator.MODULO:
                return left.mod_val(value)
            return left.scale_down_val(value).floor()
        case _:
            raise KernelError(
                _not_affine(expression, f"'{expression.operator.value}' is not affine")
            )


def to_set(condition: Expression, space: isl.Space) -> isl.Set:
    """Convert a condition over quasi-affine expressions to the set of points where it holds."""
    match condition:
        case Constant(value=bool(holds)):
            return isl.Set.universe(space) if holds else isl.Set.empty(space)
        case Operation(operator=Operator.AND, operands=(left, right)):
            return to_set(left, space).intersect(to_set(right, space))
        case Operation(operator=Operator.OR, operands=(left, right)):
            return to_set(left, space).union(to_set(right, space))
        case Operation(operator=Operator.NOT, operands=(only,)):
            return to_set(only, space).complement()
        case Operation(operator=operator, operands=(left, right)):
            if operator in _SIMPLE_COMPARISONS:
                first = to_aff(left, space)
                second = None if first is None else to_aff(right, space)
                if first is not None and second is not None:
                    return isl.Set.from_basic_set(_SIMPLE_COMPARISONS[operator](first, second))
            a, b = to_pw_aff(left, space), to_pw_aff(right, space)
            match operator:
                case Operator.LESS:
                    return a.lt_set(b)
                case Operator.LESS_EQUAL:
                    return a.le_set(b)
                case Operator.EQUAL:
                    return a.eq_set(b)
                case Operator.NOT_EQUAL:
                    return a.ne_set(b)
    raise KernelError(
        f"'{condition}' is not an affine condition; expected comparisons of affine expressions, "
        "joined with & and |"
    )


def _variable(space: isl.Space, kind: isl.dim_type, name: str, role: str) -> isl.PwAff:
    position = space.find_dim_by_name(kind, name)
    if position < 0:
        names = [space.get_dim_name(kind, i) for i in range(space.dim(kind))]
        raise KernelError(
            f"{role} '{name}' is not in scope here; in scope are "
            f"{', '.join(map(str, names)) or 'none'}"
        )
    return isl.PwAff.var_on_domain(space, kind, position)


def _not_affine(expression: Expression, why: str) -> str:
    return (
        f"'{expression}' is not affine: {why}; an affine expression joins indices, parameters and "
        "integers by + - min max, and by * // % with a literal on the right"
    )


def _expected_nodes(expression: Expression) -> str:
    if loads(expression):
        return "an array element is allowed in a subscript only, not in bounds or conditions"
    return "only indices, parameters and integers are allowed here"


def from_pw_aff(function: isl.PwAff) -> Expression:
    """Convert a piecewise function to an expression over its named dimensions.

    Outside the function's domain the value of the expression is arbitrary.
    """
    pieces = function.coalesce().get_pieces()
    *earlier, (_, last) = pieces
    result = from_aff(last)
    for domain, aff in reversed(earlier):
        result = select(from_set(domain), from_aff(aff), result)
    return result


def from_set(domain: isl.Set) -> Expression:
    """Convert a set to a condition over its named dimensions that holds exactly on its points."""
    clauses = []
    for basic in domain.compute_divs().get_basic_sets():
        conditions = []
        for constraint in basic.get_constraints():
            terms, constant = _terms(constraint.get_aff(), 1)
            conditions.append(_comparison(terms, constant, equality=constraint.is_equality()))
        clauses.append(
            reduce(lambda a, b: a & b, conditions) if conditions else Constant(True, boolean)
        )
    if not clauses:
        return Constant(False, boolean)
    return reduce(lambda a, b: a | b, clauses)


def from_aff(function: isl.Aff) -> Expression:
    """Convert the floor of an affine function to an expression over its named dimensions."""
    denominator = as_int(function.get_denominator_val())
    total = weighted_sum(*_terms(function, denominator))
    return total if denominator == 1 else total // denominator


def _terms(function: isl.Aff, scale: int) -> tuple[list[tuple[int, Expression]], int]:
    """The (coefficient, term) pairs and the constant of ``scale * function``."""
    terms: list[tuple[int, Expression]] = []
    for kind, make in ((isl.dim_type.param, Parameter), (isl.dim_type.in_, Index)):
        for position in range(function.dim(kind)):
            coefficient = _scaled(function.get_coefficient_val(kind, position), scale)
            if coefficient:
                name = function.get_dim_name(kind, position)
                assert name is not None, "all dimensions of instance spaces are named"
                terms.append((coefficient, make(name)))
    for position in range(function.dim(isl.dim_type.div)):
        coefficient = _scaled(function.get_coefficient_val(isl.dim_type.div, position), scale)
        if coefficient:
            terms.append((coefficient, from_aff(function.get_div(position))))
    return terms, _scaled(function.get_constant_val(), scale)


def _comparison(
    terms: list[tuple[int, Expression]], constant: int, *, equality: bool
) -> Expression:
    """Write ``terms + constant >= 0`` (or ``== 0``) with positive coefficients on both sides."""
    more = weighted_sum([(c, term) for c, term in terms if c > 0], max(constant, 0))
    less = weighted_sum([(-c, term) for c, term in terms if c < 0], max(-constant, 0))
    return equal(more, less) if equality else less <= more


def _scaled(value: isl.Val, denominator: int) -> int:
    if value.is_int():
        return as_int(value) * denominator
    numerator, _, divisor = value.to_str().partition("/")
    return int(numerator) * denominator // int(divisor or 1)


def weighted_sum(terms: Sequence[tuple[int, Expression]], constant: int) -> Expression:
    """Write ``constant + sum of coefficient * term`` without redundant 1s, 0s and signs."""
    result: Expression | None = None
    for coefficient, term in sorted(terms, key=lambda item: item[0] < 0):
        size = abs(coefficient)
        scaled = term if size == 1 else _combined(Operator.MULTIPLY, size, term)
        if result is None:
            result = scaled if coefficient > 0 else -scaled
        else:
            sign = Operator.ADD if coefficient > 0 else Operator.SUBTRACT
            result = _combined(sign, result, scaled)
    if result is None:
        return Constant(constant)
    if constant:
        sign = Operator.ADD if constant > 0 else Operator.SUBTRACT
        return _combined(sign, result, abs(constant))
    return result


def _combined(operator: Operator, left: Expression | int, right: Expression | int) -> Expression:
    """Build an operation; skip the type checks of :func:`operation` if both operands are i64."""
    first, second = _sized(left), _sized(right)
    if first.dtype is i64 and second.dtype is i64:
        return Operation(operator, (first, second), i64)
    return operation(operator, left, right)


def _sized(value: Expression | int) -> Expression:
    if isinstance(value, Expression):
        return value
    return Constant(value, i64 if value < 2**63 else None)
