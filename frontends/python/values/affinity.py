"""Test whether values are affine, and find the part of an expression that is not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import islpy as isl

from polysched.errors import FrontendError, KernelError
from polysched.frontends.python.values.value import Value
from polysched.ir.core.data_dependent import is_bounded
from polysched.ir.expr.affine import to_pw_aff
from polysched.ir.expr.dtypes import DType, i32, i64
from polysched.ir.expr.expressions import Expression, Operation
from polysched.ir.expr.traversal import loads, walk


def is_affine_number(value: Value) -> bool:
    """Whether a value is a Python integer computed from indices, sizes and literals alone."""
    return value.is_weak and value.dtype == i64 and not loads(value.expression)


def wrapping(expression: Expression) -> DType | None:
    """Find an integer operation whose type may wrap around; its type, or None.

    Arithmetic in i32 and i64 counts as exact: no array has more elements than i32 can count.
    All other integer types may wrap around.
    """
    types = [node.dtype for node in walk(expression) if isinstance(node, Operation)]
    integers = (dtype for dtype in types if dtype is not None and dtype.is_integer)
    return next((dtype for dtype in integers if dtype not in (i32, i64)), None)


def culprit(
    parts: Sequence[ast.expr], value: Callable[[ast.expr], Value], space: isl.Space
) -> tuple[ast.expr | None, str]:
    """Find the smallest subexpression of ``parts`` that is not affine.

    Args:
        parts: syntax trees of the subscripts or bounds.
        value: evaluates a syntax tree to its value.
        space: the sizes as parameters and the indices as dimensions.

    Returns:
        the subexpression and the reason; None and an empty reason if all are affine.
    """
    for part in parts:
        subexpressions = [node for node in ast.walk(part) if isinstance(node, ast.expr)]
        for node in reversed(subexpressions):  # inner expressions before outer expressions
            try:
                reason = _reason(node, value(node).expression, space)
            except FrontendError:  # the node has no value, such as the name of a function
                continue
            if reason:
                return node, reason
    return None, ""


def _reason(node: ast.expr, expression: Expression, space: isl.Space) -> str:
    """Explain why an expression is not affine; an empty text if it is affine."""
    if not loads(expression):
        try:
            to_pw_aff(expression, space)
        except KernelError as error:
            return str(error)
        return ""
    if all(map(is_bounded, loads(expression))):
        return ""
    return (
        f"'{ast.unparse(node)}' depends on data, so it is not affine; expected indices and sizes, "
        'or, in subscripts, elements of an input annotated as "i64[n] in range(m)"'
    )
