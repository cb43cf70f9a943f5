"""Pass: write registers without masks if their inactive lanes are dead.

A vector loop that does not fill its registers preserves the inactive lanes, which takes a masked
move for each accumulator in the innermost loop. If every access to a register runs the same literal
lanes, the other lanes are dead and need no mask. A register
that is read only in the lanes in which it was last written, on every path, needs no mask either:
for example the sums of the last columns of a matrix whose number of columns is a parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from polysched.ir.expr.dtypes import boolean, i64
from polysched.ir.expr.expressions import Constant, Index
from polysched.ir.expr.operators import Operator
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
    Apply,
    First,
    Lanes,
    Load,
    Only,
    Predicate,
    Range,
    Register,
    Shuffle,
    Uniform,
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
    mixed, _ = _mixed(program.body, {}, ())
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

    def rewritten(node: Statement) -> Node:
        if not (isinstance(node, Assign | Call) and isinstance(node.target, Keep)):
            return node
        if node.target.register.array not in dead or node.lanes is None:
            return node
        unmasked = replace(node, target=replace(node.target, masked=False))
        return (_in_all_lanes(node) or unmasked) if isinstance(node, Assign) else unmasked

    return replace(program, body=map_statements(program.body, rewritten))


def _in_all_lanes(node: Assign) -> Node | None:
    """Let dead lanes compute too, if there is an active one; None if they must not.

    They may compute with any values that are read from memory that exists.
    """
    assert node.lanes is not None
    assert isinstance(node.target, Keep)
    loads = [value for value in walk_value(node.value) if isinstance(value, Load)]
    if not loads or loads == [node.value] or not _is_harmless(node.value):
        return None  # nothing is gained
    lanes = replace(node.lanes, active=All(), some=True)
    whole = replace(node, target=replace(node.target, masked=False), lanes=lanes)
    match node.lanes.active:
        case Only():
            return whole
        case Range() if node.lanes.some:
            return whole
        case Range(lower=None, upper=upper, step=1):
            some = Apply(Operator.LESS, (Constant(0, i64), upper), boolean, contract=False)
            return Branch(some, whole)
        case _:
            return None


def _is_harmless(value: Value) -> bool:
    """Whether all lanes can compute a value if one can."""
    match value:
        case Apply(operands=values, dtype=dtype):
            return dtype is not None and dtype.is_float and all(map(_is_harmless, values))
        case Load(access=access, where=None):
            return access.is_whole or access.movement is Uniform.BROADCAST
        case _:
            return isinstance(value, Register | Constant)


def _masked(node: Node) -> Iterator[str]:
    """Yield the register array that a statement writes under a mask."""
    if not (isinstance(node, Assign | Call) and isinstance(node.target, Keep)):
        return
    if node.lanes is not None and not isinstance(node.lanes.active, All):
        yield node.target.register.array


@dataclass(frozen=True)
class _Written:
    """The lanes in which a register was last written on all paths on which the guards hold."""

    lanes: Lanes | None
    guards: tuple[Value, ...]


_State: TypeAlias = dict[tuple[str, int], _Written]
"""Facts about registers at one point of the program: the lanes in which each was last written."""


def _mixed(node: Node, state: _State, guards: tuple[Value, ...]) -> tuple[set[str], _State]:
    """Find register arrays that are read in lanes that were not written last, and the state after.

    A forward data-flow analysis of the structured program. The state before a loop is joined with
    the state after its body, without lanes and guards that depend on the loop.

    Args:
        state: the state before it.
        guards: the conditions around it that loops alone can change.
    """
    mixed: set[str] = set()
    match node:
        case Sequence(nodes=nodes):
            for child in nodes:
                found, state = _mixed(child, state, guards)
                mixed |= found
        case Branch(condition=condition, then=then, otherwise=None) if is_fixed(condition):
            mixed, end = _mixed(then, state, (*guards, condition))
            state = {
                key: state[key] if key in state and state[key].lanes == written.lanes else written
                for key, written in end.items()
            }
        case Branch():
            mixed |= {name for name, _ in _accesses(node)}
            states = []
            for child in children(node):
                found, end = _mixed(child, state, guards)
                mixed |= found
                states.append(end)
            state = _joined(*states) if len(states) == 2 else _joined(state, states[0])
        case Loop():
            return _mixed_in_loop(node, state, guards)
        case Assign() | Call():
            state = dict(state)
            keeps_lanes = node.lanes is None or has_fixed_lanes(node.lanes)
            moved = _moved(node)
            for register in _read(node):
                key = register.array, register.number
                is_covered = (
                    keeps_lanes
                    and key in state
                    and set(state[key].guards) <= set(guards)
                    and _covers(state[key].lanes, node.lanes)
                )
                if not is_covered or register in moved:
                    mixed.add(register.array)
            if isinstance(node.target, Keep):
                register = node.target.register
                if not keeps_lanes:
                    mixed.add(register.array)
                state[register.array, register.number] = _Written(node.lanes, guards)
        case _:
            mixed |= {name for name, _ in _accesses(node)}
    return mixed, state


def _mixed_in_loop(loop: Loop, state: _State, guards: tuple[Value, ...]) -> tuple[set[str], _State]:
    """The answer of :func:`_mixed` for a loop."""
    is_parallel = loop.region is not None
    entry: _State = {} if is_parallel else state
    while True:
        mixed, end = _mixed(loop.body, entry, guards)
        end = {key: written for key, written in end.items() if not _depends(written, loop.variable)}
        repeated = _joined(entry, end)
        if repeated == entry:
            break
        entry = repeated
    if is_parallel:
        return mixed, {}
    return mixed, end if loop.runs else _joined(state, end)


def _joined(first: _State, second: _State) -> _State:
    """The facts that hold on both paths."""
    return {
        key: written for key, written in first.items() if key in second and second[key] == written
    }


def _covers(written: Lanes | None, read: Lanes | None) -> bool:
    """Whether all lanes that are read were written."""
    if written == read:
        return True
    if written is None or read is None:
        return False
    return written.count == read.count and isinstance(written.active, All)


def _depends(written: _Written, variable: str) -> bool:
    """Whether the bounds of lanes or the guards depend on a loop variable."""
    outermost = (*lane_ends(written.lanes), *written.guards)
    inner = (value for end in outermost for value in walk_value(end))
    return any(isinstance(value, Index) and value.name == variable for value in inner)


def _read(node: Assign | Call) -> Iterator[Register]:
    """Yield the registers that a statement reads, including registers in its lane bounds."""
    for outermost in (*statement_values(node), *lane_ends(node.lanes)):
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


def lane_ends(lanes: Lanes | None) -> tuple[Value, ...]:
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
    return all(is_fixed(end) for end in lane_ends(lanes))


def is_fixed(value: Value) -> bool:
    """Whether loops alone can change a value."""
    return not any(isinstance(inner, Load | Unpack | Register) for inner in walk_value(value))


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
