"""Which values are affine, and which part of an expression is not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import islpy as isl

from polysched.errors import FrontendError, KernelError
from polysched.frontends.python.values import Value
from polysched.ir.affine import to_pw_aff
from polysched.ir.dtypes import DType, i32, i64
from polysched.ir.expressions import Expression, Operation
from polysched.ir.traversal import loads, walk


def is_affine_number(value: Value) -> bool:
    """Whether a value is an integer of indices, sizes and literals, and no element of an array."""
    return value.is_weak and value.dtype == i64 and not loads(value.expression)


def wrapping(expression: Expression) -> DType | None:
    """The type of an operation on integers that may wrap around, as those of narrow types do.

    What is affine is exact; nobody has so many elements that 32 signed bits do not count them.
    """
    types = [node.dtype for node in walk(expression) if isinstance(node, Operation)]
    narrow = (one for one in types if one is not None and one.is_integer)
    return next((one for one in narrow if one not in (i32, i64)), None)


def culprit(
    parts: Sequence[ast.expr], value: Callable[[ast.expr], Value], space: isl.Space
) -> tuple[ast.expr | None, str]:
    """The smallest expression among those given, and inside of them, that is not affine.

    Args:
        parts: expressions, as a function has them.
        value: the value of an expression.
        space: with the sizes as parameters and the indices as dimensions.

    Returns:
        the expression, None if there is none, and the reason.
    """
    for part in parts:
        inside = [node for node in ast.walk(part) if isinstance(node, ast.expr)]
        for node in reversed(inside):  # the inner before the outer
            try:
                reason = _reason(node, value(node).expression, space)
            except FrontendError:  # no value, such as the name of a function
                continue
            if reason:
                return node, reason
    return None, ""


def _reason(node: ast.expr, expression: Expression, space: isl.Space) -> str:
    """Why an expression is not affine; nothing if it is."""
    if not loads(expression):
        try:
            to_pw_aff(expression, space)
        except KernelError as error:
            return str(error)
        return ""
    if all(one.values is not None for one in loads(expression)):
        return ""
    return (
        f"'{ast.unparse(node)}' depends on data, so it is not affine; expected indices and sizes, "
        'or elements of an input annotated as "i64[n] in range(m)"'
    )
