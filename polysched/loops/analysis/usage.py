"""Which arrays a loop program touches."""

from __future__ import annotations

from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import Allocate, Assign, For, If, LoopNode, LoopProgram, walk

_ACCESSED = "accessed arrays"
"""Where a node keeps the answer beside its fields, from which it follows: code generation asks for
that of one loop again and again.
"""


def accessed_arrays(body: LoopNode) -> frozenset[str]:
    """The arrays that ``body`` reads, writes or asks for ahead."""
    kept: frozenset[str] | None = vars(body).get(_ACCESSED)
    if kept is not None:
        return kept
    found: set[str] = set()
    for node in walk(body):
        match node:
            case Assign():
                found |= node.arrays
            case If(condition=condition):
                found.update(load.array for load in loads(condition))
            case For(prefetches=prefetches):
                found |= {one.array for one in prefetches}
    result = vars(body)[_ACCESSED] = frozenset(found)
    return result


def lasting_temporaries(program: LoopProgram) -> tuple[Array, ...]:
    """The temporaries that live over the whole call and that some statement accesses.

    One is left without accesses when all of it is kept in buffers; it needs no memory.
    """
    buffers = {node.array for node in walk(program.body) if isinstance(node, Allocate)}
    accessed = accessed_arrays(program.body)
    return tuple(
        array
        for name, array in program.arrays.items()
        if array.role is Role.TEMPORARY and name in accessed and name not in buffers
    )
