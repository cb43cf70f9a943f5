"""Exact values of C integer expressions, and whether they fit their types."""

from __future__ import annotations

from dataclasses import dataclass

from pycparser import c_ast

from polysched.frontends.scop.affine.expected import expects, unproved
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.types.c_types import c_name, type_range
from polysched.ir.expr.dtypes import DType, i64
from polysched.ir.expr.expressions import Constant, Expression


@dataclass(frozen=True)
class Integer:
    """Exact (unbounded) value of a C integer expression, with its C type."""

    value: Expression
    dtype: DType

    @property
    def number(self) -> int | None:
        """The value, if it is a literal; otherwise None."""
        if isinstance(self.value, Constant):
            return int(self.value.value)
        return None


def in_range(scope: Scope, node: c_ast.Node, integer: Integer) -> Integer:
    """Return `integer` unchanged if it provably fits its type; signed types are not checked.

    Raises:
        FrontendError: the type is unsigned and the value may wrap around.
    """
    if integer.dtype.is_signed:
        return integer
    least, greatest = type_range(integer.dtype)
    number, shown = integer.number, f"'{scope.source_map.text(node)}'"
    wraps = f"{shown} wraps around"
    fits = (
        least <= number <= greatest
        if number is not None
        else expects(scope, node, integer.value >= least, wraps)
        and (integer.dtype.bits == 64 or expects(scope, node, integer.value <= greatest, wraps))
    )
    if not fits:
        raise unproved(
            scope,
            node,
            f"{shown} is {c_name(integer.dtype)} and may wrap around; use signed types, write it "
            "without subtraction, or promise what holds with '#pragma polysched assume ...'",
        )
    return integer


def require_signed(scope: Scope, node: c_ast.Node, integer: Integer) -> Integer:
    """Return `integer` unchanged if it fits a signed 64-bit integer, the index type of kernels.

    Only literals are checked.

    Raises:
        FrontendError: the literal is too large, such as the value of ``size_t k = -1``.
    """
    number = integer.number
    least, greatest = type_range(i64)
    if number is not None and not least <= number <= greatest:
        raise scope.error(
            node,
            f"'{scope.source_map.text(node)}' is {number}, of type {c_name(integer.dtype)}; "
            f"subscripts, bounds and conditions take integers up to {greatest}: use a signed type",
        )
    return integer


def in_type(scope: Scope, node: c_ast.Node, integer: Integer, dtype: DType) -> Integer:
    """Convert an integer to a type: a literal is wrapped as in C, any other value must fit."""
    least, greatest = type_range(dtype)
    if integer.number is not None:
        return Integer(Constant((integer.number - least) % (1 << dtype.bits) + least), dtype)
    source = type_range(integer.dtype)
    is_wider = source[0] >= least and source[1] <= greatest
    shown = f"'{scope.source_map.text(node)}'"
    wraps = f"{shown} does not fit {c_name(dtype)}"
    fits = is_wider or (
        expects(scope, node, integer.value >= least, wraps)
        and (dtype.bits == 64 or expects(scope, node, integer.value <= greatest, wraps))
    )
    if not fits:
        raise unproved(
            scope,
            node,
            f"{shown} may not fit {c_name(dtype)}; declare it with type "
            f"{c_name(dtype)}, or promise that it fits with '#pragma polysched assume ...'",
        )
    return Integer(integer.value, dtype)
