"""How deep loops may be nested in machine code."""

from __future__ import annotations

from polysched.errors import LoweringError
from polysched.loops.ir.nodes import For, LoopNode, LoopProgram, children

DEEPEST = 32
"""Loops in each other: LLVM's time is exponential in them, and nothing stops it once it runs."""


def require_shallow(program: LoopProgram) -> None:
    """Check that LLVM can be given the loops of a program.

    Raises:
        LoweringError: they are nested too deep.
    """
    depth = _depth(program.body)
    if depth > DEEPEST:
        raise LoweringError(
            f"kernel '{program.name}': {depth} loops are nested in each other; machine code is "
            f"made of at most {DEEPEST}: take fewer steps such as split and tile, or collapse loops"
        )


def _depth(node: LoopNode) -> int:
    below = max(map(_depth, children(node)), default=0)
    return below + isinstance(node, For)
