"""Time tiling: sweeps of one outer loop over the same arrays, several of them in flight per tile.

The loops inside the time loop are aligned, fused and skewed until they form a permutable band with
it; then the band is tiled. A tile runs several sweeps over data that stay in a cache. The vector
loop is left out of the band, unless it is the only loop inside the time loop.

Source: Wonnacott, "Achieving scalable locality with time skewing" (IJPP 2002); pinning the vector
loop keeps its accesses contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from polysched.autoscheduler.cost.statement import statement_cost
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.operations import element_bits
from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.autoscheduler.forms.alignment import Alignment, aligned
from polysched.autoscheduler.forms.candidate import Decision
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import fresh_names, outer_nests
from polysched.ir.core.tree import Leaf, Loop, LoopKind, nest_depth, parts, path
from polysched.legality.checks.order import demanded
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.tile import Tile
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

SWEEPS = (4, 8, 16, 32, 64)
"""Iterations of the time loop in a tile."""
WIDTHS = (8, 16, 32, 64, 128)
"""Iterations of a loop over space in a tile."""
LINE_WIDTHS = (512, 1024, 2048, 4096)
"""The same for the only loop over space, whose iterations are lanes."""
LINE_LENGTH = 4e6
"""Iterations of that loop at least, for which its tiles are chosen."""
MORE_VECTORS = 2
"""Vectors by which skew factors may exceed the least multiple of the lanes."""
ROWS = (4, 2)
"""Neighboring iterations whose statements run together, so that registers share what they read."""
LARGEST_BAND = 3
"""Loops of a band, the time loop included."""


@dataclass(frozen=True, eq=False)
class _Band:
    """Permutable loops of a schedule, outermost first, and the steps that made them so.

    Attributes:
        statement: the first statement below; with it the loops are found by name.
    """

    schedule: Schedule
    steps: tuple[Step, ...]
    statement: str
    loops: tuple[str, ...]

    def found(self) -> tuple[Loop, ...]:
        """The loops in the schedule's tree."""
        around = path(self.schedule.program.tree, self.statement)
        return tuple(loop for loop in around if loop.name in self.loops)

    def references(self) -> tuple[str, ...]:
        """The unambiguous names of the loops."""
        return tuple(f"{self.statement}.{name}" for name in self.loops)


def time_tiled(
    schedule: Schedule, machine: Machine, sizes: Mapping[str, int]
) -> Iterator[tuple[Schedule, Decision]]:
    """Yield schedules in which one time loop is tiled together with the loops inside it."""
    for nest in outer_nests(schedule.program.tree):
        for time in nest.chain:
            if not _is_time_loop(schedule.program, time, sizes):
                continue
            for band in _bands(schedule, time, machine):
                tiled = _tiled(band, machine, sizes)
                if tiled is not None:
                    yield tiled
            break


def _is_time_loop(program: Program, loop: Loop, sizes: Mapping[str, int]) -> bool:
    """Whether each iteration of a loop writes the same arrays again, and every statement does.

    The taps of a filter do so too, but are too few for tiles. Tiles of loops with a stride, such as
    the colors of a red-black relaxation, run half empty vectors.
    """
    if not loop.is_plain or isinstance(loop.body, Leaf):
        return False
    facts = [statement_facts(program, name, sizes) for name in loop.statements]
    return all(
        statement.target.stride(loop.name) == 0
        and statement.loop(loop.name).trip >= 2 * SWEEPS[0]
        and all(inner.stride == 1 for inner in statement.loops)
        for statement in facts
    )


def _bands(schedule: Schedule, time: Loop, machine: Machine) -> Iterator[_Band]:
    """Yield permutable bands that begin with a time loop, each one loop longer."""
    band = _Band(schedule, (), time.statements[0], (time.name,))
    while len(band.loops) < LARGEST_BAND:
        outer = band.found()
        if _members(outer[-1]) is None:
            return
        band = _of_equal_depth(band, outer[-1])
        outer = band.found()
        members = _members(outer[-1])
        if members is None:
            return
        is_innermost = any(
            isinstance(part, Leaf) for member in members for part in parts(member.body)
        )
        if is_innermost and len(band.loops) > 1:
            return
        lanes = _lanes(band.schedule.program, time, machine) if is_innermost else 1
        longer = _with_aligned(band, outer, members, lanes)
        if longer is None:
            return
        band = longer
        yield band


def _lanes(program: Program, loop: Loop, machine: Machine) -> int:
    """Return the lanes that fit a vector for every statement in a loop."""
    bits = max(element_bits(program, program.statements[name]) for name in loop.statements)
    return max(1, machine.vector_bits // bits)


def _members(loop: Loop) -> tuple[Loop, ...] | None:
    """Return the loops directly inside a loop; None if its body has other nodes too."""
    children = parts(loop.body)
    loops = tuple(child for child in children if isinstance(child, Loop) and child.is_plain)
    return loops if len(loops) == len(children) else None


def _of_equal_depth(band: _Band, loop: Loop) -> _Band:
    """Put loops of one iteration around the shallower nests inside a loop of a band.

    A boundary statement, such as ``e[0][j] = f[t]`` beside nests of two loops, can then be fused
    with them: in the iteration to which the alignment shifts it.
    """
    members = _members(loop) or ()
    deepest = max(map(nest_depth, members))
    steps: list[Step] = []
    for member in members:
        if nest_depth(member) < deepest:
            name = f"{member.statements[0]}.{member.name}"
            around = path(band.schedule.program.tree, member.statements[0])
            once, inside = fresh_names(band.schedule.program, around[0], "once", member.name)
            first = f"{member.statements[0]}.{once}"
            steps += [
                Split(name, 1, (inside, once)),
                Reorder((first, f"{member.statements[0]}.{inside}")),
            ]
    schedule = applied(band.schedule, steps)
    if not steps or schedule is None:
        return band
    return _Band(schedule, (*band.steps, *steps), band.statement, band.loops)


def _with_aligned(
    band: _Band, outer: tuple[Loop, ...], members: tuple[Loop, ...], lanes: int
) -> _Band | None:
    """Add the loops inside a band to it, aligned and fused to one.

    Shifts and skew factors are multiples of ``lanes`` if that is legal, so that the vectors of all
    sweeps begin at the same elements of a line.
    """
    program = band.schedule.program
    around = path(program.tree, band.statement)
    around = around[: around.index(outer[0])]
    alignment = aligned(program.statements, demanded(program.dependences), around, outer, members)
    if alignment is None:
        return None
    names = [f"{member.statements[0]}.{member.name}" for member in members]
    outer_names = [f"{band.statement}.{loop.name}" for loop in outer]
    for shifts, factors in _whole_vectors(alignment, lanes):
        steps: list[Step] = [
            Shift(name, shift) for name, shift in zip(names, shifts, strict=True) if shift
        ]
        steps += [Fuse(names[0], name) for name in names[1:]]
        steps += [
            Skew(names[0], name, factor)
            for name, factor in zip(outer_names, factors, strict=True)
            if factor
        ]
        schedule = applied(band.schedule, steps)
        if schedule is not None and _is_permutable(schedule, (*outer_names, names[0])):
            loops = (*band.loops, members[0].name)
            return _Band(schedule, (*band.steps, *steps), band.statement, loops)
    return None


def _is_permutable(schedule: Schedule, band: tuple[str, ...]) -> bool:
    """Whether the innermost loop of a band may become the outermost."""
    rotated = applied(schedule, (Reorder((band[-1], *band[:-1])),))
    return rotated is not None and keeps_order(rotated.program, rotated.program.statements)


def _whole_vectors(
    alignment: Alignment, lanes: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield shifts and factors that are multiples of the lanes, small ones first, then the least.

    A longer shift may need a larger factor than the next multiple.
    """
    if lanes > 1:
        shifts = tuple(-(-shift // lanes) * lanes for shift in alignment.shifts)
        for more in range(MORE_VECTORS + 1):
            yield (
                shifts,
                tuple(
                    (-(-factor // lanes) + more) * lanes if factor else 0
                    for factor in alignment.factors
                ),
            )
    yield alignment.shifts, alignment.factors


def _tiled(
    band: _Band, machine: Machine, sizes: Mapping[str, int]
) -> tuple[Schedule, Decision] | None:
    """Tile a band with the cheapest factors."""
    program = band.schedule.program
    loops = band.found()
    statements = loops[0].statements
    facts = [statement_facts(program, name, sizes) for name in statements]
    factors, cycles = _factors(facts, band.loops, machine)
    names = fresh_names(program, loops[0], *(f"{name}{end}" for end in "oi" for name in band.loops))
    outer, inner = names[: len(loops)], names[len(loops) :]
    tile = Tile(band.references(), factors, outer, inner)
    tiles = " by ".join(map(str, factors))
    reason = (
        f"{factors[0]} iterations of {band.loops[0]} are in flight at once: tiles of {tiles} "
        f"iterations of {', '.join(band.loops)} keep what they touch in a cache; predicted "
        f"{cycles:.3g} cycles"
    )
    for extra in _shared_rows(band, inner, facts):
        steps = (*band.steps, tile, *extra)
        schedule = applied(band.schedule, (tile, *extra))
        if schedule is not None and keeps_order(schedule.program, statements):
            return schedule, Decision(steps, statements, reason)
    return None


def _factors(
    facts: list[StatementFacts], band: tuple[str, ...], machine: Machine
) -> tuple[tuple[int, ...], float]:
    """Return the tile factors with the least predicted cycles, and these."""
    widths: tuple[int, ...] = WIDTHS
    if all(statement.loops[-1].name == band[-1] for statement in facts):
        widths = LINE_WIDTHS
        facts = [_of_length(statement, band[-1]) for statement in facts]
    choices = product(SWEEPS, *[widths] * (len(band) - 1))
    costs = [
        (sum(_cycles(statement, band, factors, machine) for statement in facts), factors)
        for factors in choices
    ]
    cycles, factors = min(costs)
    return factors, cycles


def _of_length(facts: StatementFacts, line: str) -> StatementFacts:
    """The facts with a line that exceeds the caches: a shorter one needs no tiles."""
    loops = tuple(
        replace(loop, trip=max(loop.trip, LINE_LENGTH)) if loop.name == line else loop
        for loop in facts.loops
    )
    return replace(facts, loops=loops)


def _cycles(
    facts: StatementFacts, band: tuple[str, ...], factors: tuple[int, ...], machine: Machine
) -> float:
    """Predict the cycles of a statement in tiles, its innermost loop on vectors."""
    names = [loop.name for loop in facts.loops]
    at = names.index(band[0])
    rest = [name for name in names[at:] if name not in band]
    tiles, points = [f"{name}<" for name in band], [f"{name}>" for name in band]
    for name, factor, tile, point in zip(band, factors, tiles, points, strict=True):
        facts = facts.split(name, factor, tile, point)
    facts = facts.ordered([*names[:at], *tiles, *points, *rest])
    lanes = max(1, machine.vector_bits // facts.element_bits)
    facts = facts.split(facts.loops[-1].name, lanes, "vectors", "lanes")
    return statement_cost(facts.marked("lanes", LoopKind.VECTOR, lanes), machine).cycles


def _shared_rows(
    band: _Band, inner: tuple[str, ...], facts: list[StatementFacts]
) -> Iterator[tuple[Step, ...]]:
    """Yield steps that run each statement over several rows of a tile; at last none."""
    last = f"{band.statement}.{inner[-1]}"
    is_line = all(statement.loops[-1].name == band.loops[-1] for statement in facts)
    several = len(facts) > 1
    if is_line:
        if several:
            yield (Distribute(last),)
        yield ()
        return
    first = f"{band.statement}.{inner[1]}"
    program = band.schedule.program
    chunk, rows = fresh_names(program, band.found()[0], f"{inner[1]}b", f"{inner[1]}u")
    for count in ROWS:
        steps: list[Step] = [Split(first, count, (chunk, rows))]
        if len(inner) > 2:
            order = (chunk, *inner[2:], rows)
            steps.append(Reorder(tuple(f"{band.statement}.{name}" for name in order)))
        if several:
            steps.append(Distribute(f"{band.statement}.{rows}"))
        yield tuple(steps)
    yield ()
