"""Move fills of parts of arrays to the front of a kernel, so that its other nests are neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from polysched.dependence.relations import Dependence
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import Node, sequence
from polysched.ir.core.tree import Sequence as SequenceNode
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.traversal import walk
from polysched.simplify.splitting import split_statements

MOST_PARTS = 6
"""Parts into which a fill is split: the faces of a box of three dimensions."""


def with_fills_first(kernel: Kernel, dependences: Sequence[Dependence]) -> Kernel:
    """Return the kernel with nests that only store literals at the front, where this is legal.

    A fill may move if no instance before it depends on it. The start of a sum stays with its sum: a
    fill moves only if no statement updates what it stores.
    """
    if not isinstance(kernel.body, SequenceNode):
        return kernel
    children = kernel.body.children
    fills = [node for node in children if _is_fill(kernel, node)]
    moved: list[Node] = []
    for node in fills:
        earlier = children[: children.index(node)]
        before = {name for other in earlier if other not in moved for name in other.statements}
        if not any(
            dependence.source.statement in before
            and dependence.sink.statement == node.statements[0]
            for dependence in dependences
        ):
            moved.append(node)
    if tuple(moved) == children[: len(moved)]:
        return kernel
    rest = [node for node in children if node not in moved]
    return replace(kernel, body=sequence([*moved, *rest]))


def with_convex_fills(kernel: Kernel) -> Kernel:
    """Return the kernel with a nest for each convex part of the elements that a fill stores.

    The frame of an image is four lines. One nest over all of them would test every element.
    """
    parts: dict[str, tuple[isl.Set, ...]] = {}
    for node in kernel.body.children if isinstance(kernel.body, SequenceNode) else ():
        if _is_fill(kernel, node):
            domain = kernel.statements[node.statements[0]].domain.make_disjoint().coalesce()
            basic = tuple(isl.Set.from_basic_set(part) for part in domain.get_basic_sets())
            if 1 < len(basic) <= MOST_PARTS:
                parts[node.statements[0]] = basic
    return split_statements(kernel, parts) if parts else kernel


def _is_fill(kernel: Kernel, node: Node) -> bool:
    """Whether a nest stores literals only, in elements that no statement updates."""
    if len(node.statements) != 1:
        return False
    statement = kernel.statements[node.statements[0]]
    array = statement.target.array
    if statement.reads or any(isinstance(node, Index) for node in walk(statement.value)):
        return False
    return not any(
        statement.target.array == array and any(read.array == array for read in statement.reads)
        for statement in kernel.statements.values()
    )
