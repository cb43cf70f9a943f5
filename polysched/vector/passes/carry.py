"""Scalar replacement: a value that the next iteration of a loop reads again stays in a register.

A recurrence such as ``y[i] = x[i] + y[i - 1]`` stores each value and loads it in the next
iteration, which takes a store forwarding on top of the addition. With a register, the store
remains and the load disappears (Callahan, Carr and Kennedy, "Improving register allocation for
subscripted variables", 1990)::

    for i in 1..n: y[i] = x[i] + y[i - 1]

    r = y[0]
    for i in 1..n: { s = x[i] + r; y[i] = s; r = s }

LLVM's function simplification has no load elimination across iterations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from polysched.ir.core.kernel import Access, Array, Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Expression, Load
from polysched.ir.expr.linear import Intervals, LinearForm, linear_form
from polysched.ir.expr.traversal import loads, transform
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    LoopProgram,
    block,
    map_children,
    variable_interval,
    walk,
    with_value,
)
from polysched.vector.classify import surely_runs

LARGEST_BODY = 256
"""Assignments of a loop in which carried values are sought; the search is quadratic."""
INTEGER_REGISTERS = 4
"""Integers that a loop carries at most: they share the 16 scalar registers with addresses.

Measured on Zen 4: 8 rows of an edit distance with 16 carried integers spill, and take up to 4 times
as long as with all values in memory; one row with 2 carried integers takes 0.5 to 0.9 of the time.
"""

_Place: TypeAlias = tuple[tuple[LinearForm, int], ...]
"""For each subscript the part that is constant in the loop, and the coefficient of its variable."""


def carry_values(program: LoopProgram, budget: int) -> LoopProgram:
    """Keep what the next iteration of a sequential loop reads in registers.

    Args:
        program: loops without unrolled ones.
        budget: the most values that one loop carries.
    """
    carrier = _Carrier(program, budget)
    body = carrier.visit(program.body, program.ranges)
    if not carrier.registers:
        return program
    arrays = {**program.arrays, **carrier.registers}
    registers = (*program.registers, *carrier.registers)
    return replace(program, arrays=arrays, body=body, registers=registers)


@dataclass(frozen=True)
class _Carried:
    """An element that a body reads and that the previous iteration has in a register.

    Attributes:
        place: where the body reads it.
        load: one of the reads.
        store: the position of the assignment that stores the next iteration's element; None if the
            body reads that element, in another register.
        links: 1 if it comes from a store, else one more than that of the other register.
    """

    place: _Place
    load: Load
    store: int | None
    links: int


class _Carrier:
    """One walk over a program; collects the registers that it makes."""

    def __init__(self, program: LoopProgram, budget: int) -> None:
        self.program = program
        self.budget = budget
        self.registers: dict[str, Array] = {}

    def visit(self, node: LoopNode, known: Intervals) -> LoopNode:
        match node:
            case For(kind=LoopKind.VECTOR):
                return node
            case For():
                inner = {**known, node.variable: variable_interval(node.lower, node.upper, known)}
                node = replace(node, body=self.visit(node.body, inner))
                return self._loop(node, known) if node.kind is LoopKind.SEQUENTIAL else node
            case _:
                return map_children(node, lambda child: self.visit(child, known))

    def _loop(self, loop: For, known: Intervals) -> LoopNode:
        body = loop.body.children if isinstance(loop.body, Block) else (loop.body,)
        if len(body) > LARGEST_BODY:
            return loop
        found = [
            one
            for array in dict.fromkeys(
                node.target.array for node in body if isinstance(node, Assign)
            )
            if self._fits(array)
            for one in _carried(loop, body, array)
        ]
        integers = [one for one in found if not one.load.type.is_float]
        if not found or len(found) > self.budget or len(integers) > INTEGER_REGISTERS:
            return loop
        registers = {(one.load.array, one.place): self._register(one.load) for one in found}
        changed: list[LoopNode] = [_with_registers(node, registers, loop.variable) for node in body]
        before: list[LoopNode] = []
        after: list[LoopNode] = []
        stored: list[Load] = []
        # A register takes the value of another one before that gets its next value.
        for one in sorted(found, key=lambda carried: -carried.links):
            own = registers[one.load.array, one.place]
            first = _assign(own, one.load)
            before.append(with_value(first, loop.variable, loop.lower, known))
            if one.store is None:
                after.append(_assign(own, registers[one.load.array, _next(one.place, loop.step)]))
                continue
            value = self._register(one.load)
            stored.append(value)
            node = changed[one.store]
            assert isinstance(node, Assign)
            kept = replace(node, target=Access(value.array, ()))
            changed[one.store] = Block((kept, replace(node, value=value)))
            after.append(_assign(own, value))
        whole: LoopNode = block([*before, replace(loop, body=block([*changed, *after]))])
        if not surely_runs(loop, known):
            whole = If(loop.lower < loop.upper, whole)
        for register in (*registers.values(), *stored):
            whole = Allocate(register.array, whole)
        return whole

    def _fits(self, name: str) -> bool:
        """Whether a register holds an element of an array as memory does."""
        array = self.program.arrays.get(name)
        return (
            array is not None
            and name not in self.program.registers
            and not array.is_packed
            and not array.dtype.is_odd_width
        )

    def _register(self, load: Load) -> Load:
        name = f"{load.array}.c{len(self.registers)}"
        dtype = self.program.arrays[load.array].dtype
        self.registers[name] = Array(name, dtype, (), Role.TEMPORARY, ())
        return Load(name, (), dtype)


def _carried(loop: For, body: tuple[LoopNode, ...], array: str) -> list[_Carried]:
    """Return the elements of an array that a loop can carry in registers."""
    nodes = list(walk(loop.body))
    plain = [node for node in body if isinstance(node, Assign)]
    writers = [one for one in nodes if isinstance(one, Assign) and one.target.array == array]
    if any(isinstance(one, For) and one.kind is not LoopKind.VECTOR for one in nodes) or any(
        not any(writer is one for one in plain) for writer in writers
    ):
        return []
    writes = {
        at: _place(node.target.subscripts, loop.variable)
        for at, node in enumerate(body)
        if isinstance(node, Assign) and node.target.array == array
    }
    reads: dict[_Place, tuple[Load, int]] = {}
    for at, node in enumerate(body):
        if isinstance(node, Assign) and array in node.arrays:
            for load in loads(node.value):
                place = _place(load.subscripts, loop.variable) if load.array == array else None
                if place is not None:
                    reads[place] = (load, at)
    found: dict[_Place, _Carried] = {}
    for place, (load, last) in reads.items():
        following = _next(place, loop.step)
        store = max((at for at, one in writes.items() if one == following), default=None)
        if (
            store is not None
            and following != place
            and all(_apart(one, place) for at, one in writes.items() if at < last)
            and all(_apart(one, following) for at, one in writes.items() if at > store)
        ):
            found[place] = _Carried(place, load, store, 1)
    while True:
        more = {
            place: _Carried(place, load, None, found[following].links + 1)
            for place, (load, last) in reads.items()
            if place not in found
            and (following := _next(place, loop.step)) in found
            and all(_apart(one, place) for at, one in writes.items() if at < last)
            and all(_apart(one, following) for one in writes.values())
        }
        if not more:
            return list(found.values())
        found |= more


def _place(subscripts: tuple[Expression, ...], variable: str) -> _Place | None:
    """Return where an access goes; None if it does not move evenly with the loop."""
    if any(loads(subscript) for subscript in subscripts):
        return None
    place = tuple(linear_form(subscript, {}).without(variable) for subscript in subscripts)
    return None if any(rest.uses({variable}) for rest, _ in place) else place


def _next(place: _Place, step: int) -> _Place:
    """Return the place of an access in the next iteration."""
    return tuple(
        (LinearForm(rest.terms, rest.constant + coefficient * step), coefficient)
        for rest, coefficient in place
    )


def _apart(one: _Place | None, other: _Place) -> bool:
    """Whether two accesses of one iteration go to different elements."""
    return one is not None and any(
        a.terms == b.terms and a.constant != b.constant and first == second
        for (a, first), (b, second) in zip(one, other, strict=True)
    )


def _with_registers(
    node: LoopNode, registers: dict[tuple[str, _Place], Load], variable: str
) -> LoopNode:
    """Return a node that reads registers instead of memory where it is a plain assignment."""
    if not isinstance(node, Assign):
        return node

    def rule(found: Expression) -> Expression | None:
        if isinstance(found, Load):
            place = _place(found.subscripts, variable)
            return None if place is None else registers.get((found.array, place))
        return None

    return replace(node, value=transform(node.value, rule))


def _assign(register: Load, value: Expression) -> Assign:
    return Assign("load", (), Access(register.array, ()), value)
