"""Move fills of parts of arrays to the front of a kernel, so that its other nests are neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polysched.dependence.relations import Dependence
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import Node, sequence
from polysched.ir.core.tree import Sequence as SequenceNode


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
        before = {
            name for other in earlier if other not in moved for name in other.statements
        }
        if before and not any(
            one.source.statement in before and one.sink.statement == node.statements[0]
            for one in dependences
        ):
            moved.append(node)
    if not moved:
        return kernel
    rest = [node for node in children if node not in moved]
    return replace(kernel, body=sequence([*moved, *rest]))


def _is_fill(kernel: Kernel, node: Node) -> bool:
    """Whether a nest stores literals only, in elements that no statement updates."""
    if len(node.statements) != 1:
        return False
    statement = kernel.statements[node.statements[0]]
    array = statement.target.array
    return not statement.reads and not any(
        one.target.array == array and any(read.array == array for read in one.reads)
        for one in kernel.statements.values()
    )
