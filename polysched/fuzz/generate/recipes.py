"""Recipes: sequences of steps with one purpose, which independent random steps rarely form."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TypeAlias

from polysched.fuzz.generate.choosing import Choosing
from polysched.fuzz.generate.randomness import chance, choose
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import TransposeStrategy
from polysched.schedule.primitives.compute_at import ComputeAt
from polysched.schedule.primitives.pack import Pack
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.prefetch import Prefetch
from polysched.schedule.primitives.promote import Promote
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.stream import Stream
from polysched.schedule.primitives.tile import Tile
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.table import Step


def random_recipe(choosing: Choosing) -> tuple[Step, ...]:
    """Generate steps to apply one after the other; the caller skips steps that do not apply."""
    return choose(choosing.integers, list(RECIPES.values()))(choosing)


def _register_tile(choosing: Choosing) -> tuple[Step, ...]:
    """Register tile: rows of vectors, perhaps transposed, with a promoted or packed operand."""
    outer, inner = choosing.two()
    statement = outer.partition(".")[0]
    lanes = choose(choosing.integers, choosing.lanes)
    rows = choose(choosing.integers, [lanes, 2, 3, 4])
    tiles = choosing.name("to"), choosing.name("ti")
    points = choosing.name("ro"), choosing.name("ri")
    steps: list[Step] = [Tile((outer, inner), (rows, lanes), tiles, points)]
    unrolled, vector = points[::-1] if chance(choosing.integers, 1, 3) else points
    steps += [Vectorize(f"{statement}.{vector}", lanes, choosing.name("tv"))]
    steps += [Unroll(f"{statement}.{unrolled}")]
    if chance(choosing.integers, 1, 2):
        strategy = choose(choosing.integers, [option.value for option in TransposeStrategy])
        across = f"{statement}.{unrolled}"
        steps.append(Transpose(f"{statement}.{choosing.name('tv')}", across, strategy))
    if chance(choosing.integers, 1, 3):
        array = choosing.array(written=True)
        steps.insert(1, Promote(array, f"{statement}.{tiles[1]}", into=choosing.name("acc")))
    elif chance(choosing.integers, 1, 2):
        array = choosing.array(written=False)
        dimensions = choosing.program.arrays[array].dimensions
        order = dimensions[::-1] if chance(choosing.integers, 1, 2) else None
        at = f"{statement}.{choose(choosing.integers, tiles)}"
        steps.insert(1, Pack(array, at, order, into=choosing.name("panel")))
    return tuple(steps)


def _threads(choosing: Choosing) -> tuple[Step, ...]:
    """Parallel loop of vectors with prefetches and nontemporal stores."""
    outer, inner = choosing.two()
    lanes = choose(choosing.integers, choosing.lanes)
    array = choosing.array(written=True)
    return (
        Parallel(outer),
        Vectorize(inner, lanes, choosing.name("pv")),
        Prefetch(choosing.array(), inner, choose(choosing.integers, [1, 4])),
        *((Stream(array),) if chance(choosing.integers, 1, 2) else ()),
    )


def _partial_sums(choosing: Choosing) -> tuple[Step, ...]:
    """Reduction with a partial result for each lane or thread."""
    if not choosing.reductions():
        return ()
    statement = choose(choosing.integers, choosing.reductions())
    loop = choose(choosing.integers, choosing.around(statement) or ["none"])
    lanes = choose(choosing.integers, choosing.lanes)
    parts = choosing.name("so"), choosing.name("si")
    part = choose(choosing.integers, parts)
    kind: Step = Parallel(f"{statement}.{part}")
    if part == parts[1]:
        kind = Vectorize(f"{statement}.{part}", lanes, choosing.name("sv"))
    factor = Rfactor(statement, f"{statement}.{part}", choosing.name("sums"))
    return (Split(loop, lanes, parts), factor, kind)


def _stage(choosing: Choosing) -> tuple[Step, ...]:
    """Vectorized producer, computed at its consumer."""
    produced = choosing.array(written=True, role=Role.TEMPORARY)
    lanes = choose(choosing.integers, choosing.lanes)
    at = choosing.at(produced)
    writers = choosing.writers(produced)
    inner = choosing.around(writers[-1])[-1:] if writers else []
    user, parts = at.partition(".")[0], (choosing.name("uo"), choosing.name("ui"))
    return (
        Split(at, choose(choosing.integers, [2, 4, lanes]), parts),
        ComputeAt(produced, f"{user}.{parts[0]}", recompute=chance(choosing.integers, 1, 2)),
        *(Vectorize(loop, lanes, choosing.name("uv")) for loop in inner),
        Vectorize(f"{user}.{parts[1]}", lanes, choosing.name("ux")),
    )


Recipe: TypeAlias = Callable[[Choosing], tuple[Step, ...]]

RECIPES = MappingProxyType(
    {
        "register tile": _register_tile,
        "threads": _threads,
        "partial sums": _partial_sums,
        "stage": _stage,
    }
)
"""Recipes by the purpose of their steps."""
