"""Scalar replacement: keep values that the next iteration of a loop reads in registers.

A recurrence such as ``y[i] = x[i] + y[i - 1]`` stores each value and loads it in the next
iteration, which adds the latency of store forwarding to that of the addition. With a register, the
store remains and the load disappears (Callahan, Carr and Kennedy, "Improving register allocation
for subscripted variables", 1990)::

    for i in 1..n: y[i] = x[i] + y[i - 1]

    r = y[0]
    for i in 1..n: { s = x[i] + r; y[i] = s; r = s }

LLVM's function simplification pipeline does not eliminate loads across iterations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from polysched.ir.core.kernel import Access, Array, Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Expression, Load
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import Intervals, LinearForm
from polysched.ir.expr.traversal import loads, transform
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    LoopProgram,
    TileCall,
    block,
    map_children,
    variable_interval,
    walk,
    with_value,
)
from polysched.vector.classify import surely_runs

LARGEST_BODY = 256
"""Loops with more assignments carry no values: the search is quadratic in the assignments."""
INTEGER_REGISTERS = 4
"""Limit on the integers that a loop carries: they share the 16 scalar registers with addresses.

Measured on Zen 4 with an edit distance: 8 rows with 16 carried integers spill, and take up to 4
times as long as with all values in memory. One row with 2 carried integers takes 0.5 to 0.9 times
as long.
"""

_Location: TypeAlias = tuple[tuple[LinearForm, int], ...]
"""For each subscript, the part that is constant in the loop, and the coefficient of the loop
variable.
"""


def carry_values(program: LoopProgram, budget: int) -> LoopProgram:
    """Keep values that the next iteration of a sequential loop reads in registers.

    Args:
        program: loops, after unrolling.
        budget: the largest number of values that one loop carries.
    """
    carrier = _Carrier(program, budget)
    body = carrier.visit(program.body, program.ranges)
    if not carrier.registers:
        return program
    arrays = {**program.arrays, **carrier.registers}
    registers = {**program.registers, **carrier.sources}
    return replace(program, arrays=arrays, body=body, registers=registers)


@dataclass(frozen=True)
class _Carried:
    """An element that a body reads and that the previous iteration has in a register.

    Attributes:
        place: the location of the element in the array.
        load: one of the loads of the element.
        store: the position of the assignment that stores the next iteration's element; None if the
            body reads the next iteration's element from another register.
        links: 1 if the value comes from a store, else the links of the other register plus 1.
    """

    place: _Location
    load: Load
    store: int | None
    links: int


class _Carrier:
    """One walk over a program, which collects the new registers."""

    def __init__(self, program: LoopProgram, budget: int) -> None:
        self.program = program
        self.budget = budget
        self.registers: dict[str, Array] = {}
        self.sources: dict[str, str] = {}

    def visit(self, node: LoopNode, known: Intervals) -> LoopNode:
        match node:
            case For(kind=LoopKind.VECTOR) | TileCall():
                return node
            case For():
                inner = {**known, node.variable: variable_interval(node.lower, node.upper, known)}
                node = replace(node, body=self.visit(node.body, inner))
                return self._loop(node, known) if node.kind is LoopKind.SEQUENTIAL else node
            case _:
                return map_children(node, lambda child: self.visit(child, known))

    def _loop(self, loop: For, known: Intervals) -> LoopNode:
        body = loop.body.children if isinstance(loop.body, Block) else (loop.body,)
        if len(body) > LARGEST_BODY or loads(loop.lower):  # the first element depends on data
            return loop
        carried = [
            element
            for array in dict.fromkeys(
                node.target.array for node in body if isinstance(node, Assign)
            )
            if self._fits(array)
            for element in _carried(loop, body, array)
        ]
        integers = [element for element in carried if not element.load.type.is_float]
        if not carried or len(carried) > self.budget or len(integers) > INTEGER_REGISTERS:
            return loop
        registers = {
            (element.load.array, element.place): self._register(element.load) for element in carried
        }
        changed: list[LoopNode] = [_with_registers(node, registers, loop.variable) for node in body]
        before: list[LoopNode] = []
        after: list[LoopNode] = []
        stored: list[Load] = []
        # A register must copy another register before the other register gets its next value.
        for element in sorted(carried, key=lambda element: -element.links):
            own = registers[element.load.array, element.place]
            first = _assign(own, element.load)
            before.append(with_value(first, loop.variable, loop.lower, known))
            if element.store is None:
                after.append(
                    _assign(own, registers[element.load.array, _next(element.place, loop.step)])
                )
                continue
            value = self._register(element.load)
            stored.append(value)
            node = changed[element.store]
            assert isinstance(node, Assign)
            kept = replace(node, target=Access(value.array, ()))
            changed[element.store] = Block((kept, replace(node, value=value)))
            after.append(_assign(own, value))
        whole: LoopNode = block([*before, replace(loop, body=block([*changed, *after]))])
        if not surely_runs(loop, known):
            whole = If(loop.lower < loop.upper, whole)
        for register in (*registers.values(), *stored):
            whole = Allocate(register.array, whole)
        return whole

    def _fits(self, name: str) -> bool:
        """Whether a register can hold an element of an array without a conversion."""
        array = self.program.arrays.get(name)
        return (
            array is not None
            and name not in self.program.registers
            and not array.is_packed
            and not array.guarded
            and not array.dtype.is_odd_width
        )

    def _register(self, load: Load) -> Load:
        name = f"{load.array}.c{len(self.registers)}"
        dtype = self.program.arrays[load.array].dtype
        self.registers[name] = Array(name, dtype, (), Role.TEMPORARY, ())
        self.sources[name] = load.array
        return Load(name, (), dtype)


def _carried(loop: For, body: tuple[LoopNode, ...], array: str) -> list[_Carried]:
    """Return the elements of an array that a loop can carry in registers."""
    nodes = list(walk(loop.body))
    plain = [node for node in body if isinstance(node, Assign)]
    writers = [node for node in nodes if isinstance(node, Assign) and node.target.array == array]
    if any(isinstance(node, For) and node.kind is not LoopKind.VECTOR for node in nodes) or any(
        not any(writer is assign for assign in plain) for writer in writers
    ):
        return []
    writes = {
        at: _location(node.target.subscripts, loop.variable)
        for at, node in enumerate(body)
        if isinstance(node, Assign) and node.target.array == array
    }
    reads: dict[_Location, tuple[Load, int]] = {}
    for at, node in enumerate(body):
        if isinstance(node, Assign) and array in node.arrays:
            for load in loads(node.value):
                location = (
                    _location(load.subscripts, loop.variable) if load.array == array else None
                )
                if location is not None:
                    reads[location] = (load, at)
    carried: dict[_Location, _Carried] = {}
    for location, (load, last) in reads.items():
        following = _next(location, loop.step)
        store = max((at for at, target in writes.items() if target == following), default=None)
        if (
            store is not None
            and following != location
            and all(_apart(target, location) for at, target in writes.items() if at < last)
            and all(_apart(target, following) for at, target in writes.items() if at > store)
        ):
            carried[location] = _Carried(location, load, store, 1)
    while True:
        linked = {
            location: _Carried(location, load, None, carried[following].links + 1)
            for location, (load, last) in reads.items()
            if location not in carried
            and (following := _next(location, loop.step)) in carried
            and all(_apart(target, location) for at, target in writes.items() if at < last)
            and all(_apart(target, following) for target in writes.values())
        }
        if not linked:
            return list(carried.values())
        carried |= linked


def _location(subscripts: tuple[Expression, ...], variable: str) -> _Location | None:
    """Return the location of an access; None if its subscripts are not affine in the variable."""
    if any(loads(subscript) for subscript in subscripts):
        return None
    location = tuple(linear_form(subscript, {}).without(variable) for subscript in subscripts)
    return None if any(rest.uses({variable}) for rest, _ in location) else location


def _next(location: _Location, step: int) -> _Location:
    """Return the location of an access in the next iteration."""
    return tuple(
        (LinearForm(rest.terms, rest.constant + coefficient * step), coefficient)
        for rest, coefficient in location
    )


def _apart(first: _Location | None, second: _Location) -> bool:
    """Whether two accesses of one iteration provably go to different elements."""
    return first is not None and any(
        a.terms == b.terms and a.constant != b.constant and step == other_step
        for (a, step), (b, other_step) in zip(first, second, strict=True)
    )


def _with_registers(
    node: LoopNode, registers: dict[tuple[str, _Location], Load], variable: str
) -> LoopNode:
    """Return a node with carried loads replaced by registers, if it is a plain assignment."""
    if not isinstance(node, Assign):
        return node

    def rule(expression: Expression) -> Expression | None:
        if isinstance(expression, Load):
            location = _location(expression.subscripts, variable)
            return None if location is None else registers.get((expression.array, location))
        return None

    return replace(node, value=transform(node.value, rule))


def _assign(register: Load, value: Expression) -> Assign:
    return Assign("load", (), Access(register.array, ()), value)
