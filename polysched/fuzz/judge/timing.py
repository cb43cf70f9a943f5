"""Compute the timestamps of a kernel's instances in a loop tree."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl
import numpy as np

from polysched.fuzz.judge.instances import Block, Instances
from polysched.ir.core.tree import Leaf, Loop, LoopKind, Node, Sequence, statements
from polysched.ir.expr.affine import from_pw_aff
from polysched.ir.semantics.points import Points, evaluate_many


@dataclass(frozen=True, eq=False)
class Times:
    """Timestamps of all instances in a tree.

    Attributes:
        rows: timestamps without lanes, padded with zeros: shape (instances, length).
        lanes: the lanes of each instance: shape (instances, most vector loops around one).
        parallel: for each parallel loop, the column of its values in ``rows`` and the statements
            below it.
    """

    rows: Points
    lanes: Points
    parallel: tuple[tuple[int, frozenset[str]], ...]


def times(instances: Instances, tree: Node) -> Times:
    """Compute the timestamps of all instances in a tree of the kernel's own statements."""
    columns: list[list[Points]] = []
    lanes: list[list[Points]] = []
    parallel: dict[int, tuple[int, frozenset[str]]] = {}
    for block in instances.blocks:
        own: list[Points] = []
        own_lanes: list[Points] = []
        for node, position in _way(tree, block.statement.name):
            if isinstance(node, Sequence):
                own.append(np.full(block.count, position))
                continue
            column = _values(instances, node.values[block.statement.name], block)
            if node.kind is LoopKind.VECTOR:
                own_lanes.append(column)
                continue
            if node.kind is LoopKind.PARALLEL:
                parallel[id(node)] = (len(own), frozenset(statements(node)))
            own.append(column)
        columns.append(own)
        lanes.append(own_lanes)
    return Times(_table(instances, columns), _table(instances, lanes), tuple(parallel.values()))


def _way(tree: Node, statement: str) -> list[tuple[Loop | Sequence, int]]:
    """Return the loops and sequences on the path to a statement; for a sequence, the position."""
    match tree:
        case Leaf():
            return []
        case Loop(body=body):
            return [(tree, 0), *_way(body, statement)]
        case Sequence(children=children):
            position = next(i for i, child in enumerate(children) if statement in statements(child))
            return [(tree, position), *_way(children[position], statement)]


def _values(instances: Instances, function: isl.PwAff, block: Block) -> Points:
    """Evaluate a loop at the instances of a block; cached, because most steps keep most loops."""
    cached = instances.functions.get(id(function))
    if cached is not None:
        return cached[1]
    names = [
        str(function.get_dim_name(isl.dim_type.in_, position))
        for position in range(function.dim(isl.dim_type.in_))
    ]
    # A step may rename the dimensions, but their order is the order of the statement's indices.
    variables = {
        **block.variables,
        **{
            name: block.variables[index]
            for name, index in zip(names, block.statement.indices, strict=True)
        },
    }
    values = evaluate_many(from_pw_aff(function), variables)
    column = np.broadcast_to(np.asarray(values, np.int64), block.count)
    instances.functions[id(function)] = (function, column)
    return column


def _table(instances: Instances, columns: list[list[Points]]) -> Points:
    length = max(map(len, columns), default=0)
    result = np.zeros((instances.count, length), np.int64)
    for block, own in zip(instances.blocks, columns, strict=True):
        for place, column in enumerate(own):
            result[block.rows, place] = column
    return result
