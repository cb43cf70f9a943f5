"""Run whole iterations as lanes, in buffers that hold the elements of the lanes side by side.

In a recurrence along the rows of an array, lanes must lie across rows, where each access would be a
gather. A block of rows is copied into a buffer whose rows are columns; the copies transpose tiles
in registers. So is a transform of a few elements, such as an 8-point butterfly: written out for a
vector of rows, its values are whole vectors, and no operation is across lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import islpy as isl

from polysched.autoscheduler.cost.program import shared_facts
from polysched.autoscheduler.cost.statement import core_cost
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import NEAR_ITERATIONS, AccessFacts, StatementFacts
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.legal import applied
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.autoscheduler.forms.private_arrays import fresh_array, privatized
from polysched.autoscheduler.recipes.outer_lanes import from_zero, lanes_are_legal, vector_lanes
from polysched.autoscheduler.recipes.written_out import LARGEST_BODY, copies_of, loops_inside
from polysched.ir.core.kernel import access_relation
from polysched.ir.core.tree import LoopKind, path
from polysched.schedule.core.program import Program, prefix_map
from polysched.schedule.primitives.pack import Pack
from polysched.schedule.primitives.promote import Promote
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import LARGEST_LANES, Vectorize
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

VECTORS = (2, 1)
"""Vectors of whole iterations side by side: two chains of operations overlap.

Measured on Zen 4 with line solvers in doubles: 16 lanes of 8 divide at full rate.
"""


def lane_buffers(situation: Situation) -> Iterator[Proposal]:
    """Propose lanes along a loop whose iterations lie rows apart, with transposed buffers."""
    nest, program = situation.nest, situation.schedule.program
    if not nest.is_plain:
        return
    native = vector_lanes(situation)
    facts = [statement_facts(program, name, situation.sizes) for name in nest.statements]
    is_carried = _is_carried(program, facts)
    for loop in reversed(nest.chain):
        copies = copies_of(program, loop.body)
        is_transform = not nest.is_perfect and facts[0].loop(loop.name).trip >= native
        is_short = is_transform and copies is not None and copies <= LARGEST_BODY
        arrays = _rows_apart(program, facts, loop.name) if is_carried or is_short else {}
        if not arrays:
            continue
        written_out = tuple(dict.fromkeys(loops_inside(loop))) if is_short else ()
        for vectors in VECTORS:
            lanes = native * vectors
            if lanes > LARGEST_LANES:
                continue
            least = _least_cycles(situation, loop.name, arrays, lanes, is_short=is_short)
            if not situation.may_gain(least):
                continue
            steps = _steps(situation, loop.name, arrays, native, vectors)
            if steps is not None:
                inside = "are written out" if is_short else "carry dependences"
                yield Proposal(
                    (*steps, *map(Unroll, written_out)),
                    f"{lanes} lanes run whole iterations of {loop.name}: the loops "
                    f"inside {inside}; buffers hold the rows of {', '.join(arrays)} as "
                    "columns, which the copies transpose in registers",
                )


def _least_cycles(
    situation: Situation, loop: str, arrays: Iterable[str], lanes: int, *, is_short: bool
) -> float:
    """Return the cycles of the statements alone, without the copies, if all data are in L1.

    Args:
        is_short: whether the loops inside are written out.
    """
    nest, program = situation.nest, situation.schedule.program
    private = {
        program.statements[name].target.array
        for name in next(outer for outer in nest.chain if outer.name == loop).statements
    }
    before: dict[tuple[int, ...], list[StatementFacts]] = {}
    cycles = 0.0
    for name in nest.statements:
        facts = shared_facts(program, name, situation.sizes)
        if any(inner.name == loop for inner in facts.loops):
            inside = [loop.name for loop in facts.loops]
            for short in inside[inside.index(loop) + 1 :] if is_short else ():
                facts = facts.marked(short, LoopKind.UNROLLED)
            facts = facts.split(loop, lanes, f"{loop}<", "lanes")
            facts = facts.marked("lanes", LoopKind.VECTOR, lanes)
            accesses = (
                _side_by_side(access, lanes)
                if access.array in arrays
                or (
                    access.array in private
                    and not access.is_argument
                    and access.stride("lanes") == 0
                )
                else access
                for access in facts.accesses
            )
            # Partial tiles slow the statement down; a bound does not count them.
            loops = (replace(loop, bounded_by=frozenset()) for loop in facts.loops)
            facts = replace(facts, loops=tuple(loops), accesses=tuple(accesses))
        beside = before.setdefault(tuple(map(id, path(program.tree, name))), [])
        cycles += core_cost(facts, situation.machine, beside).compute
        beside.append(facts)
    return cycles


def _side_by_side(access: AccessFacts, lanes: int) -> AccessFacts:
    """Return an access to a buffer that holds the elements of the lanes side by side."""
    strides = {name: step and step * lanes for name, step in access.strides.items()}
    return replace(access, strides={**strides, "lanes": access.bytes}, offset=access.offset * lanes)


def _is_carried(program: Program, facts: Sequence[StatementFacts]) -> bool:
    """Whether an innermost loop carries a value from one iteration to a later one.

    Otherwise lanes may run along that loop, and need no buffers.
    """
    by_nest: dict[tuple[int, ...], list[StatementFacts]] = {}
    for statement in facts:
        by_nest.setdefault(tuple(map(id, path(program.tree, statement.name))), []).append(statement)
    return any(
        _hands_on(writer, reader, reader.loops[-1].name)
        for together in by_nest.values()
        for writer in together
        for reader in together
    )


def _hands_on(writer: StatementFacts, reader: StatementFacts, loop: str) -> bool:
    """Whether an iteration of a loop reads elements that an earlier iteration has written."""
    target = writer.target
    step = target.stride(loop)
    for access in reader.accesses[1:]:
        if step is None or not access.runs_with(target):
            continue
        if step == 0 and access.offset == target.offset:
            return True
        if step:
            distance, rest = divmod(target.offset - access.offset, step)
            if rest == 0 and 1 <= distance <= NEAR_ITERATIONS:
                return True
    return False


def _rows_apart(
    program: Program, facts: Sequence[StatementFacts], loop: str
) -> dict[str, tuple[int, int]]:
    """Return the arrays whose lanes access different rows: the dimensions of lanes and of the row.

    Arrays with other accesses are left out.
    """
    dimension_pairs: dict[str, set[tuple[int, int] | None]] = {}
    for own in facts:
        names = [other.name for other in own.loops]
        statement = program.statements[own.name]
        times = prefix_map(statement, path(program.tree, own.name), [])
        for access, declared in zip(own.accesses, statement.accesses, strict=True):
            stride = access.stride(loop)
            if stride == 0 or loop not in names:
                dimension_pairs.setdefault(access.array, set())
                continue
            is_near = stride is None or abs(stride) <= access.farthest
            if is_near or declared.is_data_dependent:
                dimension_pairs.setdefault(access.array, set()).add(None)
                continue
            moved = access_relation(statement, declared).apply_domain(times)
            along = _dimensions_along(moved, names.index(loop))
            last = len(program.arrays[access.array].dimensions) - 1
            pair = (along[0], last) if len(along) == 1 and along[0] != last else None
            dimension_pairs.setdefault(access.array, set()).add(pair)
    apart: dict[str, tuple[int, int]] = {}
    for array, pairs in dimension_pairs.items():
        if len(pairs) == 1 and (pair := next(iter(pairs))) is not None:
            apart[array] = pair
    return apart


def _dimensions_along(moved: isl.Map, position: int) -> list[int]:
    """Return the dimensions of an array whose subscripts depend on a loop."""
    functions = isl.PwMultiAff.from_map(moved)
    return [
        dimension
        for dimension in range(moved.dim(isl.dim_type.out))
        if any(
            function.involves_dims(isl.dim_type.in_, position, 1)
            for _, function in functions.get_pw_aff(dimension).get_pieces()
        )
    ]


def _steps(
    situation: Situation, loop: str, arrays: dict[str, tuple[int, int]], native: int, vectors: int
) -> tuple[Step, ...] | None:
    """Return the steps for one width; None if a step does not fit."""
    nest, program = situation.nest, situation.schedule.program
    lanes = native * vectors
    block, lane = fresh_names(program, nest.chain[0], f"{loop}b", f"{loop}l")
    below = set(next(inner for inner in nest.chain if inner.name == loop).statements)
    steps: list[Step] = [
        *from_zero(situation, loop),
        Split(nest.reference(loop), lanes, (block, lane)),
    ]
    schedule = applied(situation.schedule, steps)
    if schedule is None or not lanes_are_legal(schedule, nest.reference(lane), lanes, below):
        return None
    for array, (along, row) in arrays.items():
        buffered = _buffered(schedule, nest.reference(block), array, along, row, native, below)
        if buffered is None:
            return None
        schedule, buffer_steps = buffered
        steps += buffer_steps
    made = schedule.program.arrays.keys() - program.arrays.keys()
    steps += privatized(
        schedule, nest.reference(lane), below, "lanes", own=f"each_{lane}", shared=made
    )
    return (*steps, Vectorize(nest.reference(lane), lanes))


def _buffered(
    schedule: Schedule, block: str, array: str, along: int, row: int, native: int, below: set[str]
) -> tuple[Schedule, list[Step]] | None:
    """Copy the rows of an array that a block uses into a buffer whose rows are columns."""
    program = schedule.program
    dimensions = program.arrays[array].dimensions
    remaining = [name for at, name in enumerate(dimensions) if at not in (along, row)]
    order = (*remaining, dimensions[row], dimensions[along])
    into = fresh_array(program, f"{array}_lanes")
    is_written = any(program.statements[name].target.array == array for name in below)
    first: Step = (
        Promote(array, block, into=into, order=order)
        if is_written
        else Pack(array, block, order=order, into=into)
    )
    changed = applied(schedule, (first,))
    if changed is None:
        return None
    steps = [first]
    for copy in changed.program.statements:
        if copy in program.statements:
            continue
        column, lane = f"{copy}.{dimensions[row]}", f"{copy}.{dimensions[along]}"
        steps += [
            Unroll(column, native),
            Vectorize(lane, native),
            Reorder((lane, f"{column}i")),
            Transpose(f"{lane}v", f"{column}i"),
        ]
    schedule_after = applied(schedule, steps)
    return None if schedule_after is None else (schedule_after, steps)
