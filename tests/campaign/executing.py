"""A random program run as it is declared: plain Python made from the description alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.campaign import typed
from tests.campaign.description import (
    E,
    Loop,
    Node,
    Program,
    Statement,
    around,
    reads,
    statements,
)

Element = tuple[str, tuple[int, ...]]
Memory = dict[str, dict[tuple[int, ...], Any]]


class Undefined(Exception):
    """An element is read before it is written."""


class Outside(Exception):
    """An access lies outside its array."""


class TooLong(Exception):
    """More instances than a run should have."""


@dataclass(frozen=True)
class Instance:
    """One execution of a statement: what it writes, what it reads, in the order of the program."""

    statement: str
    point: tuple[int, ...]
    write: Element
    reads: tuple[Element, ...]


_AFFINE = {
    "neg": "(-{})",
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "fdiv": "({} // {})",
    "mod": "({} % {})",
    "min": "min({}, {})",
    "max": "max({}, {})",
    "lt": "({} < {})",
    "le": "({} <= {})",
    "eq": "({} == {})",
    "ne": "({} != {})",
    "land": "({} and {})",
    "lor": "({} or {})",
    "lnot": "(not {})",
}


def affine(node: E) -> str:
    """Python for a bound, a condition or a subscript: whole numbers without a width."""
    match node.op:
        case "lit":
            return repr(node.args[0])
        case "var":
            return str(node.args[0])
        case "load":
            return f"get({node.args[0]!r}, {_tuple(node.children())})"
        case "cast":
            return affine(node.children()[0])
    return _AFFINE[node.op].format(*map(affine, node.children()))


def _tuple(subscripts: tuple[E, ...]) -> str:
    return f"({''.join(f'{affine(one)}, ' for one in subscripts)})"


def _value(node: E, names: dict[str, Any]) -> str:
    match node.op:
        case "lit":
            return repr(node.args[0])
        case "var":
            return str(node.args[0])
        case "load":
            return f"get({node.args[0]!r}, {_tuple(node.children())})"
    operands = node.children()
    if node.op == "cast":
        name = f"cast_{operands[0].type}_{node.type}"
        names[name] = typed.cast(operands[0].type, node.type)
    else:
        name = f"{node.op}_{operands[-1].type}"
        names[name] = typed.function(node.op, operands[-1].type)
    return f"{name}({', '.join(_value(one, names) for one in operands)})"


def _lines(body: tuple[Node, ...], indent: str, leaf: Callable[[Statement], str]) -> list[str]:
    lines: list[str] = []
    for node in body:
        if isinstance(node, Statement):
            lines.append(indent + leaf(node))
            continue
        if isinstance(node, Loop):
            bounds = f"{affine(node.lower)}, {affine(node.upper)}, {node.step}"
            lines.append(f"{indent}for {node.name} in range({bounds}):")
        else:
            lines.append(f"{indent}if {affine(node.condition)}:")
        lines += _lines(node.body, indent + "    ", leaf)
    return lines


def _function(name: str, params: list[str], lines: list[str], names: dict[str, Any]) -> Any:
    source = f"def {name}({', '.join(params)}):\n" + "\n".join(lines) + "\n"
    exec(compile(source, f"<{name}>", "exec"), names)
    return names[name]


class Oracle:
    """Everything that this campaign knows of a program, computed from its description."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.indices = {
            one.name: tuple(
                node.name for node in around(program.body, one.name) or () if isinstance(node, Loop)
            )
            for one in statements(program.body)
        }
        self._names: dict[str, Any] = {"TooLong": TooLong}
        self._params = [one.name for one in program.params]
        self._run = self._make_run()
        self._trace = self._make_trace()
        self._members = {one.name: self._make_member(one) for one in statements(program.body)}

    def _make_run(self) -> Any:
        names = self._names

        def leaf(one: Statement) -> str:
            return f"put({one.array!r}, {_tuple(one.subscripts)}, {_value(one.value, names)})"

        lines = _lines(self.program.body, "    ", leaf)
        return _function("run", ["get", "put", *self._params], lines, names)

    def _make_trace(self) -> Any:
        def leaf(one: Statement) -> str:
            elements = "".join(
                f"({load.args[0]!r}, {_tuple(load.children())}), " for load in reads(one)
            )
            point = "".join(f"{name}, " for name in self.indices[one.name])
            write = f"({one.array!r}, {_tuple(one.subscripts)})"
            return f"note({one.name!r}, ({point}), {write}, ({elements}))"

        lines = _lines(self.program.body, "    ", leaf)
        return _function("trace", ["note", "get", *self._params], lines, self._names)

    def _make_member(self, one: Statement) -> Any:
        conditions = [
            f"{node.name} in range({affine(node.lower)}, {affine(node.upper)}, {node.step})"
            if isinstance(node, Loop)
            else affine(node.condition)
            for node in around(self.program.body, one.name) or ()
        ]
        body = [f"    return {' and '.join(conditions) or 'True'}"]
        return _function(
            f"member_{one.name}",
            [*self._params, *self.indices[one.name]],
            body,
            self._names,
        )

    def number(self, node: E, sizes: Mapping[str, int]) -> int:
        return int(eval(affine(node), {}, dict(sizes)))

    def shape(self, name: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(self.number(one, sizes) for one in self.program.array(name).extents)

    def exists(self, statement: str, sizes: Mapping[str, int], point: tuple[int, ...]) -> bool:
        """Whether the statement has this instance."""
        return bool(self._members[statement](*(sizes[one] for one in self._params), *point))

    def instances(self, sizes: Mapping[str, int], limit: int) -> list[Instance]:
        """All instances in the order of the program; subscripts that depend on data are 0."""
        found: list[Instance] = []

        def note(*what: Any) -> None:
            if len(found) >= limit:
                raise TooLong
            found.append(Instance(*what))

        self._trace(note, lambda array, place: 0, *(sizes[one] for one in self._params))
        return found

    def run(self, memory: Memory, sizes: Mapping[str, int], limit: int) -> None:
        """Run the program on arrays given as dictionaries, which it changes.

        Raises:
            Undefined, Outside: the program is not well-formed at these sizes.
            typed.Inexact: the bits of its results may depend on the order.
            TooLong: there are more than ``limit`` instances.
        """
        shapes = {one.name: self.shape(one.name, sizes) for one in self.program.arrays}
        left = limit

        def get(array: str, place: tuple[int, ...]) -> Any:
            try:
                return memory[array][place]
            except KeyError:
                self._require_inside(shapes[array], place)
                raise Undefined(f"{array}{list(place)}") from None

        def put(array: str, place: tuple[int, ...], value: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise TooLong
            self._require_inside(shapes[array], place)
            memory[array][place] = value

        self._run(get, put, *(sizes[one] for one in self._params))

    @staticmethod
    def _require_inside(shape: tuple[int, ...], place: tuple[int, ...]) -> None:
        if not all(0 <= at < extent for at, extent in zip(place, shape, strict=True)):
            raise Outside(f"{list(place)} of {list(shape)}")

    def elements(self, name: str, sizes: Mapping[str, int]) -> int:
        return math.prod(self.shape(name, sizes))
