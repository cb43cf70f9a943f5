"""Whether what the schedule says of streaming can be done."""

from __future__ import annotations

from polysched.codegen.streaming import LEAST_BYTES
from polysched.errors import LoweringError
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.linear import linear_form
from polysched.loops.ir.nodes import Assign, For, LoopProgram, walk


def require_streams(program: LoopProgram) -> None:
    """Check that each array to be streamed is written by whole vectors somewhere.

    Raises:
        LoweringError: one is not, so that no store of it can go past the caches.
    """
    asked = {name for name, array in program.arrays.items() if array.streamed}
    if not asked:
        return
    found = {
        name
        for node in walk(program.body)
        if isinstance(node, For) and node.kind is LoopKind.VECTOR
        for name in _streamed(node, program)
    }
    written = {node.target.array for node in walk(program.body) if isinstance(node, Assign)}
    for name in program.arrays:
        if name in asked & written - found:
            raise LoweringError(
                f"array '{name}' is to be streamed, but no vector loop writes neighboring "
                f"elements of it, at least {LEAST_BYTES} bytes at a time: vectorize the loop "
                "over them, or take the stream step away"
            )


def _streamed(loop: For, program: LoopProgram) -> list[str]:
    """The array that a vector loop writes, if it does so by whole vectors of neighbors."""
    return [
        node.target.array
        for node in walk(loop)
        if isinstance(node, Assign) and _is_contiguous(node, loop, program)
    ]


def _is_contiguous(assign: Assign, loop: For, program: LoopProgram) -> bool:
    target = assign.target
    array = program.arrays[target.array]
    forms = [linear_form(subscript, {}) for subscript in target.subscripts]
    steps = [dict(form.terms).get(Index(loop.variable), 0) for form in forms]
    along = steps.pop(array.lane_dimension) if steps else 0
    return along == 1 and not any(steps) and loop.lanes * array.dtype.bytes >= LEAST_BYTES
