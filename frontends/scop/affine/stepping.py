"""Normalize loops whose condition contains the step: ``for (i = n; i-- > 0;)``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pycparser import c_ast

from polysched.frontends.scop.affine.integers import with_offset
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.types.c_types import c_name, type_range
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Expression

_STEPS = {"p++": 1, "++": 1, "p--": -1, "--": -1}


@dataclass(frozen=True)
class SteppedLoop:
    """Loop whose condition and step are separate.

    Attributes:
        node: the loop ``for (v = first + before; condition(v); v += step)``.
        before: offset of the first value: the step, if it precedes the first test.
        inside: offset from ``v`` to the value of the variable in the body.
    """

    node: c_ast.For
    before: int = 0
    inside: int = 0


def with_step_apart(
    scope: Scope, node: c_ast.For, name: str, dtype: DType, first: Expression
) -> SteppedLoop:
    """Move the step out of a loop's condition.

    ``for (i = n; i-- > 0;) f(i)`` becomes ``for (v = n; v > 0; v--) f(v - 1)``, and
    ``for (i = n; --i >= 0;) f(i)`` becomes ``for (v = n - 1; v >= 0; v--) f(v)``.

    Args:
        first: the first value of the loop variable.

    Raises:
        FrontendError: the condition is more than one comparison, the loop steps twice, or the step
            before the first test may wrap around.
    """
    step = next((step for step in _steps(node.cond) if _is_variable(step.expr, name)), None)
    if step is None:
        return SteppedLoop(node)
    shown = scope.source_map.text(step)
    condition = _without_step(node.cond, step)
    if condition is None:
        down = _STEPS[step.op] < 0
        raise scope.error(
            node.cond,
            f"'{shown}' is only a part of the condition; expected one comparison, such as "
            f"{name}{'-- > 0' if down else '++ < n'}",
        )
    if node.next is not None:
        raise scope.error(
            node.next,
            f"the loop steps twice: here and by '{shown}' in its condition; expected one step",
        )
    if condition is step.expr:  # `i--` alone
        if _STEPS[step.op] > 0:
            raise scope.error(
                node.cond,
                f"'{shown}' ends the loop at 0, and '{name}' counts up; expected a comparison with "
                f"the end, as in {shown} < n",
            )
        if not (overflow_is_undefined(scope, dtype) or scope.proves(first >= 0)):
            raise scope.error(
                node.cond,
                f"'{shown}' ends the loop at 0, and '{name}' may start below 0; expected {shown} "
                "> 0",
            )
        zero = c_ast.Constant("int", "0", step.coord)
        condition = c_ast.BinaryOp(">", step.expr, zero, step.coord)
    by = _STEPS[step.op]
    is_tested_first = step.op.startswith("p")
    before = 0 if is_tested_first else by
    if before and not _fits(scope, with_offset(first, before), dtype):
        raise scope.error(
            step,
            f"'{name}' is {c_name(dtype)} and may wrap around at the first '{shown}'; use a signed "
            "type, or promise what holds with '#pragma polysched assume ...'",
        )
    apart = c_ast.For(node.init, condition, step, node.stmt, node.coord)
    return SteppedLoop(apart, before, by - before)


def overflow_is_undefined(scope: Scope, dtype: DType) -> bool:
    """Whether C rules out that a loop steps over its end until the variable overflows.

    A loop that may be left early may stop before.
    """
    return dtype.is_signed and dtype.bits >= 32 and not scope.leaves_loops


def _fits(scope: Scope, value: Expression, dtype: DType) -> bool:
    """Whether a value fits; the overflow of signed types of at least 32 bits is undefined in C."""
    if dtype.is_signed and dtype.bits >= 32:
        return True
    least, greatest = type_range(dtype)
    return scope.proves(value >= least) and (dtype.bits == 64 or scope.proves(value <= greatest))


def _steps(node: c_ast.Node | None) -> Iterator[c_ast.UnaryOp]:
    if isinstance(node, c_ast.UnaryOp) and node.op in _STEPS:
        yield node
    for _, child in () if node is None else node.children():
        yield from _steps(child)


def _is_variable(node: c_ast.Node, name: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name == name


def _without_step(condition: c_ast.Node, step: c_ast.UnaryOp) -> c_ast.Node | None:
    """Replace the step in a condition by the variable; None if the step is nested deeper."""
    if condition is step:
        return step.expr
    if isinstance(condition, c_ast.BinaryOp):
        if condition.left is step:
            return c_ast.BinaryOp(condition.op, step.expr, condition.right, condition.coord)
        if condition.right is step:
            return c_ast.BinaryOp(condition.op, condition.left, step.expr, condition.coord)
    return None
