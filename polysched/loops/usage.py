"""Which arrays a loop program touches."""

from __future__ import annotations

from polysched.ir.expressions import Expression
from polysched.ir.kernel import Array, Role
from polysched.ir.traversal import loads
from polysched.loops.nodes import Allocate, Assign, For, If, LoopNode, LoopProgram, walk


def accessed_arrays(body: LoopNode) -> frozenset[str]:
    """The arrays that ``body`` reads, writes or asks for ahead."""
    found: set[str] = set()
    for node in walk(body):
        match node:
            case Assign(target=target, value=value):
                found |= {target.array, *_read(value)}
                for subscript in target.subscripts:
                    found |= _read(subscript)
            case If(condition=condition):
                found |= _read(condition)
            case For(prefetches=prefetches):
                found |= {one.array for one in prefetches}
    return frozenset(found)


def _read(expression: Expression) -> set[str]:
    return {load.array for load in loads(expression)}


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
