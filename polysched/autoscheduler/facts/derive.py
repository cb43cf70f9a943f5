"""Derive the facts of a statement from a program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

import islpy as isl

from polysched.autoscheduler.facts.data_bounds import trimmed_trips
from polysched.autoscheduler.facts.instance_count import instance_count
from polysched.autoscheduler.facts.operations import count_operations, element_bits
from polysched.autoscheduler.facts.statement import AccessFacts, LoopFacts, StatementFacts
from polysched.autoscheduler.facts.subscripts import (
    Change,
    Floor,
    Form,
    add_change,
    indices_by_loop,
    slopes_of,
    subscript_by_loop,
)
from polysched.errors import PolyschedError
from polysched.ir.core.kernel import Access, Array, Role, Statement
from polysched.ir.core.strides import concrete_strides
from polysched.ir.core.tree import Loop, LoopKind, path
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.isl.shared_results import remembered
from polysched.ir.semantics.memory import concrete_shape
from polysched.ir.semantics.points import with_parameters
from polysched.schedule.core.program import Program, prefix_map
from polysched.vector.passes.lookup import is_lookup

SAMPLES = 8
"""Iterations at which trip counts are taken where the middle one is not the average."""
INSTANCES_ALIKE = 1.02
"""Largest factor between two estimates at which trip counts stay: they are mostly exact then."""
INSTANCES_OFF = 1.5
"""Factor between the product of the trip counts and the instances that is still accepted."""


def statement_facts(program: Program, name: str, sizes: Mapping[str, int]) -> StatementFacts:
    """Derive the facts of a statement from a program.

    A loop whose values isl cannot invert, and an access that is not affine, get strides of None.
    """
    around = path(program.tree, name)
    statement = program.statements[name]
    arrays = (program.arrays[access.array] for access in statement.accesses)
    values = (loop.values[name] for loop in around)
    return remembered(
        partial(_derived, program, name, around, sizes),
        statement_facts,
        (program.kernel, statement, sizes, *arrays, *values),
        tuple(
            (loop.name, loop.kind, loop.lanes, loop.transposition, loop.instruction)
            for loop in around
        ),
    )


def _derived(
    program: Program, name: str, around: tuple[Loop, ...], sizes: Mapping[str, int]
) -> StatementFacts:
    statement = program.statements[name]
    times = prefix_map(statement, around, [])
    reached = times.range()
    names = tuple(loop.name for loop in around)
    indices = indices_by_loop(statement, times, names)
    trips = trimmed_trips(statement, around, indices, _trips(times, statement, sizes))
    linked = _linked(reached, names, indices)
    loops = tuple(
        LoopFacts(
            loop.name,
            trip,
            loop.kind,
            loop.lanes,
            least(reached, position),
            linked[loop.name],
            reached.get_stride(position).to_python(),
            least(reached, position) is not None and greatest(reached, position) is not None,
            partial=_partial(reached, position, trip) if loop.kind is LoopKind.UNROLLED else 0.0,
            is_transposed=loop.transposition is not None,
        )
        for position, (loop, trip) in enumerate(zip(around, trips, strict=True))
    )
    accesses = tuple(
        _access_facts(
            program.arrays[access.array],
            access,
            [
                subscript_by_loop(statement, access, dimension, times, indices, names)
                for dimension in range(len(access.subscripts))
            ],
            sizes,
            position == 0,
        )
        for position, access in enumerate(statement.accesses)
    )
    facts = StatementFacts(
        name,
        loops,
        accesses,
        count_operations(statement, fp_contract=program.kernel.fp_contract),
        element_bits(program, statement),
        any(access == statement.target for access in statement.reads),
    )
    for loop in around:
        mark = loop.instruction
        if mark is not None and not mark.is_tile and loop.kind is not LoopKind.VECTOR:
            facts = facts.grouped(loop.name, program.instructions[mark.instruction][0])
    return facts


def _trips(times: isl.Map, statement: Statement, sizes: Mapping[str, int]) -> list[float]:
    """Return the average trip count of each loop.

    The middle iteration of a triangular nest has the average trip count, but the middle tile of a
    skewed band may be a partial one: then the trip counts do not make the number of instances, and
    other iterations are looked at too.
    """
    reached = with_parameters(times.range(), sizes)
    middle = _walk(reached, 0)
    instances = remembered(
        partial(instance_count, statement.domain, sizes), instance_count, (statement.domain, sizes)
    )
    share = math.prod(middle) / instances
    if 1 / INSTANCES_ALIKE < share < INSTANCES_ALIKE:
        return middle
    if 1 / INSTANCES_OFF < share < INSTANCES_OFF:
        if len(middle) > len(statement.indices):
            # Partial vectors and tiles cost more than their instances, but nothing costs less.
            share = min(1.0, share)
        longest = middle.index(max(middle)) if middle else 0
        return [trip / share if at == longest else trip for at, trip in enumerate(middle)]
    walks = [middle, *(_walk(reached, number) for number in range(1, SAMPLES))]
    trips = []
    for position in range(len(middle)):
        outside = sum(math.prod(walk[:position]) for walk in walks)
        trips.append(sum(math.prod(walk[: position + 1]) for walk in walks) / outside)
    # The remaining factor belongs to the loop whose trip count varies most.
    spreads = [max(walk[at] for walk in walks) / trips[at] for at in range(len(trips))]
    widest = spreads.index(max(spreads))
    trips[widest] = max(1.0, trips[widest] * instances / math.prod(trips))
    return trips


def _walk(reached: isl.Set, number: int) -> list[float]:
    """Return the trip count of each loop in one iteration of the loops around it.

    Walk 0 takes the middle iteration, the others iterations spread over the range.
    """
    trips = []
    for position in range(reached.dim(isl.dim_type.set)):
        low, high = least(reached, position), greatest(reached, position)
        if low is None or high is None:
            trips.append(1.0)
            continue
        trips.append(float(high - low + 1))
        part = 0.5 if number == 0 else (number * 0.618 + position * 0.414) % 1.0
        chosen = reached.fix_val(
            isl.dim_type.set, position, isl.Val(low + int((high - low) * part))
        )
        if not chosen.is_empty():
            reached = chosen
    return trips


def _partial(reached: isl.Set, position: int, trip: float) -> float:
    """Return the part of the visits of a loop that is written out in which not all copies run.

    On average half of the copies run in these.
    """
    low, high = least(reached, position), greatest(reached, position)
    if low is None or high is None:
        return 0.0
    return max(0.0, min(1.0, 2.0 * (1.0 - trip / (high - low + 1))))


def _linked(
    reached: isl.Set, loops: tuple[str, ...], indices: Mapping[str, Form]
) -> dict[str, frozenset[str]]:
    """Return the loops that share a bound with each loop, except the parts of one split."""
    together = [set(form[0]) for form in indices.values() if form[0] is not None]
    found: dict[str, set[str]] = {name: set() for name in loops}
    for part in reached.get_basic_sets():
        for constraint in part.get_constraints():
            inside = [
                name
                for position, name in enumerate(loops)
                if constraint.involves_dims(isl.dim_type.set, position, 1)
            ]
            for first in inside:
                for second in inside:
                    if first != second and not any({first, second} <= pair for pair in together):
                        found[first].add(second)
    return {name: frozenset(others) for name, others in found.items()}


def _access_facts(
    array: Array,
    access: Access,
    subscripts: Sequence[tuple[Change, int]],
    sizes: Mapping[str, int],
    is_write: bool,
) -> AccessFacts:
    strides: Change = {}
    offset = 0
    for (changes, constant), step in zip(subscripts, _steps(array, sizes), strict=True):
        offset += constant * step
        for loop, change in changes.items():
            add_change(strides, loop, None if change is None else change * step)
    known = {atom: stride for atom, stride in strides.items() if stride is not None}
    average = dict.fromkeys(x for x in strides if x not in known and isinstance(x, str))
    whole = {**average, **{x: _whole(s) for x, s in slopes_of(known).items() if x not in average}}
    return AccessFacts(
        array.name,
        is_write,
        max(1, array.dtype.bits // 8),
        {loop: stride for loop, stride in whole.items() if stride != 0},
        offset,
        array.role is not Role.TEMPORARY,
        is_shuffled=any(isinstance(atom, Floor) and stride for atom, stride in known.items()),
        born_in=frozenset(
            loop
            for changes, _ in subscripts[: array.tile]
            for loop in changes
            if isinstance(loop, str)
        ),
        is_lookup=is_lookup(array, access.subscripts),
        is_guarded=array.guarded,
    )


def _whole(stride: Fraction) -> int | None:
    return None if stride.denominator != 1 else stride.numerator


def _steps(array: Array, sizes: Mapping[str, int]) -> list[int]:
    """Return the distance in bytes between consecutive indices of each dimension.

    The dimensions that only number the tiles of a buffer take no memory: their distance is 0.
    """
    width = max(1, array.dtype.bits // 8)
    try:
        shape = concrete_shape(array.stored_shape, sizes)
        steps = concrete_strides(array, shape, sizes)
    except PolyschedError:  # an extent that is a minimum or maximum of loops
        steps = (0,) * (len(array.stored_shape) - 1) + (1,)
    return [*[0] * array.tile, *(step * width for step in steps)]
