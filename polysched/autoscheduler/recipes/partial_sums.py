"""Vectorize sums along their own loop: each lane adds a part, and the parts are combined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from polysched.autoscheduler.cost.program import shared_facts
from polysched.autoscheduler.cost.statement import Cost, statement_cost
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.autoscheduler.facts.term_groups import term_groups
from polysched.autoscheduler.forms.candidate import LEAST_GAIN, Proposal, Situation
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.autoscheduler.recipes.plan import Plan
from polysched.autoscheduler.recipes.steady_start import starts_at_one_value, steady_start
from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Order
from polysched.ir.core.tree import LoopKind, path
from polysched.schedule.core.program import Program, largest_extent
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.tensorize import Tensorize
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import LARGEST_LANES, Vectorize
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

SHAPES = ((8, 1), (4, 2), (4, 1), (1, 8), (1, 4), (1, 1))
"""Sums that advance together, and vectors of parts for each.

Sums that advance together share loads. Both forms overlap the chains of additions. Measured on Zen
4 with a dot product of 4000 floats: eight or four vectors take 0.17 us, one takes 0.25 us.
"""
FOLDED_LANES = 4
"""Lanes of a vector of parts that are added one by one; longer vectors are folded to as many first.

Measured on Zen 4 with 16 lanes: three sums along each of 1000 rows of 256 floats, a row at a time,
take 26.6 us without the second folding and 24.1 us with it.
"""
LARGEST_UNROLLED_COPY = 64
"""Largest trip count for which the loops that start and combine the parts are unrolled."""


def partial_sums(situation: Situation) -> Iterator[Proposal]:
    """Propose lanes along the innermost loop of free reductions, the most rows first."""
    nest, program = situation.nest, situation.schedule.program
    if not (nest.is_plain and nest.has_leaves):
        return
    names = nest.statements
    reductions = [program.statements[name].reduction for name in names]
    if not all(reduction is not None and reduction.order is Order.ANY for reduction in reductions):
        return
    several = [statement_facts(program, name, situation.sizes) for name in names]
    lanes = min(
        LARGEST_LANES,
        situation.machine.vector_bits // max(facts_.element_bits for facts_ in several),
    )
    if len(several) == 1:
        yield from _grouped(situation, several[0])
    for loop in reversed(nest.chain):
        if all(facts.is_sum_along(loop.name) for facts in several):
            skewed = steady_start(program, names[0], loop.name)
            after = applied(situation.schedule, skewed) if skewed else None
            steady = shared_facts((after or situation.schedule).program, names[0], situation.sizes)
            made = partial(
                _proposal, situation, steady, loop.name, lanes, skewed=skewed if after else ()
            )
            # Rows that start at different columns share no loads.
            shapes = [shape for shape in SHAPES if shape[0] == 1 or not skewed]
            costs = {
                shape: _parts_cost(situation, steady, loop.name, lanes, shape) for shape in shapes
            }
            yield from _promising(situation, costs, made)


def _promising(
    situation: Situation,
    costs: Mapping[tuple[int, int], Cost],
    made: Callable[[tuple[int, int]], Proposal | None],
) -> Iterator[Proposal]:
    """Yield legal proposals: each with a cheaper body, and one that waits less for the caches."""
    body = total = math.inf
    others: list[tuple[float, tuple[int, int]]] = []
    for shape, cost in costs.items():
        if not situation.may_gain(cost.compute):
            continue
        if cost.compute >= body:
            others.append((cost.cycles, shape))
        elif (proposal := made(shape)) is not None:
            body, total = cost.compute, min(total, cost.cycles)
            yield proposal
    cycles, shape = min(others, default=(math.inf, (1, 1)))
    if cycles < LEAST_GAIN * total and (proposal := made(shape)) is not None:
        yield proposal


def _grouped(situation: Situation, facts: StatementFacts) -> Iterator[Proposal]:
    """Propose lanes of parts to which one instruction adds several terms each."""
    chain = [loop.name for loop in situation.nest.chain]
    for group in term_groups(situation.schedule.program, facts, situation.machine):
        loop, form = group.loop, group.form
        if loop in chain and facts.is_sum_along(loop):
            groups = facts.split(loop, form.terms, loop, "term").grouped("term", form)
            for shape in SHAPES:
                cost = _parts_cost(situation, groups, loop, form.lanes, shape)
                if situation.may_gain(cost.compute):
                    proposal = _proposal(situation, facts, loop, form.lanes, shape, (), form)
                    if proposal is not None:
                        yield proposal


def _parts_cost(
    situation: Situation, facts: StatementFacts, along: str, lanes: int, shape: tuple[int, int]
) -> Cost:
    """Return the cost of the parts alone, without starting and adding them."""
    chain = [loop.name for loop in situation.nest.chain]
    order = [loop for loop in chain if loop != along]
    rows = [loop for loop in order if facts.target.stride(loop) != 0][-1:] if shape[0] > 1 else []
    plan = Plan((*order, along), along, lanes, shape[1], tuple((row, shape[0]) for row in rows))
    parts = plan.facts(facts)
    size = facts.target.bytes
    accesses = tuple(
        replace(access, strides={**access.strides, "vectors": size * lanes, "lanes": size})
        if before.runs_with(facts.target)
        else access
        for before, access in zip(facts.accesses, parts.accesses, strict=True)
    )
    return statement_cost(replace(parts, accesses=accesses), situation.machine)


def _proposal(
    situation: Situation,
    facts: StatementFacts,
    along: str,
    lanes: int,
    shape: tuple[int, int],
    skewed: tuple[Step, ...],
    form: Instruction | None = None,
) -> Proposal | None:
    """Return the proposal for a loop; None if it is illegal, or the nest too small for the shape.

    ``skewed`` makes the loop start at one value, and ``facts`` of the first statement hold after
    it. The instruction ``form`` adds consecutive terms to each lane.

    After splitting and :class:`Rfactor`, a loop over the lanes stands around the starts of the
    parts and the sums. It is distributed, and moved inside the sums, where lanes and rows are
    written out.
    """
    nest, program = situation.nest, situation.schedule.program
    names, (rows, vectors) = nest.statements, shape
    name = names[0]
    chain = [loop.name for loop in nest.chain]
    outer_loops = [loop for loop in chain if loop != along and facts.target.stride(loop) != 0]
    row = outer_loops[-1] if outer_loops else None
    if rows > 1 and (row is None or facts.loop(row).trip < rows):
        return None
    terms = form.terms if form else 1
    if facts.loop(along).trip < lanes * vectors * terms:
        return None
    loop_names = [f"{along}o", "lane", *([f"{row}o", f"{row}i"] if rows > 1 else [])]
    outer, lane, *row_names = fresh_names(program, nest.chain[0], *loop_names)
    shifted = [along, *([row] if rows > 1 and row else [])]
    steps: list[Step] = [
        *skewed,
        *(Shift(f"{name}.{loop}", -start) for loop in shifted if (start := facts.loop(loop).start)),
        *_lane_splits(name, along, lanes * vectors, (outer, lane), terms),
    ]
    inmost = (f"{lane}_term",) if form else ()
    order = [loop for loop in chain if loop != along]
    inside: list[str] = []
    if row_names:
        steps.append(Split(f"{name}.{row}", rows, (row_names[0], row_names[1])))
        order[order.index(row or "")] = row_names[0]
        inside.append(row_names[1])
    first = f"{name}_init"
    steps.append(_reordered(name, (*order, lane, outer, *inside, *inmost)))
    for each in nest.statements:
        kept = (*_dimensions(program, each), f"each_{lane}")
        steps.append(Rfactor(each, lane, None, kept))
    steps += [
        Distribute(f"{name}.{lane}", first),
        _reordered(name, (outer, *inside, lane, *inmost)),
        Vectorize(f"{first}.{lane}", lanes),
        Vectorize(f"{name}.{lane}", lanes),
    ]
    unrolled = [f"{name}.{loop}" for loop in (*inside, lane, *inmost)] + [f"{first}.{lane}"]
    steps += [*map(Unroll, unrolled), *([Tensorize(f"{name}.{lane}v", form.name)] if form else [])]
    copies = [f"{each}_init" for each in nest.statements]
    # isl may take a minute for the shorter vectors of sums whose start depends on other loops.
    is_steady = not skewed and starts_at_one_value(program, name, along)
    widths = (lanes, FOLDED_LANES) if is_steady and lanes > FOLDED_LANES else (lanes,)
    for each in nest.statements:
        combine, parts_loop = f"{each}_combine", f"each_{lane}"
        copies.append(combine)
        if rows > 1 and vectors == 1:
            after = applied(situation.schedule, steps)
            steps += _rows_in_lanes(after, combine, parts_loop, rows, situation)
            unrolled.append(f"{combine}.{parts_loop}")
            continue
        for width, number, last in _foldings(situation, widths, lanes * vectors):
            folded = f"{each}_by_{width}"
            steps += _folded(program, each, combine, parts_loop, width, (number, last), folded)
            unrolled.append(f"{combine}.{number}")
            combine, parts_loop = f"{folded}_combine", f"each_{last}"
            copies.append(combine)
    after = applied(situation.schedule, steps)
    if after is None or not keeps_order(after.program, (*names, *copies)):
        return None
    steps += _short_loops(after, tuple(copies), len(nest.around), unrolled)
    together = f"{rows} sums at a time, " if rows > 1 else ""
    parts = f"{vectors} vectors" if vectors > 1 else "a vector"
    sums = "the sum" if len(nest.statements) == 1 else f"{len(nest.statements)} sums"
    by = f" by {form.name}" if form else ""
    return Proposal(
        tuple(steps),
        f"{sums} along {along} added up{by} in {parts} of {lanes} lanes, {together}since the order "
        "is free",
    )


def _lane_splits(
    name: str, along: str, parts: int, into: tuple[str, str], terms: int
) -> tuple[Step, ...]:
    """Return the steps that cut a loop into parts, to each of which terms are added together."""
    outer, lane = into
    if terms == 1:
        return (Split(f"{name}.{along}", parts, into),)
    return (
        Split(f"{name}.{along}", parts * terms, (outer, f"{lane}_terms")),
        Split(f"{name}.{lane}_terms", terms, (lane, f"{lane}_term")),
    )


def _foldings(
    situation: Situation, widths: tuple[int, ...], parts: int
) -> Iterator[tuple[int, str, str]]:
    """Yield the widths to which the parts of a sum are folded, and names for the two loops."""
    for width in widths:
        if width < parts:
            names = (f"piece_{width}", f"lane_{width}")
            number, last = fresh_names(situation.schedule.program, situation.nest.chain[0], *names)
            yield width, number, last


def _folded(
    program: Program,
    statement: str,
    combine: str,
    parts: str,
    width: int,
    names: tuple[str, str],
    into: str,
) -> list[Step]:
    """Return the steps that add the pieces of a vector of parts to one piece of some lanes."""
    number, last = names
    return [
        Split(f"{combine}.{parts}", width, (number, last)),
        _reordered(combine, (last, number)),
        Rfactor(combine, last, into, (*_dimensions(program, statement), f"each_{last}")),
        Vectorize(f"{combine}.{last}", width),
        Unroll(f"{combine}.{number}"),
    ]


def _rows_in_lanes(
    schedule: Schedule | None, combine: str, each: str, rows: int, situation: Situation
) -> tuple[Step, ...]:
    """Return the steps that combine the parts of all rows at once, transposed in registers.

    Adding the lanes of one row takes as many dependent scalar operations as there are lanes. With a
    row in each lane the same number of vector operations serves all rows.
    """
    if schedule is None:
        return ()
    program = schedule.program
    around = path(program.tree, combine)
    names = [loop.name for loop in around]
    own = around[names.index(each) - 1 :] if each in names else ()
    if len(own) != 2 or largest_extent(program, own[0]) != rows:
        return ()
    row = own[0].name
    target = statement_facts(program, combine, situation.sizes).target
    if target.stride(row) != target.bytes:
        return ()
    return (
        _reordered(combine, (each, row)),
        Vectorize(f"{combine}.{row}", rows, f"{row}v"),
        Unroll(f"{combine}.{each}"),
        Transpose(f"{combine}.{row}v", f"{combine}.{each}"),
    )


def _reordered(statement: str, order: tuple[str, ...]) -> Reorder:
    return Reorder(tuple(f"{statement}.{loop}" for loop in order))


def _dimensions(program: Program, statement: str) -> tuple[str, ...]:
    array = program.arrays[program.statements[statement].target.array]
    return array.dimensions[array.tile :]


def _short_loops(
    schedule: Schedule, statements: tuple[str, ...], depth: int, done: list[str]
) -> Iterator[Step]:
    """Yield steps that unroll the loops of the copies that are short and not shared."""
    program = schedule.program
    for statement in statements:
        copies = 1
        inside = path(program.tree, statement)[depth:]
        names = [loop.name for loop in inside]
        for loop in inside:
            is_own = len(loop.statements) == 1 and names.count(loop.name) == 1
            if loop.kind is not LoopKind.SEQUENTIAL or not is_own:
                continue
            extent = largest_extent(program, loop)
            if extent is not None and copies * extent <= LARGEST_UNROLLED_COPY:
                copies *= extent
                if f"{statement}.{loop.name}" not in done:
                    yield Unroll(f"{statement}.{loop.name}")
