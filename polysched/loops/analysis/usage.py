"""The arrays that a loop program accesses."""

from __future__ import annotations

from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import Allocate, Assign, For, LoopNode, LoopProgram, controls, walk

_ACCESSED = "accessed arrays"
"""Key in a node's ``__dict__`` that caches its accessed arrays.

Code generation asks for them repeatedly. They depend only on the node's fields, so the cache is
never stale.
"""


def accessed_arrays(body: LoopNode) -> frozenset[str]:
    """The arrays that ``body`` reads, writes or prefetches."""
    kept: frozenset[str] | None = vars(body).get(_ACCESSED)
    if kept is not None:
        return kept
    accessed: set[str] = set()
    for node in walk(body):
        accessed.update(load.array for control in controls(node) for load in loads(control))
        match node:
            case Assign():
                accessed |= node.arrays
            case For(prefetches=prefetches):
                accessed |= {box.array for box in prefetches}
    result = vars(body)[_ACCESSED] = frozenset(accessed)
    return result


def lasting_temporaries(program: LoopProgram) -> tuple[Array, ...]:
    """The temporaries that live over the whole call and that some statement accesses.

    A temporary whose accesses all go to buffers needs no memory, and is left out.
    """
    buffers = {node.array for node in walk(program.body) if isinstance(node, Allocate)}
    accessed = accessed_arrays(program.body)
    return tuple(
        array
        for name, array in program.arrays.items()
        if array.role is Role.TEMPORARY and name in accessed and name not in buffers
    )
