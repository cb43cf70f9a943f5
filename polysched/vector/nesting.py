"""Limit on the nesting depth of loops in machine code."""

from __future__ import annotations

from polysched.errors import LoweringError
from polysched.loops.ir.nodes import For, LoopNode, LoopProgram, children

DEEPEST = 32
"""Largest nesting depth: LLVM's time is exponential in the depth, and a compilation cannot be
interrupted.
"""


def require_shallow(program: LoopProgram) -> None:
    """Check that the loops of a program are not nested too deep for LLVM."""
    depth = _depth(program.body)
    if depth > DEEPEST:
        raise LoweringError(
            f"kernel '{program.name}': {depth} loops are nested in each other; machine code is "
            f"made of at most {DEEPEST}: take fewer steps such as split and tile, or collapse loops"
        )


def _depth(node: LoopNode) -> int:
    below = max(map(_depth, children(node)), default=0)
    return below + isinstance(node, For)
