"""Pass: write registers without masks if their inactive lanes are dead.

A vector loop that does not fill its registers preserves the inactive lanes, which takes a masked
move for each accumulator in the innermost loop. If every access to a register runs the same literal
lanes, the other lanes are dead and need no mask. Neither do temporaries of a statement sequence,
which are written before they are read, always in the same lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.vector.ir import (
    Assign,
    Branch,
    Call,
    Keep,
    Node,
    Sequence,
    Statement,
    Transpose,
    VectorProgram,
    children,
    walk,
)
from polysched.vector.rewrite import map_statements, statement_values, walk_value
from polysched.vector.values import (
    All,
    Lanes,
    Load,
    Only,
    Predicate,
    Range,
    Register,
    Unpack,
    Value,
)

_Active = All | Only | None


def unmask_registers(program: VectorProgram) -> VectorProgram:
    """Drop the masks of registers whose inactive lanes are dead."""
    nodes = list(walk(program.body))
    active_lanes: dict[str, set[_Active]] = {
        name: set() for node in nodes for name in _masked(node)
    }
    flowing = {name for run in _runs(program.body) for name in _flowing(run)}
    if not active_lanes:
        return program
    for node in nodes:
        for name, active in _accesses(node):
            if name in active_lanes:
                active_lanes[name].add(active)
    # None stands for lanes that are not literal, and two of them may differ.
    dead = {
        name
        for name, kinds in active_lanes.items()
        if name not in flowing or (len(kinds) == 1 and None not in kinds)
    }

    def rewritten(node: Statement) -> Statement:
        if not (isinstance(node, Assign | Call) and isinstance(node.target, Keep)):
            return node
        if node.target.register.array not in dead:
            return node
        return replace(node, target=replace(node.target, masked=False))

    return replace(program, body=map_statements(program.body, rewritten))


def _masked(node: Node) -> Iterator[str]:
    """Yield the register array that a statement writes under a mask."""
    if not (isinstance(node, Assign | Call) and isinstance(node.target, Keep)):
        return
    if node.lanes is not None and not isinstance(node.lanes.active, All):
        yield node.target.register.array


def _runs(node: Node) -> Iterator[list[Node]]:
    """Yield maximal runs of consecutive statements, in order; other nodes are runs of length 1."""
    if not isinstance(node, Sequence):
        yield [node]
    inner: list[Node] = []
    for child in children(node):
        if isinstance(child, Assign | Call) and isinstance(node, Sequence):
            inner.append(child)
            continue
        if inner:
            yield inner
            inner = []
        yield from _runs(child)
    if inner:
        yield inner


def _flowing(run: list[Node]) -> Iterator[str]:
    """Yield the register arrays that are live into a run, or read in other lanes than written."""
    written: dict[tuple[str, int], Lanes | None] = {}
    for node in run:
        if not isinstance(node, Assign | Call):
            yield from (name for name, _ in _accesses(node))
            continue
        is_fixed = node.lanes is None or has_fixed_lanes(node.lanes)
        for value in _read(node):
            key = value.array, value.number
            if not is_fixed or key not in written or written[key] != node.lanes:
                yield value.array
        if isinstance(node.target, Keep):
            register = node.target.register
            if not is_fixed:
                yield register.array
            written[register.array, register.number] = node.lanes


def _read(node: Assign | Call) -> Iterator[Register]:
    """Yield the registers that a statement reads, including registers in its lane bounds."""
    for outermost in (*statement_values(node), *_ends(node.lanes)):
        for value in walk_value(outermost):
            if isinstance(value, Register):
                yield value


def _ends(lanes: Lanes | None) -> tuple[Value, ...]:
    """The values that bound the active lanes, or the condition that masks them."""
    active = None if lanes is None else lanes.active
    if isinstance(active, Predicate):
        active = active.within
    if not isinstance(active, Range):
        return ()
    return (active.upper,) if active.lower is None else (active.lower, active.upper)


def has_fixed_lanes(lanes: Lanes) -> bool:
    """Whether the active lanes are constant in an iteration of the loops around.

    Lanes that depend on data may change between statements.
    """
    if isinstance(lanes.active, Predicate):
        return False
    inner = [value for end in _ends(lanes) for value in walk_value(end)]
    return not any(isinstance(value, Load | Unpack | Register) for value in inner)


def _accesses(node: Node) -> Iterator[tuple[str, _Active]]:
    """Yield the register arrays that a node accesses, each with its lanes; None if not literal."""
    if isinstance(node, Transpose):
        yield node.rows, All()
        yield node.columns, All()
    if isinstance(node, Branch):
        for value in walk_value(node.condition):
            if isinstance(value, Register):
                yield value.array, None
    if not isinstance(node, Assign | Call):
        return
    active = None if node.lanes is None else node.lanes.active
    literal = active if isinstance(active, All | Only) else None
    if isinstance(node.target, Keep):
        yield node.target.register.array, literal
    for outermost in statement_values(node):
        for value in walk_value(outermost):
            if isinstance(value, Register):
                yield value.array, literal
