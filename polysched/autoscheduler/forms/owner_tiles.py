"""Owner tiles: all statements that update a matrix in one nest, tiled over the matrix's elements.

A factorization interleaves statements of different depths on one matrix. Every statement is given
the same loops: the row and the column that it writes, and the step ``k``. A statement without a
loop for one of them gets a loop of one iteration, skewed to where it belongs (statement sinking).
Then the nest is tiled by rows and columns, and each tile takes all its steps while it is in
registers::

    for k: for i > k: A[i][k] /= A[k][k]
           for i > k, j > k: A[i][j] -= A[i][k] * A[k][j]

    for jo, io: for k: for ii, ji: ...

A triangular solve has only rows: tiles of rows take blocks of steps, whose columns of the matrix
are transposed in registers::

    for i: for j < i: x[i] -= L[i][j] * x[j]
           x[i] /= L[i][i]

    for io, jo: for ib, ji: for ii: ...

The steps on the way may be illegal alone; the finished order is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.alignment import aligned
from polysched.autoscheduler.forms.candidate import Decision
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import Nest, nest_at, outer_nests
from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import Loop, loops, parts, path
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.linear import linear_form
from polysched.legality.checks.order import demanded
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program, find_loop
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

TILES = ((8, 2), (16, 1))
"""Rows, and vectors of columns, of a tile: 16 registers hold it.

The second form is for a column operand whose lanes are gathered: one gather serves 16 rows.
"""
ROW_TILES = ((8, 2),)
"""Steps, and vectors of rows, of a tile of a triangular solve.

Measured on Zen 4 with 4000 rows of doubles: 8 steps by two vectors take 2.8 ms, two vectors in a
loop 19 ms.
"""
LARGEST_CHOICES = 16
"""Most combinations of steps that are tried for the statements without a step."""


@dataclass(frozen=True)
class _Row:
    """A loop value of a statement: a sum of its own loops, by name, and a constant."""

    coefficients: tuple[tuple[str, int], ...]
    constant: int

    @property
    def loop(self) -> str | None:
        """The loop that the row equals; None if it is another function."""
        if self.constant == 0 and len(self.coefficients) == 1 and self.coefficients[0][1] == 1:
            return self.coefficients[0][0]
        return None


def owner_tiled(
    schedule: Schedule, machine: Machine, sizes: Mapping[str, int]
) -> Iterator[tuple[Schedule, Decision]]:
    """Yield the schedule in which updates of an array are tiled over its elements."""
    decisions: list[Decision] = []
    for statement in [nest.statements[0] for nest in outer_nests(schedule.program.tree)]:
        tiled = _owner_tiled(schedule, nest_at(schedule.program, statement, 0), machine, sizes)
        if tiled is not None:
            schedule = tiled[0]
            decisions.append(tiled[1])
    if decisions:
        yield (
            schedule,
            Decision(
                tuple(step for decision in decisions for step in decision.steps),
                tuple(name for decision in decisions for name in decision.statements),
                "; ".join(dict.fromkeys(decision.reason for decision in decisions)),
            ),
        )


def _owner_tiled(
    schedule: Schedule, nest: Nest, machine: Machine, sizes: Mapping[str, int]
) -> tuple[Schedule, Decision] | None:
    program = schedule.program
    names = nest.statements
    if len(names) < 2 or not all(loop.is_plain for loop in loops(nest.chain[0])):
        return None
    own = {
        name: tuple(loop.name for loop in path(program.tree, name)[len(nest.around) :])
        for name in names
    }
    targets = {name: program.statements[name].target for name in names}
    main = max(names, key=lambda name: len(own[name]))
    depth = len(own[main])
    if depth not in (2, 3) or any(t.array != targets[main].array for t in targets.values()):
        return None
    owners = {name: _owner(program, targets[name], own[name]) for name in names}
    if any(rows is None or len(rows) != depth - 1 for rows in owners.values()):
        return None
    facts = statement_facts(program, main, sizes)
    is_row = any(
        facts.is_transposable(access, loop, ROW_TILES[0][0], ROW_TILES[0][0])
        for access in facts.accesses[1:]
        for loop in own[main]
        if access.stride(loop) and not facts.target.stride(loop)
    )
    lanes = machine.vector_bits // max(8, program.arrays[targets[main].array].dtype.bits)
    choices = [_steps_of(own[name], owners[name] or ()) for name in names]
    for steps in islice(product(*choices), LARGEST_CHOICES):
        rows = {
            name: (step, *(owners[name] or ())) for name, step in zip(names, steps, strict=True)
        }
        separated = [*_distributions(nest)]
        loops_of = {}
        for name in names:
            embedding, loops_of[name] = _embedded(name, own[name], rows[name])
            separated += embedding
        shifts = _shifts(schedule, separated, nest, loops_of)
        if shifts is None:
            continue
        tiled = []
        for height, vectors in TILES if depth == 3 else ROW_TILES:
            shape = (height, vectors * lanes)
            joined = _joined(names, main, loops_of)
            tiling = _tiling(names[0], main, loops_of, shape, lanes, is_row=is_row)
            sequence = (*separated, *shifts, *joined, *tiling)
            changed = applied(schedule, sequence)
            if changed is None or not keeps_order(changed.program, names):
                break
            cost = program_costs(changed.program, (main,), machine, sizes)[main]
            extent = f"{shape[0]} by {shape[1]}" if depth == 3 else f"{shape[1]}"
            reason = (
                f"tiles of {extent} elements of {targets[main].array} take all their steps "
                "together, each element finished where the others need it"
            )
            tiled.append((cost.cycles, changed, Decision(sequence, names, reason)))
        if tiled:
            return min(tiled, key=lambda candidate: candidate[0])[1:]
    return None


def _shifts(
    schedule: Schedule, separated: list[Step], nest: Nest, loops_of: Mapping[str, list[str]]
) -> list[Step] | None:
    """Return the shifts of the steps that put the statements of one step in a legal order."""
    changed = applied(schedule, separated)
    if changed is None:
        return None
    program = changed.program
    members = [find_loop(program, f"{name}.{own[0]}") for name, own in loops_of.items()]
    alignment = aligned(
        program.statements, demanded(program.dependences), nest.around, (), members, in_order=True
    )
    if alignment is None:
        return None
    return [
        Shift(f"{name}.{own[0]}", shift)
        for (name, own), shift in zip(loops_of.items(), alignment.shifts, strict=True)
        if shift
    ]


def _owner(program: Program, target: Access, own: tuple[str, ...]) -> tuple[_Row, ...] | None:
    """Return the subscripts of a write as sums of the statement's loops; None if one is not."""
    rows = []
    for subscript in target.subscripts:
        row = _row(subscript, own)
        if row is None:
            return None
        rows.append(row)
    return tuple(rows)


def _row(subscript: Expression, own: tuple[str, ...]) -> _Row | None:
    form = linear_form(subscript, {})
    coefficients = []
    for atom, coefficient in form.terms:
        if not isinstance(atom, Index) or atom.name not in own:
            return None
        coefficients.append((atom.name, coefficient))
    return _Row(tuple(coefficients), form.constant)


def _steps_of(own: tuple[str, ...], owner: tuple[_Row, ...]) -> list[_Row]:
    """Return the values of the step that a statement may have: its own loop, or its diagonal."""
    written = {row.loop for row in owner}
    free = [_Row(((name, 1),), 0) for name in own if name not in written]
    return free[:1] if free else list(reversed(owner))


def _distributions(nest: Nest) -> list[Step]:
    """Return the steps that give every statement of a nest loops of its own."""
    steps: list[Step] = []

    def visit(loop: Loop, around: tuple[Loop, ...]) -> None:
        for child in parts(loop.body):
            if isinstance(child, Loop):
                visit(child, (*around, loop))
        if len(loop.statements) > 1:
            # Inner loops first: a loop can be distributed only after the loops inside it.
            steps.append(Distribute(f"{loop.statements[0]}.{loop.name}"))

    visit(nest.chain[0], ())
    return steps


def _joined(names: tuple[str, ...], main: str, loops_of: Mapping[str, list[str]]) -> Iterator[Step]:
    """Yield the steps that fuse the loops step, row and column of all statements."""
    first, *later_names = names
    for at, own in enumerate(loops_of[main]):
        for name in later_names:
            before = loops_of[first][at] if name == later_names[0] else f"{own}_"
            yield Fuse(f"{first}.{before}", f"{name}.{loops_of[name][at]}", f"{own}_")


def _tiling(
    first: str,
    main: str,
    loops_of: Mapping[str, list[str]],
    shape: tuple[int, int],
    lanes: int,
    *,
    is_row: bool,
) -> Iterator[Step]:
    """Yield the steps that tile the fused loops and vectorize the main statement.

    Args:
        is_row: whether a tile of steps covers rows of the matrix, which are transposed in
            registers.
    """
    step, *owner = (f"{own}_" for own in loops_of[main])
    if len(owner) == 1:
        yield Split(f"{first}.{owner[0]}", shape[1], ("io_", "im_"))
        yield Split(f"{first}.im_", lanes, ("ib_", "ii_"))
        yield Split(f"{first}.{step}", shape[0], ("jo_", "ji_"))
        yield Reorder(tuple(f"{first}.{name}" for name in ("io_", "jo_", "ib_", "ji_", "ii_")))
        yield Distribute(f"{first}.ii_")
        yield Vectorize(f"{main}.ii_", lanes)
        yield Unroll(f"{first}.ib_")
        yield Unroll(f"{first}.ji_")
        if is_row:
            yield Transpose(f"{main}.ii_v", f"{main}.ji_")
        return
    yield Split(f"{first}.{owner[0]}", shape[0], ("io_", "ii_"))
    yield Split(f"{first}.{owner[1]}", shape[1], ("jo_", "ji_"))
    yield Reorder(tuple(f"{first}.{name}" for name in ("jo_", "io_", step, "ii_", "ji_")))
    yield Distribute(f"{first}.ji_")
    yield Distribute(f"{first}.ii_")
    yield Vectorize(f"{main}.ji_", lanes)
    yield Unroll(f"{main}.ii_")
    yield Unroll(f"{main}.ji_")


def _embedded(
    name: str, own: tuple[str, ...], rows: tuple[_Row, ...]
) -> tuple[list[Step], list[str]]:
    """Return the steps that give a statement three loops with given values, and their names."""
    steps: list[Step] = []
    current = {loop: loop for loop in own}
    taken: set[str] = set()
    order: list[str] = []
    for number, row in enumerate(rows):
        if row.loop is not None and row.loop not in taken:
            taken.add(row.loop)
            order.append(row.loop)
            continue
        zero = f"at{number}_"
        last = own[-1]
        again = f"{last}{number}_"
        steps.append(Split(f"{name}.{current[last]}", 1, (again, zero)))
        current[last] = again
        steps += [
            Skew(f"{name}.{zero}", f"{name}.{current[loop]}", coefficient)
            for loop, coefficient in row.coefficients
        ]
        if row.constant:
            steps.append(Shift(f"{name}.{zero}", row.constant))
        order.append(zero)
    names = [current.get(loop, loop) for loop in order]
    steps.append(Reorder(tuple(f"{name}.{loop}" for loop in names)))
    return steps, names
