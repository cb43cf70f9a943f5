"""Pass: write registers without masks if their inactive lanes are dead.

A vector loop that does not fill its registers preserves the inactive lanes, which takes a masked
move for each accumulator in the innermost loop. If every access to a register runs the same literal
lanes, the other lanes are dead and need no mask. Neither do registers that are only read in the
lanes in which they were last written on every path, such as the sums of the last columns of a
matrix, of which there are as many as a parameter says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from polysched.ir.expr.expressions import Index
from polysched.vector.ir import (
    Assign,
    Branch,
    Call,
    Keep,
    Loop,
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
    First,
    Lanes,
    Load,
    Only,
    Predicate,
    Range,
    Register,
    Shuffle,
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
    if not active_lanes:
        return program
    mixed, _ = _mixed(program.body, {})
    for node in nodes:
        for name, active in _accesses(node):
            if name in active_lanes:
                active_lanes[name].add(active)
    # None stands for lanes that are not literal, and two of them may differ.
    dead = {
        name
        for name, kinds in active_lanes.items()
        if name not in mixed or (len(kinds) == 1 and None not in kinds)
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


_State: TypeAlias = dict[tuple[str, int], Lanes | None]
"""For each register: the lanes in which it was last written on all paths, with the same bounds."""


def _mixed(node: Node, state: _State) -> tuple[set[str], _State]:
    """The register arrays that are read in lanes that were not written last, and the state behind.

    A forward data-flow analysis of the structured program. The state before a loop is joined with
    that behind its body; lanes whose bounds depend on the loop are forgotten there.
    """
    mixed: set[str] = set()
    match node:
        case Sequence(nodes=nodes):
            for child in nodes:
                found, state = _mixed(child, state)
                mixed |= found
        case Branch():
            mixed |= {name for name, _ in _accesses(node)}
            states = []
            for child in children(node):
                found, end = _mixed(child, state)
                mixed |= found
                states.append(end)
            state = _joined(*states) if len(states) == 2 else _joined(state, states[0])
        case Loop():
            return _mixed_in_loop(node, state)
        case Assign() | Call():
            state = dict(state)
            is_fixed = node.lanes is None or has_fixed_lanes(node.lanes)
            moved = _moved(node)
            for register in _read(node):
                key = register.array, register.number
                is_mixed = not is_fixed or key not in state or not _covers(state[key], node.lanes)
                if is_mixed or register in moved:
                    mixed.add(register.array)
            if isinstance(node.target, Keep):
                register = node.target.register
                if not is_fixed:
                    mixed.add(register.array)
                state[register.array, register.number] = node.lanes
        case _:
            mixed |= {name for name, _ in _accesses(node)}
    return mixed, state


def _mixed_in_loop(loop: Loop, state: _State) -> tuple[set[str], _State]:
    """The answer of :func:`_mixed` for a loop."""
    is_parallel = loop.region is not None
    entry: _State = {} if is_parallel else state
    while True:
        mixed, end = _mixed(loop.body, entry)
        end = {key: lanes for key, lanes in end.items() if not _depends(lanes, loop.variable)}
        repeated = _joined(entry, end)
        if repeated == entry:
            break
        entry = repeated
    if is_parallel:
        return mixed, {}
    return mixed, end if loop.runs else _joined(state, end)


def _joined(first: _State, second: _State) -> _State:
    """What holds on both paths."""
    return {key: lanes for key, lanes in first.items() if key in second and second[key] == lanes}


def _covers(written: Lanes | None, read: Lanes | None) -> bool:
    """Whether all lanes that are read were written."""
    if written == read:
        return True
    if written is None or read is None:
        return False
    return written.count == read.count and isinstance(written.active, All)


def _depends(lanes: Lanes | None, variable: str) -> bool:
    """Whether the bounds of lanes depend on a loop variable."""
    inner = (value for end in _ends(lanes) for value in walk_value(end))
    return any(isinstance(value, Index) and value.name == variable for value in inner)


def _read(node: Assign | Call) -> Iterator[Register]:
    """Yield the registers that a statement reads, including registers in its lane bounds."""
    for outermost in (*statement_values(node), *_ends(node.lanes)):
        for value in walk_value(outermost):
            if isinstance(value, Register):
                yield value


def _moved(node: Assign | Call) -> set[Register]:
    """The registers whose elements are read in other lanes."""
    return {
        inner
        for outermost in statement_values(node)
        for value in walk_value(outermost)
        if isinstance(value, First | Shuffle)
        for inner in walk_value(value)
        if isinstance(inner, Register)
    }


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
