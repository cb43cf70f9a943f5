"""Judging a schedule by running through every pair of instances: slow, and without the checker.

Neither the checker nor the dependences are used. isl still lists the points of the domains, and the
values of the loops come from its functions.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from polysched.ir.kernel import Kernel, Order, Statement
from polysched.ir.points import evaluate_many, points, values
from polysched.ir.reference import instances
from polysched.ir.tree import Leaf, Loop, LoopKind, Node, Sequence, statements


@dataclass(frozen=True)
class Touch:
    """One access of one instance: where it stands in the program, and when the tree runs it.

    ``time`` leaves out lanes and ends with 0 for a read, 1 for a write: the lanes of a vector run
    together, all reads before all writes.
    """

    number: int
    statement: str
    position: int
    time: tuple[int, ...]


def keeps_order(kernel: Kernel, tree: Node, parameters: Mapping[str, int]) -> bool:
    """Whether a tree keeps apart whatever touches one element, and runs no two instances as one.

    Args:
        tree: the tree as it is executed, of the kernel's own statements.
    """
    touched: dict[tuple[str, tuple[int, ...]], list[Touch]] = defaultdict(list)
    numbers = {instance: number for number, instance in enumerate(instances(kernel, parameters))}
    for statement in kernel.statements.values():
        rows = points(statement.domain, parameters)
        times = _columns(tree, statement.name, rows, parameters, lanes=False)
        whole = _columns(tree, statement.name, rows, parameters, lanes=True)
        if len({tuple(row) for row in whole.tolist()}) < len(rows):
            return False
        variables = {**parameters, **dict(zip(statement.indices, rows.T, strict=True))}
        for position, access in enumerate(statement.accesses):
            columns = [evaluate_many(one, variables) for one in access.subscripts]
            elements = np.stack([np.broadcast_to(column, len(rows)) for column in columns], axis=1)
            for row, element, time in zip(
                rows.tolist(), elements.tolist(), times.tolist(), strict=True
            ):
                touch = Touch(
                    numbers[statement.name, tuple(row)],
                    statement.name,
                    position,
                    (*time, int(position == 0)),
                )
                touched[access.array, tuple(element)].append(touch)
    return all(
        _apart(kernel.statements, first, second)
        for touches in touched.values()
        for first in touches
        for second in touches
        if first.number < second.number and 0 in (first.position, second.position)
    )


def _apart(named: Mapping[str, Statement], first: Touch, second: Touch) -> bool:
    reduction = named[first.statement].reduction
    if (
        reduction is not None
        and reduction.order is Order.ANY
        and first.statement == second.statement
        and {first.position, second.position} <= {0, reduction.read}
    ):
        return first.time[:-1] != second.time[:-1]
    return first.time < second.time


def _columns(
    node: Node, statement: str, rows: np.ndarray, parameters: Mapping[str, int], *, lanes: bool
) -> np.ndarray:
    """The times of many instances: shape (count, length)."""
    match node:
        case Leaf():
            return np.empty((len(rows), 0), np.int64)
        case Sequence(children=children):
            position = next(i for i, one in enumerate(children) if statement in statements(one))
            column = np.full((len(rows), 1), position)
            inner = children[position]
        case Loop(values=functions, body=body):
            column = values(functions[statement], rows, parameters).reshape(-1, 1)
            inner = body
            if node.kind is LoopKind.VECTOR and not lanes:
                column = np.empty((len(rows), 0), np.int64)
    below = _columns(inner, statement, rows, parameters, lanes=lanes)
    return np.concatenate([column, below], axis=1)
