"""Types, helper functions and names for the C text of a loop program."""

from __future__ import annotations

from collections.abc import Iterator

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Role
from polysched.ir.expr.expressions import Expression, Load, Parameter
from polysched.ir.expr.traversal import children as operands_of
from polysched.ir.expr.traversal import walk as walk_expression
from polysched.loops.analysis.usage import accessed_arrays
from polysched.loops.ir.nodes import Assign, For, If, LoopProgram, controls, walk
from polysched.loops.printers.c_helpers import Helper, helper_for


def require_c_types(program: LoopProgram) -> None:
    """Check that C has the integers of a program."""
    for array in program.arrays.values():
        if array.dtype.is_odd_width:
            raise LoweringError(
                f"array '{array.name}' holds integers of {array.dtype.bits} bits ({array.dtype}), "
                "which C does not have; compile to an object, a library or LLVM IR instead"
            )
    for root, _, _ in _expressions(program):
        for node in walk_expression(root):
            dtype = None if isinstance(node, Load) else node.dtype
            if dtype is not None and dtype.is_odd_width:
                raise LoweringError(
                    f"'{node}' is an integer of {dtype.bits} bits ({dtype}), which C does not "
                    "have; compile to an object, a library or LLVM IR instead"
                )


def helpers_of(program: LoopProgram) -> list[Helper]:
    """Return the helper functions that the expressions of a program call."""
    found = (
        helper_for(node, in_subscript=inside, in_value=is_value)
        for root, within, is_value in _expressions(program)
        for node, inside in _nodes(root, within)
    )
    return list(dict.fromkeys(helper for helper in found if helper is not None))


def _nodes(expression: Expression, in_subscript: bool) -> Iterator[tuple[Expression, bool]]:
    """All nodes, operands first, each with whether it is part of a subscript."""
    for operand in operands_of(expression):
        yield from _nodes(operand, in_subscript or isinstance(expression, Load))
    yield expression, in_subscript


def _expressions(program: LoopProgram) -> Iterator[tuple[Expression, bool, bool]]:
    """All expressions, each with whether it is a subscript, and whether it is an assigned value."""
    for array in program.arrays.values():
        yield from ((extent, False, False) for extent in array.stored_shape)
        yield from ((stride, True, False) for stride in array.strides or ())
    yield from _written(program)


def _written(program: LoopProgram) -> Iterator[tuple[Expression, bool, bool]]:
    """The expressions of the loops and their assignments, as in `_expressions`."""
    for node in walk(program.body):
        match node:
            case For() | If():
                yield from ((control, False, False) for control in controls(node))
            case Assign(target=target, value=value):
                yield from ((subscript, True, False) for subscript in target.subscripts)
                yield value, False, True


def used_names(program: LoopProgram) -> set[str]:
    """The arrays and parameters that the text of the function mentions."""
    accessed = set(accessed_arrays(program.body))
    shapes = [
        extent
        for array in program.arrays.values()
        if array.name in accessed
        for extent in (
            *array.stored_shape[array.role is not Role.TEMPORARY :],
            *(array.strides or ()),
        )
    ]
    roots = [*shapes, *(root for root, _, _ in _written(program))]
    return accessed | {
        node.name for root in roots for node in walk_expression(root) if isinstance(node, Parameter)
    }
