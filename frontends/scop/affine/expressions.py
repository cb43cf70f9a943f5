"""Translate C integer expressions in bounds, subscripts and conditions to affine expressions.

Signed arithmetic is treated as exact, because signed overflow is undefined in C. Unsigned
arithmetic wraps around in C, so an unsigned expression is accepted only if it is *proved* to stay
within the range of its type. Division truncates as in C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.expected import expects, unproved
from polysched.frontends.scop.affine.integer_types import Integer, in_range, in_type, require_signed
from polysched.frontends.scop.affine.integers import (
    floor,
    minus,
    negated,
    plus,
    product,
    quotient,
    remainder,
    selected,
    wrapped_once,
)
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.affine.sizeof import bytes_of
from polysched.frontends.scop.inline.choices import Choice
from polysched.frontends.scop.source.trees import Factor, StandIn
from polysched.frontends.scop.types.c_types import c_name, common_type, declared_type, promoted
from polysched.frontends.scop.types.literals import literal
from polysched.ir.expr.dtypes import DType, boolean, i32, i64, u64
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.ir.expr.functions import equal, maximum, minimum, not_equal, select
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import walk

COMPARISONS: Mapping[str, Callable[[Expression, Expression], Expression]] = MappingProxyType(
    {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: b < a,
        ">=": lambda a, b: b <= a,
        "==": equal,
        "!=": not_equal,
    }
)

EXTREMA: Mapping[str, Operator] = MappingProxyType(
    {
        "min": Operator.MINIMUM,
        "MIN": Operator.MINIMUM,
        "max": Operator.MAXIMUM,
        "MAX": Operator.MAXIMUM,
    }
)
"""Macros that may be left unexpanded: they are translated as functions of integers."""

ABSOLUTE_VALUES: Mapping[str, DType] = MappingProxyType({"abs": i32, "labs": i64, "llabs": i64})
"""Functions of stdlib.h, with the type of the argument and the result."""

_CONDITIONS = frozenset({*COMPARISONS, "&&", "||"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "<<", ">>", "&"})

_AFFINE_FORM = (
    "expected loop variables, sizes and integers combined with + - min max, or with * / % by an "
    "integer literal"
)


def affine(scope: Scope, node: c_ast.Node) -> Integer:
    """Translate an integer expression to an affine expression.

    Raises:
        FrontendError: the expression is not affine, depends on data, or may wrap around.
    """
    match node:
        case c_ast.Constant():
            return _literal(scope, node)
        case c_ast.ID():
            return _named(scope, node)
        case c_ast.UnaryOp(op="+" | "-" | "sizeof"):
            return _unary(scope, node)
        case c_ast.BinaryOp(op=operator) if operator in _ARITHMETIC:
            return _binary(scope, node)
        case c_ast.Cast(to_type=type_, expr=operand):
            return _cast(scope, node, type_, operand)
        case c_ast.TernaryOp():
            return _ternary(scope, node)
        case Factor():
            return _factor(scope, node)
        case c_ast.FuncCall(name=c_ast.ID()):
            return _call(scope, node)
        case c_ast.ArrayRef():
            raise scope.error(
                node,
                f"'{scope.source_map.text(node)}' is data; expected loop variables, sizes and "
                "integers here: only values may depend on data, as in x = c ? a : b",
            )
        case c_ast.BinaryOp(op=operator) if operator not in _CONDITIONS:
            raise not_affine(scope, node, ": it is a bitwise operation")
        case c_ast.BinaryOp() | c_ast.UnaryOp(op="!"):
            holds = condition(scope, node)
            return Integer(select(holds, Constant(1), Constant(0)), i32)
    raise not_affine(scope, node)


def not_affine(scope: Scope, node: c_ast.Node, why: str = "") -> FrontendError:
    """Build the error for an expression that is not affine; `why` begins with a colon."""
    shown = scope.source_map.text(node)
    return scope.error(node, f"'{shown}' is not affine{why}; {_AFFINE_FORM}")


def condition(scope: Scope, node: c_ast.Node) -> Expression:
    """Translate a condition to an affine condition.

    Raises:
        FrontendError: the condition is not affine, depends on data, or compares an unsigned
            expression that may wrap around.
    """
    match node:
        case c_ast.BinaryOp(op="&&", left=left, right=right):
            first = condition(scope, left)
            with scope.assuming(first):
                return first & condition(scope, right)
        case c_ast.BinaryOp(op="||", left=left, right=right):
            first = condition(scope, left)
            with scope.assuming(~first):
                return first | condition(scope, right)
        case c_ast.UnaryOp(op="!", expr=operand):
            return ~condition(scope, operand)
        case c_ast.BinaryOp(op=operator, left=left, right=right) if operator in COMPARISONS:
            return _comparison(scope, node)
    value = affine(scope, node).value
    if isinstance(value, Constant):
        return Constant(bool(value.value), boolean)
    result = not_equal(value, 0)
    scope.require_affine(node, result)
    return result


def _comparison(scope: Scope, node: c_ast.BinaryOp) -> Expression:
    left, right = affine(scope, node.left), affine(scope, node.right)
    _require_signed_literals(scope, node, left, right)
    dtype = common_type(left.dtype, right.dtype)
    for side, value in ((node.left, left), (node.right, right)):
        in_range(scope, side, Integer(value.value, dtype))
    if left.number is not None and right.number is not None:
        holds = {
            "<": left.number < right.number,
            "<=": left.number <= right.number,
            ">": left.number > right.number,
            ">=": left.number >= right.number,
            "==": left.number == right.number,
            "!=": left.number != right.number,
        }
        return Constant(holds[node.op], boolean)
    result = COMPARISONS[node.op](left.value, right.value)
    scope.require_affine(node, result)
    return result


def _require_signed_literals(
    scope: Scope, node: c_ast.BinaryOp, left: Integer, right: Integer
) -> None:
    """Check that a literal operand fits 64 signed bits unless both operands are literals."""
    if left.number is None or right.number is None:
        require_signed(scope, node.left, left)
        require_signed(scope, node.right, right)


def _literal(scope: Scope, node: c_ast.Constant) -> Integer:
    number = literal(node, scope.source_map)
    if number.type is None or not number.type.is_integer:
        raise scope.error(node, f"{node.value} is not an integer; expected an integer")
    return Integer(Constant(int(number.value)), number.type)


def _named(scope: Scope, node: c_ast.ID) -> Integer:
    binding = scope.lookup(node)
    if isinstance(binding, ArrayBinding):
        if binding.rank:
            kind = "is an array"
        elif binding.dtype.is_integer:
            kind = "is data that the region computes"
        else:
            kind = f"is data of type {c_name(binding.dtype)}"
        source = node.source if isinstance(node, StandIn) else node
        shown = source.name if isinstance(source, c_ast.ID) else node.name
        raise scope.error(
            node, f"'{shown}' {kind}; expected loop variables, sizes and integers here"
        )
    if not binding.is_affine:
        raise not_affine(scope, node, f": its value is {binding.value}")
    return Integer(binding.value, binding.dtype)


def _unary(scope: Scope, node: c_ast.UnaryOp) -> Integer:
    if node.op == "sizeof":
        size = bytes_of(scope, node)
        if size is None:
            raise not_affine(scope, node, ": its value is not known")
        return Integer(Constant(size), u64)
    inner = affine(scope, node.expr)
    value = inner.value if node.op == "+" else negated(inner.value)
    return in_range(scope, node, Integer(value, promoted(inner.dtype)))


def _binary(scope: Scope, node: c_ast.BinaryOp) -> Integer:
    match node:
        case c_ast.BinaryOp(
            op="&",
            left=operand,
            right=c_ast.UnaryOp(op="~", expr=c_ast.Constant(type="int", value=mask)),
        ) if mask.isdigit() and not int(mask) & (int(mask) + 1):
            # The sign of a literal of type int fills the high bits, so that `&` keeps them.
            inner = affine(scope, operand)
            rounded = minus(inner.value, inner.value % (int(mask) + 1))
            return in_range(scope, node, Integer(rounded, promoted(inner.dtype)))
    left, right = affine(scope, node.left), affine(scope, node.right)
    _require_signed_literals(scope, node, left, right)
    dtype = common_type(left.dtype, right.dtype)
    if node.op in ("<<", ">>"):
        dtype = promoted(left.dtype)
    for side, value in ((node.left, left), (node.right, right)):
        in_range(scope, side, Integer(value.value, dtype))
    number = right.number
    match node.op:
        case "+":
            result = plus(left.value, right.value)
        case "-":
            result = minus(left.value, right.value)
        case "*":
            if number is None and left.number is None:
                raise not_affine(scope, node, f": it multiplies {_factors(left, right)}")
            result = product(left.value, right.value)
        case "/" | "%":
            result = _divided(scope, node, left, right)
        case "&":
            result = _masked(scope, node, left, right)
        case _:
            if number is None or not 0 <= number < dtype.bits - 1:
                shifts = f"0 to {dtype.bits - 2}"
                raise not_affine(scope, node, f": its shift amount is not a literal from {shifts}")
            factor = 1 << number
            result = (
                product(left.value, Constant(factor))
                if node.op == "<<"
                else floor(left.value, factor)
            )
    return in_range(scope, node, Integer(result, dtype))


def _divided(scope: Scope, node: c_ast.BinaryOp, left: Integer, right: Integer) -> Expression:
    number = right.number
    if number:
        divide = quotient if node.op == "/" else remainder
        return divide(scope, left.value, number)
    wrapped = None
    if number is None and node.op == "%":
        wrapped = wrapped_once(scope, left.value, right.value)
    if wrapped is None:
        why = ": its divisor is 0" if number == 0 else ": its divisor is not a literal"
        raise not_affine(scope, node, why)
    return wrapped


def _factors(left: Integer, right: Integer) -> str:
    """Name the kinds of two factors, neither a literal, for messages."""
    indexed = [any(isinstance(node, Index) for node in walk(x.value)) for x in (left, right)]
    if all(indexed):
        return "two loop variables"
    return "a loop variable by a size" if any(indexed) else "two sizes"


def _masked(scope: Scope, node: c_ast.BinaryOp, left: Integer, right: Integer) -> Expression:
    """Translate ``x & (2**k - 1)`` to the floor remainder of x by 2**k."""
    value, mask = (left.value, right.number) if left.number is None else (right.value, left.number)
    if isinstance(value, Constant) and mask is not None:
        return Constant(int(value.value) & mask)
    if mask is None or mask < 0 or mask & (mask + 1):
        why = ": it is a bitwise operation other than x & 1, x & 3, x & 7 ..."
        raise not_affine(scope, node, why)
    return value % (mask + 1)


def _cast(scope: Scope, node: c_ast.Cast, type_: c_ast.Node, operand: c_ast.Node) -> Integer:
    target = declared_type(type_.type, scope.typedefs, scope.source_map, node).dtype
    inner = affine(scope, operand)
    if target is None or not target.is_integer:
        shown = "void" if target is None else c_name(target)
        raise not_affine(scope, node, f": it casts to {shown}")
    return in_type(scope, operand, inner, target)


def _factor(scope: Scope, node: Factor) -> Integer:
    factor = affine(scope, node.expr)
    shown = f"'{scope.source_map.text(node.product)}'"
    needed = [(factor.value >= 0, f"{shown} may multiply negative sizes")]
    if node.greatest is not None:
        needed.append((factor.value <= node.greatest, f"{shown} may wrap around"))
    for condition, otherwise in needed:
        if not expects(scope, node.product, condition, otherwise):
            raise unproved(
                scope,
                node.product,
                f"{otherwise}; promise what holds with '#pragma polysched assume ...'",
            )
    return factor


def _ternary(scope: Scope, node: c_ast.TernaryOp) -> Integer:
    holds = condition(scope, node.cond)
    with scope.assuming(holds):
        if_true = affine(scope, node.iftrue)
    with scope.assuming(~holds):
        if_false = affine(scope, node.iffalse)
    dtype = common_type(if_true.dtype, if_false.dtype)
    return in_range(scope, node, Integer(selected(holds, if_true.value, if_false.value), dtype))


def _call(scope: Scope, node: c_ast.FuncCall) -> Integer:
    name = node.name.name
    scope.require_known(node.name)
    arguments = node.args.exprs if node.args is not None else []
    if name in scope.choices and len(arguments) == 2:
        return _choice(scope, node, scope.choices[name], arguments)
    if name in EXTREMA and len(arguments) >= 2:
        first, *rest = (affine(scope, argument) for argument in arguments)
        combine = minimum if EXTREMA[name] is Operator.MINIMUM else maximum
        dtype = first.dtype
        for operand in rest:
            dtype = common_type(dtype, operand.dtype)
        value = first.value
        for operand in rest:
            value = combine(value, operand.value)
        return in_range(scope, node, Integer(value, dtype))
    if name in ("floord", "ceild") and len(arguments) == 2:
        dividend, divisor = (affine(scope, argument) for argument in arguments)
        number = divisor.number
        if number is None or number <= 0:
            raise not_affine(scope, node, ": its divisor is not a positive literal")
        dtype = common_type(dividend.dtype, divisor.dtype)
        if name == "floord":
            return Integer(floor(dividend.value, number), dtype)
        return Integer(negated(floor(negated(dividend.value), number)), dtype)
    if name in ABSOLUTE_VALUES and len(arguments) == 1:
        dtype = ABSOLUTE_VALUES[name]
        argument = in_type(scope, arguments[0], affine(scope, arguments[0]), dtype).value
        return Integer(maximum(argument, negated(argument)), dtype)
    raise not_affine(scope, node, f": it calls '{name}'")


def _choice(
    scope: Scope, node: c_ast.FuncCall, choice: Choice, arguments: list[c_ast.Node]
) -> Integer:
    """Translate a call of a min or max function that the file defines."""
    if not choice.dtype.is_integer:
        raise not_affine(scope, node, f": its type is {c_name(choice.dtype)}")
    left, right = (
        in_type(scope, argument, affine(scope, argument), choice.dtype).value
        for argument in arguments
    )
    combine = minimum if choice.operator is Operator.MINIMUM else maximum
    return Integer(combine(left, right), choice.dtype)
