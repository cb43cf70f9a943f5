"""Orders of execution by a model of this campaign: loop trees with plain functions for values.

Only steps that change order alone are modeled; a step that is not makes the model None.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.campaign.description import Loop as DeclaredLoop
from tests.campaign.description import Node as DeclaredNode
from tests.campaign.description import Program, Statement, Where, is_free_reduction, statements
from tests.campaign.executing import Instance, Oracle

Env = Mapping[str, int]
Value = Callable[[Env], int]


@dataclass(frozen=True, eq=False)
class Loop:
    name: str
    values: Mapping[str, Value]
    body: Node
    kind: str = "for"
    opaque: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.body.names


@dataclass(frozen=True, eq=False)
class Seq:
    parts: tuple[Node, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.names)


@dataclass(frozen=True, eq=False)
class Leaf:
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)


Node = Loop | Seq | Leaf


def sequence(parts: Sequence[Node]) -> Node:
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Seq) else [part])
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def declared(program: Program) -> Node:
    """The order in which the program runs as it is written."""
    return _declared(program.body)


def _declared(body: tuple[DeclaredNode, ...]) -> Node:
    parts: list[Node] = []
    for node in body:
        if isinstance(node, Statement):
            parts.append(Leaf(node.name))
        elif isinstance(node, Where):
            parts.append(_declared(node.body))
        else:
            inner = _declared(node.body)
            parts.append(Loop(node.name, dict.fromkeys(inner.names, _counter(node)), inner))
    return sequence(parts)


def _counter(loop: DeclaredLoop) -> Value:
    name, sign = loop.name, 1 if loop.step > 0 else -1
    return lambda env: sign * env[name]


def path(node: Node, statement: str) -> list[Loop]:
    found = []
    while not isinstance(node, Leaf):
        if isinstance(node, Loop):
            found.append(node)
            node = node.body
        else:
            node = next(part for part in node.parts if statement in part.names)
    return found


def rewrite(node: Node, old: Node, new: Callable[[Any], Node]) -> Node:
    if node is old:
        return new(node)
    if isinstance(node, Loop):
        return replace(node, body=rewrite(node.body, old, new))
    if isinstance(node, Seq):
        return sequence([rewrite(part, old, new) for part in node.parts])
    return node


def shape(node: Node) -> Any:
    """What can be compared with another tree: names, kinds and statements."""
    if isinstance(node, Leaf):
        return node.name
    if isinstance(node, Seq):
        return [shape(part) for part in node.parts]
    return (node.name, node.kind, shape(node.body))


Stamp = list[tuple[int, str, str, int]]


class Times:
    """When instances run: for each the loops and sequences around it, vector loops last."""

    def __init__(self, tree: Node, indices: Mapping[str, tuple[str, ...]]) -> None:
        self._indices = indices
        self._columns: dict[str, list[tuple[int, str, str, Value | int]]] = {}
        for name in tree.names:
            columns: list[tuple[int, str, str, Value | int]] = []
            vectors: list[tuple[int, str, str, Value | int]] = []
            node = tree
            while not isinstance(node, Leaf):
                if isinstance(node, Loop):
                    column = (id(node), node.kind, node.name, node.values[name])
                    (vectors if node.kind == "vector" else columns).append(column)
                    node = node.body
                else:
                    at = next(i for i, part in enumerate(node.parts) if name in part.names)
                    columns.append((id(node), "sequence", "", at))
                    node = node.parts[at]
            self._columns[name] = columns + vectors
        self._tree = tree  # keeps the identities alive

    def stamp(self, statement: str, point: tuple[int, ...]) -> Stamp:
        env = dict(zip(self._indices[statement], point, strict=True))
        return [
            (key, kind, name, value if isinstance(value, int) else value(env))
            for key, kind, name, value in self._columns[statement]
        ]

    def shown(self, statement: str, point: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
        """The loops by name with their values."""
        return tuple(
            (name, value)
            for _, kind, name, value in self.stamp(statement, point)
            if kind != "sequence"
        )


def breaks(first: Stamp, second: Stamp, *, kind: str, free: bool) -> bool:
    """Whether an order breaks a dependence from ``first`` to ``second``.

    Args:
        kind: flow, anti or output.
        free: both are updates of one reduction whose order is free.
    """
    for (_, loop, _, one), (_, _, _, other) in zip(first, second, strict=False):
        if one == other:
            continue
        if loop == "parallel":
            return True
        if loop == "vector":
            return kind != "anti"
        return one > other and not free
    return True


@dataclass(frozen=True)
class Broken:
    first: Instance
    second: Instance
    array: str
    kind: str


def broken(
    program: Program, tree: Node, oracle: Oracle, instances: Sequence[Instance]
) -> Broken | None:
    """The first dependence that the order breaks, found by looking at all pairs."""
    times = Times(tree, oracle.indices)
    free = {one.name for one in statements(program.body) if is_free_reduction(one)}
    targets = {one.name: one.array for one in statements(program.body)}
    touched: dict[Any, list[tuple[int, bool]]] = defaultdict(list)
    for position, instance in enumerate(instances):
        for element in set(instance.reads):
            touched[element].append((position, False))
        touched[instance.write].append((position, True))
    stamps = [times.stamp(one.statement, one.point) for one in instances]
    for (array, _), accesses in touched.items():
        for later, (second, writes) in enumerate(accesses):
            for first, wrote in accesses[:later]:
                if first == second or not (wrote or writes):
                    continue
                kind = "output" if wrote and writes else "flow" if wrote else "anti"
                one, other = instances[first], instances[second]
                is_free = (
                    one.statement == other.statement
                    and one.statement in free
                    and targets[one.statement] == array
                )
                if breaks(stamps[first], stamps[second], kind=kind, free=is_free):
                    return Broken(one, other, array, kind)
    return None
