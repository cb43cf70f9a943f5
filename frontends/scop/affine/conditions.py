"""Write conditions and functions of sizes as C expressions."""

from __future__ import annotations

from fractions import Fraction

import islpy as isl

from polysched.ir.expr.expressions import Constant, Expression, Operation, Parameter
from polysched.ir.expr.operators import Operator

_INFIX = {
    Operator.ADD: "+",
    Operator.SUBTRACT: "-",
    Operator.MULTIPLY: "*",
    Operator.LESS: "<",
    Operator.LESS_EQUAL: "<=",
    Operator.EQUAL: "==",
    Operator.NOT_EQUAL: "!=",
    Operator.AND: "&&",
    Operator.OR: "||",
}


def condition_text(condition: isl.Set, *, cast: str = "") -> str:
    """Return a condition on the parameters as a C expression, such as ``n >= 1 && m < n``.

    Args:
        condition: a set of parameter values.
        cast: text before every name, such as ``(long long)``.

    Raises:
        ValueError: a division other than in ``n % 2 == 0``, or no value satisfies the condition.
    """
    clauses = [_clause(basic, cast) for basic in condition.get_basic_sets()]
    if not clauses:
        raise ValueError("the condition has no solution")
    if len(clauses) == 1:
        return clauses[0]
    return " || ".join(f"({clause})" if " && " in clause else clause for clause in clauses)


def _clause(basic: isl.BasicSet, cast: str) -> str:
    constraints = basic.get_constraints()
    return " && ".join(_comparison(constraint, cast) for constraint in constraints) or "1"


def _comparison(constraint: isl.Constraint, cast: str) -> str:
    """Write ``sum + constant >= 0`` with the positive terms on the left."""
    aff = constraint.get_aff()
    if any(_coefficients(aff, isl.dim_type.div)):
        return _divisible(constraint, cast)
    left: list[str] = []
    right: list[str] = []
    for position in range(aff.dim(isl.dim_type.param)):
        value = aff.get_coefficient_val(isl.dim_type.param, position).to_python()
        name = f"{cast}{aff.get_dim_name(isl.dim_type.param, position)}"
        if value:
            term = name if abs(value) == 1 else f"{abs(value)} * {name}"
            (left if value > 0 else right).append(term)
    constant = aff.get_constant_val().to_python()
    if constraint.is_equality():
        return f"{_sum(left, max(constant, 0))} == {_sum(right, max(-constant, 0))}"
    if not left:
        return f"{_sum(right, max(-constant, 0))} <= {max(constant, 0)}"
    if constant == -1 and right:
        return f"{_sum(right, 0)} < {_sum(left, 0)}"
    return f"{_sum(left, max(constant, 0))} >= {_sum(right, max(-constant, 0))}"


def _coefficients(aff: isl.Aff, kind: isl.dim_type) -> list[Fraction]:
    found = (aff.get_coefficient_val(kind, position) for position in range(aff.dim(kind)))
    return [_fraction(coefficient) for coefficient in found]


def _fraction(value: isl.Val) -> Fraction:
    return Fraction(value.get_num_si(), value.get_den_val().to_python())


def _divisible(constraint: isl.Constraint, cast: str) -> str:
    """Write ``sum - 2 * floor(sum / 2) == 0`` as ``sum % 2 == 0``."""
    aff = constraint.get_aff()
    divisions = _coefficients(aff, isl.dim_type.div)
    used = [position for position, value in enumerate(divisions) if value]
    if not constraint.is_equality() or len(used) != 1:
        raise ValueError("the condition contains a division")
    inside, size = aff.get_div(used[0]), abs(divisions[used[0]])
    sign = -1 if divisions[used[0]] > 0 else 1
    constant = aff.get_constant_val().to_python()
    own = [
        sign * coefficient
        for coefficient in (*_coefficients(aff, isl.dim_type.param), Fraction(constant))
    ]
    others = _coefficients(inside, isl.dim_type.param)
    others.append(_fraction(inside.get_constant_val()))
    if any(_coefficients(inside, isl.dim_type.div)) or own != [
        coefficient * size for coefficient in others
    ]:
        raise ValueError("the condition contains a division")
    names = [aff.get_dim_name(isl.dim_type.param, at) for at in range(len(own) - 1)]
    terms = [
        f"{cast}{name}" if value == 1 else f"{value} * {cast}{name}"
        for name, value in zip(names, own, strict=False)
        if value
    ]
    total = " + ".join([*terms, *([str(own[-1])] if own[-1] else [])])
    return f"{total if len(terms) == 1 and not own[-1] else f'({total})'} % {size} == 0"


def _sum(terms: list[str], constant: int) -> str:
    return " + ".join([*terms, *([str(constant)] if constant or not terms else [])])


def size_text(expression: Expression) -> str:
    """Return a function of sizes as a C expression of type long.

    Raises:
        ValueError: the expression contains an operation that has no plain form in C.
    """
    match expression:
        case Constant(value=value):
            return f"{int(value)}L"
        case Parameter(name=name):
            return f"(long){name}"
        case Operation(
            operator=Operator.FLOOR_DIVIDE | Operator.MODULO as operator,
            operands=(left, Constant(value=divisor)),
        ):
            dividend = size_text(left)
            floor = (
                f"({dividend} >= 0 ? {dividend} / {divisor} "
                f": -(({divisor - 1} - {dividend}) / {divisor}))"
            )
            if operator is Operator.FLOOR_DIVIDE:
                return floor
            return f"({dividend} - {floor} * {divisor})"
        case Operation(operator=operator, operands=(left, right)) if operator in _INFIX:
            return f"({size_text(left)} {_INFIX[operator]} {size_text(right)})"
        case Operation(operator=Operator.MINIMUM | Operator.MAXIMUM as operator):
            first, second = map(size_text, expression.operands)
            relation = "<" if operator is Operator.MINIMUM else ">"
            return f"({first} {relation} {second} ? {first} : {second})"
        case Operation(operator=Operator.SELECT, operands=(holds, if_true, if_false)):
            texts = (size_text(holds), size_text(if_true), size_text(if_false))
            return "({} ? {} : {})".format(*texts)
        case Operation(operator=Operator.NEGATE, operands=(operand,)):
            return f"(-{size_text(operand)})"
    raise ValueError(f"{expression} has no plain form in C")
