"""The parallel loops of a loop program, and the buffers that are private to their iterations."""

from __future__ import annotations

from polysched.ir.core.kernel import Array
from polysched.ir.core.tree import LoopKind
from polysched.loops.analysis.usage import accessed_arrays
from polysched.loops.ir.nodes import (
    Allocate,
    Block,
    For,
    LoopNode,
    LoopProgram,
    children,
    map_children,
    walk,
)

_LEAVES = frozenset({LoopKind.PARALLEL, LoopKind.VECTOR})
"""Loops inside which no outermost parallel loop is."""


def parallel_loops(node: LoopNode) -> list[For]:
    """The outermost parallel loops: their iterations are distributed over threads."""
    if isinstance(node, For) and node.kind in _LEAVES:
        return [node] if node.kind is LoopKind.PARALLEL else []
    return [loop for child in children(node) for loop in parallel_loops(child)]


def without_parallel_loops(node: LoopNode) -> LoopNode:
    """Remove the parallel loops of a program."""
    if isinstance(node, For) and node.kind in _LEAVES:
        return Block(()) if node.kind is LoopKind.PARALLEL else node
    return map_children(node, without_parallel_loops)


def private_arrays(program: LoopProgram, loop: For) -> list[Array]:
    """The buffers that are allocated inside a parallel loop and accessed there."""
    born = dict.fromkeys(node.array for node in walk(loop) if isinstance(node, Allocate))
    accessed = accessed_arrays(loop.body)
    return [program.arrays[name] for name in born if name in accessed]
