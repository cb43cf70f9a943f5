"""Row fusion: nests that stream the same arrays run block by block of rows, one after the other.

A nest whose arrays exceed the caches waits for memory. If the next nest reads or writes the same
rows, both take a block of rows in turn, and the second nest finds the block in a cache::

    for i, j: t[i] += A[i][j] * x[j]      for io: for ii, j: t[i] += A[i][j] * x[j]
    for i, j: y[j] += A[i][j] * t[i]  ->          for ii, j: y[j] += A[i][j] * t[i]

The rows are those of the largest stride: the loop of rows becomes the outermost of its nest. Small
nests in between, such as the start of the sums, are taken along. Only the order of dependences
decides whether a nest may join.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polysched.autoscheduler.cost.traffic import footprint
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import AccessFacts, StatementFacts
from polysched.autoscheduler.forms.alignment import aligned
from polysched.autoscheduler.forms.candidate import Decision
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import Nest, fresh_names, outer_nests
from polysched.ir.core import tree
from polysched.ir.core.tree import Loop, Node, path
from polysched.legality.checks.order import demanded
from polysched.machine.description import Cache, Machine
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

ROWS = (8, 4, 2, 1)
"""Rows of a block: as many as a register tile takes, if half of the second-level cache holds them.

Measured on Zen 4 with sums along the rows of 3000 by 3000 doubles: 4 or 8 rows at once stream a
line in 7 cycles, one row takes 19.
"""
LARGEST_REUSE = 16
"""Uses of each element by one nest up to which it waits for memory rather than for arithmetic."""
DEFAULT_NEAR = Cache(2, 256 * 1024, 64, 8, 1)
"""The second-level cache of a machine without a known one."""


@dataclass(frozen=True, eq=False)
class _Member:
    """A nest that may join a group: its statements, and the loop of its rows."""

    nest: Nest
    facts: tuple[StatementFacts, ...]
    row: str = ""

    @property
    def reference(self) -> str:
        """The name of the loop of rows in a step."""
        return f"{self.nest.statements[0]}.{self.row}"


@dataclass(frozen=True, eq=False)
class _Group:
    """Neighboring nests whose rows can be fused.

    Attributes:
        schedule: the start with the loops of rows outermost in their nests.
        steps: the steps that moved them there.
        shifts: the iterations by which each member runs later.
    """

    schedule: Schedule
    steps: tuple[Step, ...]
    members: tuple[_Member, ...]
    shifts: tuple[int, ...] = (0,)


def row_fused(
    schedule: Schedule, machine: Machine, sizes: Mapping[str, int]
) -> Iterator[tuple[Schedule, Decision]]:
    """Yield the schedule in which neighboring nests that stream the same rows are fused."""
    near = machine.cache(2) or DEFAULT_NEAR
    fused: list[tuple[_Group, int]] = []
    steps: list[Step] = []
    for around, children in tuple(_sequences(schedule.program.tree, ())):
        nests = [next(outer_nests(child, around), None) for child in children]
        members = [None if nest is None else _member(schedule, nest, sizes, near) for nest in nests]
        while _shared([member for member in members if member is not None], near):
            group = _longest(schedule, members)
            if group is None or not _shared(group.members, near):
                del members[0]
                continue
            del members[: len(group.members)]
            block = _block(group, near)
            fusing = (*group.steps, *_fusing_steps(group, block))
            changed = applied(schedule, fusing)
            names = [name for member in group.members for name in member.nest.statements]
            if changed is not None and keeps_order(changed.program, names):
                schedule = changed
                steps += fusing
                fused.append((group, block))
    if fused:
        arrays = sorted({name for group, _ in fused for name in _shared(group.members, near)})
        rows = max(block for _, block in fused)
        count = f"blocks of {rows} rows" if rows > 1 else "rows"
        yield (
            schedule,
            Decision(
                tuple(steps),
                tuple(n for group, _ in fused for m in group.members for n in m.nest.statements),
                f"nests that stream {', '.join(arrays)} take turns by {count}: the later ones "
                "find in a cache what the earlier ones have brought from memory",
            ),
        )


def _sequences(
    node: Node, around: tuple[Loop, ...]
) -> Iterator[tuple[tuple[Loop, ...], tuple[Node, ...]]]:
    """Yield the children of each sequence with the loops around it, inner sequences first."""
    match node:
        case tree.Sequence(children=children):
            for child in children:
                yield from _sequences(child, around)
            yield around, children
        case Loop():
            yield from _sequences(node.body, (*around, node))


def _member(
    schedule: Schedule, nest: Nest, sizes: Mapping[str, int], near: Cache
) -> _Member | None:
    """Return a nest that is memory-bound or small; None if it is scheduled or compute-bound."""
    if not all(loop.is_plain for loop in nest.chain):
        return None
    facts = tuple(statement_facts(schedule.program, name, sizes) for name in nest.statements)
    depth = len(nest.around)
    for statement in facts:
        used = max(_touched(access, statement, depth, near.line) for access in statement.accesses)
        inside = replace(statement, loops=statement.loops[depth:])
        if inside.instances * statement.target.bytes > LARGEST_REUSE * used:
            return None
    return _Member(nest, facts)


def _touched(access: AccessFacts, facts: StatementFacts, depth: int, line: int) -> float:
    """Return the bytes of the lines that an access touches inside a number of loops."""
    return footprint(access, facts.loops[depth:], line) * line


def _longest(schedule: Schedule, members: Sequence[_Member | None]) -> _Group | None:
    """Return the longest group that begins with the first member; None if it stays alone."""
    if members[0] is None:
        return None
    group = _Group(schedule, (), (members[0],))
    for member in members[1:]:
        longer = None if member is None else _joined(group, member)
        if longer is None:
            break
        group = longer
    return group if len(group.members) > 1 else None


def _joined(group: _Group, member: _Member) -> _Group | None:
    """Return the group with another nest; None if they share no rows, or fusion is illegal."""
    last = None
    for first, row in _common_rows(group, member):
        if (first, row) == last:
            continue
        last = (first, row)
        members = (
            [replace(grouped, row=first) for grouped in group.members]
            if not _named(group)
            else [*group.members]
        )
        members.append(replace(member, row=row))
        fresh = members[-1:] if _named(group) else members
        steps = tuple(step for moved in fresh for step in _outermost(moved))
        changed = applied(group.schedule, steps)
        if changed is None:
            continue
        row_loops = [_row_loop(changed, joined) for joined in members]
        alignment = aligned(
            changed.program.statements,
            demanded(changed.program.dependences),
            member.nest.around,
            (),
            row_loops,
        )
        if alignment is not None:
            return _Group(changed, (*group.steps, *steps), tuple(members), alignment.shifts)
    return None


def _named(group: _Group) -> bool:
    return bool(group.members[0].row)


def _outermost(member: _Member) -> tuple[Step, ...]:
    """Return the step that makes the loop of rows the outermost of its nest, if it is not."""
    names = [loop.name for loop in member.nest.chain]
    if names[0] == member.row:
        return ()
    order = (member.row, *(name for name in names if name != member.row))
    return (Reorder(tuple(f"{member.nest.statements[0]}.{name}" for name in order)),)


def _row_loop(schedule: Schedule, member: _Member) -> Loop:
    around = path(schedule.program.tree, member.nest.statements[0])
    return next(loop for loop in around if loop.name == member.row)


def _common_rows(group: _Group, member: _Member) -> list[tuple[str, str]]:
    """Return pairs of loops that move in the same way through a common array, the largest first."""
    common: list[tuple[float, int, str, str]] = []
    own = _rows(member)
    for grouped in group.members:
        group_rows = {grouped.row} if grouped.row else _rows(grouped)
        for facts in grouped.facts:
            for other in member.facts:
                for a in facts.accesses:
                    for b in other.accesses:
                        if a.array != b.array:
                            continue
                        size = _touched(b, other, len(member.nest.around), 1)
                        common += [
                            (-size, -abs(a.stride(first) or 0), first, second)
                            for first in sorted(group_rows)
                            for second in sorted(own)
                            if a.stride(first) and a.stride(first) == b.stride(second)
                        ]
    if not common and len(member.nest.chain) == 1:
        return list(_equal_rows(group, member))
    return [(first, second) for _, _, first, second in sorted(common)]


def _rows(member: _Member) -> set[str]:
    """Return the loops that take the longest steps through the largest arrays of a nest."""
    sized_loops: list[tuple[float, set[str]]] = []
    for facts in member.facts:
        names = {loop.name for loop in member.nest.chain}
        for access in facts.accesses:
            steps = {name: abs(access.stride(name) or 0) for name in names}
            longest = max(steps.values())
            loops = {name for name, step in steps.items() if step == longest > 0}
            sized_loops.append((_touched(access, facts, len(member.nest.around), 1), loops))
    most = max(size for size, _ in sized_loops)
    return set().union(*(loops for size, loops in sized_loops if size == most))


def _equal_rows(group: _Group, member: _Member) -> Iterator[tuple[str, str]]:
    """Yield the rows of a group and the only loop of a nest, if they have as many iterations.

    A start of sums has no array in common with the nests before it.
    """
    last, loop = group.members[-1], member.nest.chain[0].name
    row = last.row or last.nest.chain[0].name
    if last.facts[0].loop(row).trip == member.facts[0].loop(loop).trip:
        yield row, loop


def _shared(members: Sequence[_Member], near: Cache) -> list[str]:
    """Return the arrays beyond the second-level cache that several members use."""
    users: dict[str, int] = {}
    for member in members:
        depth = len(member.nest.around)
        for name in sorted(
            {access.array for statement in member.facts for access in statement.accesses}
        ):
            size = max(
                _touched(access, statement, depth, near.line)
                for statement in member.facts
                for access in statement.accesses
                if access.array == name
            )
            if size > near.bytes:
                users[name] = users.get(name, 0) + 1
    return [name for name, count in users.items() if count > 1]


def _block(group: _Group, near: Cache) -> int:
    """Return the rows of a block, so that half of the second-level cache holds all members'."""
    row: dict[str, float] = {}
    for member in group.members:
        for statement in member.facts:
            inside = replace(
                statement,
                loops=tuple(
                    loop
                    for loop in statement.loops[len(member.nest.around) :]
                    if loop.name != member.row
                ),
            )
            for access in statement.accesses:
                size = _touched(access, inside, 0, near.line)
                row[access.array] = max(row.get(access.array, 0.0), size)
    most = near.bytes / 2 / sum(row.values())
    return next((rows for rows in ROWS if rows <= most), 1)


def _fusing_steps(group: _Group, block: int) -> Iterator[Step]:
    """Yield the steps that align the rows of all members, split them into blocks and fuse the
    blocks.
    """
    starts = []
    for member, shift in zip(group.members, group.shifts, strict=True):
        loops = [statement.loop(member.row) for statement in member.facts]
        starts.append(min(loop.start or 0 for loop in loops) + shift)
    program = group.schedule.program
    names = fresh_names(program, program.tree, "rows", "row")
    outer = names[0] if block > 1 else None
    for member, shift in zip(group.members, group.shifts, strict=True):
        amount = shift - min(starts)
        if amount:
            yield Shift(member.reference, amount)
        if outer is not None:
            yield Split(member.reference, block, (outer, names[1]))
    first = group.members[0]
    fused = f"{first.nest.statements[0]}.{outer or first.row}"
    for member in group.members[1:]:
        yield Fuse(fused, f"{member.nest.statements[0]}.{outer or member.row}", outer or first.row)
