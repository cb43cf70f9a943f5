"""Generate random steps of every primitive, legal or illegal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from polysched.fuzz.generate.choosing import FEW_LANES, Choosing
from polysched.fuzz.generate.randomness import Integers, chance, choose, shuffled
from polysched.instructions.byte_differences import NAME as SUM_OF_DIFFERENCES
from polysched.instructions.x86 import x86_instructions
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind, TransposeStrategy, path
from polysched.schedule.primitives.collapse import Collapse
from polysched.schedule.primitives.compute_at import ComputeAt
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.divide import Divide
from polysched.schedule.primitives.fold_storage import FoldStorage
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.inline import Inline
from polysched.schedule.primitives.pack import Pack
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.prefetch import Prefetch
from polysched.schedule.primitives.privatize import Privatize
from polysched.schedule.primitives.promote import Promote
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.reverse import Reverse
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.simplify import Simplify
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.stream import Stream
from polysched.schedule.primitives.tensorize import Tensorize
from polysched.schedule.primitives.tile import Tile
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.primitives.vectorize_reduction import VectorizeReduction
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step


def _collapse(choosing: Choosing) -> Step:
    outer, inner = choosing.two()
    return Collapse(outer, inner, choosing.name("c"))


def _compute_at(choosing: Choosing) -> Step:
    produced = choosing.array(written=True, role=Role.TEMPORARY)
    producer = choose(choosing.integers, [produced, choosing.statement()])
    return ComputeAt(producer, choosing.at(produced))


def _recompute(choosing: Choosing) -> Step:
    produced = choosing.array(written=True, role=Role.TEMPORARY)
    producer = choose(choosing.integers, [*choosing.writers(produced), produced])
    return ComputeAt(producer, choosing.at(produced), recompute=True)


def _fold_storage(choosing: Choosing) -> Step:
    array = choosing.array(written=True, role=Role.TEMPORARY)
    dimensions = choosing.program.arrays[array].dimensions or ("none",)
    dimension = choose(choosing.integers, dimensions)
    return FoldStorage(array, dimension, choosing.integers(1, 4), choosing.name("folded"))


def _distribute(choosing: Choosing) -> Step:
    after = choosing.statement() if chance(choosing.integers, 1, 4) else None
    return Distribute(choosing.loop(), after)


def _fuse(choosing: Choosing) -> Step:
    first, second = choosing.neighbors()
    return Fuse(first, second, choosing.name("f"))


def _pack(choosing: Choosing) -> Step:
    array = choosing.array(written=chance(choosing.integers, 1, 4))
    dimensions = choosing.program.arrays[array].dimensions
    order = dimensions[::-1] if chance(choosing.integers, 1, 3) else None
    at = None if chance(choosing.integers, 1, 5) else choosing.at(array)
    return Pack(array, at, order, into=choosing.name("packed"))


def _divide(choosing: Choosing) -> Step:
    parts, unit = choose(choosing.integers, [2, 3, 1, 5]), choose(choosing.integers, [1, 2, 4])
    return Divide(choosing.loop(), parts, unit, choosing.name("r"))


def _prefetch(choosing: Choosing) -> Step:
    array = choosing.array()
    at = choosing.at(array)
    ahead, level = choose(choosing.integers, [1, 2, 8]), choosing.integers(1, 3)
    return Prefetch(array, at, ahead, level, _loop_around(choosing, at))


def _loop_around(choosing: Choosing, loop: str) -> str | None:
    """Choose a loop of the same nest, from ``loop`` outward; usually None."""
    statement = loop.partition(".")[0]
    if statement not in choosing.program.statements or not chance(choosing.integers, 1, 3):
        return None
    nest = choosing.around(statement)
    outer = nest[: nest.index(loop) + 1] if loop in nest else nest
    return choose(choosing.integers, outer) if outer else None


def _privatize(choosing: Choosing) -> Step:
    array = choosing.array(written=True, role=Role.TEMPORARY)
    at = choosing.at(array)
    return Privatize(array, at, choosing.name("private"), _new_order(choosing, array, at))


def _new_order(choosing: Choosing, array: str, loop: str) -> tuple[str, ...] | None:
    """Return the dimensions of an expanded buffer with the loop's dimension last; usually None."""
    if not chance(choosing.integers, 1, 4):
        return None
    return (*choosing.program.arrays[array].dimensions, f"each_{loop.rpartition('.')[2]}")


def _promote(choosing: Choosing) -> Step:
    array = choosing.array(written=True)
    lanes = choose(choosing.integers, [None, None, 2])
    dimensions = choosing.program.arrays[array].dimensions
    order = dimensions[::-1] if chance(choosing.integers, 1, 4) else None
    return Promote(array, choosing.at(array), lanes, into=choosing.name("local"), order=order)


def _reorder(choosing: Choosing) -> Step:
    if chance(choosing.integers, 1, 5):
        return Reorder(tuple(shuffled(choosing.integers, choosing.nest())))
    first, second = choosing.two()
    return Reorder((second, first))


def _rfactor(choosing: Choosing) -> Step:
    statement = choose(choosing.integers, choosing.reductions() or [choosing.statement()])
    loop = choose(choosing.integers, choosing.around(statement) or ["none"])
    target = choosing.program.statements[statement].target.array
    return Rfactor(statement, loop, choosing.name("part"), _new_order(choosing, target, loop))


def _vectorize_reduction(choosing: Choosing) -> Step:
    statement = choose(choosing.integers, choosing.reductions() or [choosing.statement()])
    loop = choose(choosing.integers, choosing.around(statement)[-1:] or ["none"])
    lanes = choose(choosing.integers, choosing.lanes)
    return VectorizeReduction(statement, loop, lanes, choose(choosing.integers, [1, 2, 3]))


def _shift(choosing: Choosing) -> Step:
    loop, amount = choosing.loop(), choose(choosing.integers, [1, -1, 2])
    statement = loop.partition(".")[0]
    return Shift(loop, amount, choose(choosing.integers, [statement, None]))


def _skew(choosing: Choosing) -> Step:
    outer, inner = choosing.two()
    return Skew(inner, outer, choose(choosing.integers, [1, -1, 2]))


def _split(choosing: Choosing) -> Step:
    into = choosing.name("o"), choosing.name("n")
    return Split(choosing.loop(), choose(choosing.integers, [2, 3, 1, 4]), into)


def _tile(choosing: Choosing) -> Step:
    outer, inner = choosing.two()
    factors = choosing.integers(1, 3), choosing.integers(1, 3)
    names = choosing.name("o"), choosing.name("p")
    return Tile((outer, inner), factors, names, (choosing.name("n"), choosing.name("m")))


def _transpose(choosing: Choosing) -> Step:
    """Transpose a vector loop with an unrolled loop of the same nest, if there is such a pair."""
    nests = [path(choosing.program.tree, name) for name in choosing.program.statements]
    pairs = [
        (f"{statement}.{loop.name}", f"{statement}.{across.name}")
        for statement, nest in zip(choosing.program.statements, nests, strict=True)
        for loop in nest
        for across in nest
        if loop.kind is LoopKind.VECTOR and across.kind is LoopKind.UNROLLED
    ]
    loop, across = choose(choosing.integers, pairs or [choosing.two()])
    strategy = choose(choosing.integers, [option.value for option in TransposeStrategy])
    return Transpose(loop, across, strategy)


def _tensorize(choosing: Choosing) -> Step:
    return Tensorize(
        choosing.loop(), choose(choosing.integers, [*x86_instructions(), SUM_OF_DIFFERENCES])
    )


def _vectorize(choosing: Choosing) -> Step:
    lanes = choose(choosing.integers, choosing.lanes)
    return Vectorize(choosing.loop(), lanes, choosing.name("v"))


Maker: TypeAlias = Callable[[Choosing], Step]

ORDER_MAKERS: Mapping[type[Any], Maker] = MappingProxyType(
    {
        Split: _split,
        Reorder: _reorder,
        Reverse: lambda choosing: Reverse(choosing.loop()),
        Skew: _skew,
        Shift: _shift,
        Fuse: _fuse,
        Distribute: _distribute,
        Collapse: _collapse,
        Tile: _tile,
        Parallel: lambda choosing: Parallel(choosing.loop()),
        Vectorize: _vectorize,
        Unroll: lambda choosing: Unroll(choosing.loop(), choose(choosing.integers, [2, None, 3])),
        Divide: _divide,
        Prefetch: _prefetch,
        Transpose: _transpose,
        Tensorize: _tensorize,
        ComputeAt: _compute_at,
    }
)
"""Primitives that only reorder instances (compute_at without recomputation)."""

PROGRAM_MAKERS: Mapping[type[Any], Maker] = MappingProxyType(
    {
        Pack: _pack,
        Promote: _promote,
        FoldStorage: _fold_storage,
        ComputeAt: _recompute,
        Inline: lambda choosing: Inline(choosing.array(written=True, role=Role.TEMPORARY)),
        Simplify: lambda choosing: Simplify(
            choose(choosing.integers, [1, 8]), choose(choosing.integers, [0, 4])
        ),
        Privatize: _privatize,
        Rfactor: _rfactor,
        VectorizeReduction: _vectorize_reduction,
        Stream: lambda choosing: Stream(choosing.array(written=True)),
    }
)
"""Primitives that change statements or arrays (compute_at with recomputation)."""


def random_step(
    integers: Integers, schedule: Schedule, *, buffers: bool, lanes: Sequence[int] = FEW_LANES
) -> Step:
    """Generate a step for a schedule; the step may not apply.

    Args:
        buffers: whether the step may add statements and arrays.
        lanes: the possible numbers of lanes of a vector.
    """
    choosing = Choosing(integers, schedule.program, len(schedule.steps), lanes)
    makers = list(ORDER_MAKERS.values())
    if buffers and chance(integers, 1, 2):
        makers = list(PROGRAM_MAKERS.values())
    return choose(integers, makers)(choosing)


def only_reorders(schedule: Schedule) -> bool:
    """Whether the scheduled program has exactly the declared statements and arrays."""
    kernel, program = schedule.kernel, schedule.program
    return program.arrays is kernel.arrays and program.statements is kernel.statements
