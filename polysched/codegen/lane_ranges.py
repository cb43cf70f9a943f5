"""Registers whose lanes are active together: what an inactive one holds, nobody sees.

A vector loop that does not fill its registers runs some of the lanes, and the others of what it
writes stay as they are, which takes a masked move for each accumulator in the innermost loop. Where
every access to a register runs the very same lanes, the others may hold anything, and need no mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TypeAlias

from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import Assign, For, If, LoopNode, children

Range: TypeAlias = tuple[int, int, int, int]
"""Lower and upper end, step, and the number of lanes."""


def of_one_range(body: LoopNode, registers: Set[str]) -> frozenset[str]:
    """Those of some register arrays all of whose accesses run the same lanes, which are literal."""
    ranges: dict[str, set[Range | None]] = {}
    for arrays, lanes in _accessed(body, None):
        for array in arrays & registers:
            ranges.setdefault(array, set()).add(lanes)
    return frozenset(
        array for array, found in ranges.items() if len(found) == 1 and None not in found
    )


def _accessed(node: LoopNode, lanes: Range | None) -> Iterator[tuple[frozenset[str], Range | None]]:
    """The arrays of each statement and condition with the lanes that run it; None if no one knows,
    or if it is no vector's.
    """
    if isinstance(node, Assign):
        yield node.arrays, lanes
        return
    if isinstance(node, If):
        yield frozenset(load.array for load in loads(node.condition)), None
        lanes = None
    elif isinstance(node, For):
        lanes = _literal_range(node) if node.kind is LoopKind.VECTOR else None
    for child in children(node):
        yield from _accessed(child, lanes)


def _literal_range(loop: For) -> Range | None:
    lower, upper = loop.lower, loop.upper
    if not isinstance(lower, Constant) or not isinstance(upper, Constant):
        return None
    return int(lower.value), int(upper.value), loop.step, loop.lanes
