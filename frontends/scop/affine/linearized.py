"""Delinearize subscripts: ``A[i*m + j]`` to element (i, j) of an array of declared shape.

With ``#pragma polysched shape A[n][m]``, a pointer ``A`` is an array of that shape. A subscript is
a polynomial in indices and sizes. Dividing it by the row length ``m`` gives the row subscript (the
quotient) and the column subscript (the remaining terms). The bounds check of the kernel proves that
both lie within their dimensions, as for any other access, so the element is the one that C means.
"""

from __future__ import annotations

from functools import reduce
from operator import add, mul

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import IntegerBinding
from polysched.frontends.scop.affine.expected import expects, unproved
from polysched.frontends.scop.affine.expressions import affine
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.types.c_types import (
    c_name,
    common_type,
    declared_type,
    promoted,
    type_range,
)
from polysched.frontends.scop.types.polynomials import (
    Monomial,
    Polynomial,
    divided,
    plus,
    polynomial_of,
    times,
)
from polysched.ir.core.kernel import Array
from polysched.ir.expr.affine import weighted_sum
from polysched.ir.expr.dtypes import DType, boolean, i64
from polysched.ir.expr.expressions import Constant, Expression

NO_OFFSET = Constant(0)
"""The offset of an array that is not accessed through a row pointer."""


def split_subscript(
    scope: Scope, node: c_ast.Node, array: Array, offset: Expression = NO_OFFSET
) -> tuple[Expression, ...]:
    """Split a linearized subscript plus an offset into one subscript per dimension."""
    rest = plus(_polynomial(scope, node), polynomial_of(offset), 1)
    parts = []
    for position in range(1, len(array.shape)):
        extents = [polynomial_of(extent) for extent in array.shape[position:]]
        unit: Polynomial = {(): 1}
        stride = reduce(times, extents, unit)
        if len(stride) != 1:
            raise scope.error(
                node,
                f"the rows of '{array.name}' are {' * '.join(map(str, array.shape[position:]))} "
                "elements apart, which is a sum; expected a product of sizes",
            )
        ((monomial, factor),) = stride.items()
        whole, rest = divided(rest, monomial, factor)
        parts.append(whole)
    parts.append(rest)
    for position in range(len(parts) - 1, 0, -1):
        # A negative column borrows from the row: A[n * m - 1] is the last element of row n - 1.
        if any(coefficient < 0 for coefficient in parts[position].values()):
            column = _affine_part(scope, node, array, parts[position])
            extent = array.shape[position]
            if scope.proves(column < 0):
                parts[position] = plus(parts[position], polynomial_of(extent), 1)
                parts[position - 1] = plus(parts[position - 1], {(): 1}, -1)
    return tuple(_affine_part(scope, node, array, part) for part in parts)


def polynomial_value(scope: Scope, node: c_ast.Node) -> Expression:
    """Translate a polynomial such as the row offset ``i * m``."""
    terms = [
        reduce(mul, monomial if coefficient == 1 else (Constant(coefficient), *monomial))
        if monomial
        else Constant(coefficient)
        for monomial, coefficient in _polynomial(scope, node).items()
    ]
    return reduce(add, terms) if terms else Constant(0)


def _polynomial(scope: Scope, node: c_ast.Node) -> Polynomial:
    """Translate a subscript, which addresses an element modulo 2**64."""
    return _exact(scope, node, i64)


def _exact(scope: Scope, node: c_ast.Node, dtype: DType) -> Polynomial:
    """Translate an integer that C converts to a type, as an exact number."""
    polynomial, own = _typed(scope, node)
    if not own.is_signed and own.bits < dtype.bits:
        _require_no_wrap(scope, node, polynomial, own)
    return polynomial


def _typed(scope: Scope, node: c_ast.Node) -> tuple[Polynomial, DType]:
    """Translate an integer, modulo the range of its type, which is returned too."""
    match node:
        case c_ast.BinaryOp(op="+" | "-" | "*" as operator, left=left, right=right):
            dtype = common_type(_typed(scope, left)[1], _typed(scope, right)[1])
            one, other = (_exact(scope, side, dtype) for side in (left, right))
            if operator == "*":
                return times(one, other), dtype
            return plus(one, other, 1 if operator == "+" else -1), dtype
        case c_ast.UnaryOp(op="-", expr=operand):
            polynomial, dtype = _typed(scope, operand)
            return times(polynomial, {(): -1}), dtype
        case c_ast.Cast(to_type=type_, expr=operand):
            to = declared_type(type_.type, scope.typedefs, scope.source_map, node).dtype
            if to is not None and to.is_integer and to.bits == 64:
                return _exact(scope, operand, to), to
        case c_ast.ID():
            binding = scope.find(node.name)
            if isinstance(binding, IntegerBinding):
                return polynomial_of(binding.value), promoted(binding.dtype)
    integer = affine(scope, node)
    return polynomial_of(integer.value), promoted(integer.dtype)


def _require_no_wrap(scope: Scope, node: c_ast.Node, polynomial: Polynomial, dtype: DType) -> None:
    """Check that an unsigned polynomial fits its type; a product, by a bound of each factor."""
    shown, greatest = f"'{scope.source_map.text(node)}'", type_range(dtype)[1]
    atoms = {atom for monomial in polynomial for atom in monomial}
    degree = max(map(len, polynomial), default=0)
    if degree < 2:
        value = weighted_sum([(by, own[0]) for own, by in polynomial.items() if own],
                             polynomial.get((), 0))  # fmt: skip
        needed = [value >= 0, value <= greatest]
    else:
        total = sum(abs(coefficient) for coefficient in polynomial.values())
        largest = int((greatest / total) ** (1 / degree))
        is_sum = all(coefficient > 0 for coefficient in polynomial.values())
        needed = [
            condition for atom in sorted(atoms, key=str)
            for condition in (atom >= 0, atom <= largest)
        ] if is_sum else [Constant(False, boolean)]  # fmt: skip
    if not all(expects(scope, node, condition, f"{shown} wraps around") for condition in needed):
        raise unproved(
            scope,
            node,
            f"{shown} is {c_name(dtype)} and may wrap around; expected a signed type or size_t in "
            "a linearized subscript",
        )


def _affine_part(
    scope: Scope, node: c_ast.Node, array: Array, polynomial: Polynomial
) -> Expression:
    constant = polynomial.get((), 0)
    terms = []
    for monomial, coefficient in polynomial.items():
        if len(monomial) > 1:
            raise _not_split(scope, node, array, monomial)
        if monomial:
            terms.append((coefficient, monomial[0]))
    return weighted_sum(terms, constant)


def _not_split(scope: Scope, node: c_ast.Node, array: Array, monomial: Monomial) -> FrontendError:
    shape = "".join(f"[{extent}]" for extent in array.shape)
    return scope.error(
        node,
        f"'{scope.source_map.text(node)}' is not a linearized subscript of {array.name}{shape}: "
        f"the product {'*'.join(map(str, monomial))} remains after dividing by the row lengths; "
        "declare with '#pragma polysched shape' the shape that the subscripts use",
    )
