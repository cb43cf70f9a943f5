"""Sums over some dimensions of an array, except the last: lanes are results.

A register tile is a few vectors of the last dimension by a few indices of another kept dimension,
so that enough independent additions are in flight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import path
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.library.folding import VECTORS
from polysched.library.on_demand import unscheduled
from polysched.machine.description import Machine

if TYPE_CHECKING:
    from polysched.user import Schedule


def fold_kernel(extents: Sequence[int], kept: Sequence[bool], dtype: DType) -> Kernel:
    """Declare ``out[kept indices] = sum over the other indices of x``; sums have any order.

    Arrays, C-contiguous: ``x`` of the extents and ``out`` of those that are kept. Dimensions and
    loops: ``d0``, ``d1``, ... The statements are ``init`` and ``update``.

    Args:
        extents: the extents of ``x``, each at least 1.
        kept: whether each dimension is kept. The last dimension and another are kept, and at least
            one is not.
        dtype: element type of both arrays.

    Raises:
        KernelError: the extents or the kept dimensions are invalid.
    """
    if len(kept) != len(extents) or not kept[-1] or sum(kept) < 2 or all(kept) or min(extents) < 1:
        raise KernelError(
            f"fold: extents {tuple(extents)}, kept {tuple(kept)}; expected positive extents, the "
            "last dimension and another kept, and at least one dimension not kept"
        )
    names = [f"d{axis}" for axis in range(len(extents))]
    sizes = dict(zip(names, extents, strict=True))
    results = [name for name, stays in zip(names, kept, strict=True) if stays]
    terms = [name for name, stays in zip(names, kept, strict=True) if not stays]
    build = KernelBuilder("fold")
    x = build.input("x", dtype, tuple(extents), dimensions=" ".join(names))
    out = build.output(
        "out", dtype, tuple(sizes[name] for name in results), dimensions=" ".join(results)
    )
    with build.loops(**{name: sizes[name] for name in results}) as at, build.statement("init"):
        out[tuple(at)] = 0
    with (
        build.loops(**{name: sizes[name] for name in (*results, *terms)}) as at,
        build.statement("update", order="any"),
    ):
        where = dict(zip((*results, *terms), at, strict=True))
        out[tuple(where[name] for name in results)] += x[tuple(where[name] for name in names)]
    return build.kernel()


def fold_schedule(kernel: Kernel, machine: Machine, threads: int = 1) -> Schedule:
    """Schedule a kernel of :func:`fold_kernel`.

    Args:
        threads: the number of threads, which share the outermost loop over tiles.
    """
    out = kernel.arrays["out"]
    lanes = machine.lanes(out.dtype.bits)
    *_, row, column = out.dimensions
    extents = dict(zip(out.dimensions, (int(str(e)) for e in out.shape), strict=True))
    vectors = -(-extents[column] // lanes)
    wide = -(-vectors // -(-vectors // VECTORS))
    rows = max(1, min(extents[row], VECTORS // wide))
    indices = kernel.statements["update"].indices
    outer = [name for name in out.dimensions if name not in (row, column)]
    terms = [name for name in indices if name not in out.dimensions]
    schedule = unscheduled(kernel)
    for loop, factor in ((row, rows), (column, wide * lanes)):
        schedule = schedule.split(f"update.{loop}", factor, into=(f"{loop}_tile", f"{loop}_in"))
    tiles = (*outer, f"{row}_tile", f"{column}_tile")
    inside = (f"{row}_in", f"{column}_in")
    schedule = schedule.reorder(*(f"update.{x}" for x in (*tiles, *terms, *inside)))
    schedule = schedule.compute_at("init", at=tiles[-1])
    schedule = schedule.promote("out", at=tiles[-1], lanes=lanes)
    for statement in ("init", "update"):
        around = [loop.name for loop in path(schedule.program.tree, statement)]
        within = around[around.index(tiles[-1]) + 1 :]
        loops = [f"{statement}.{loop}" for loop in within if loop not in terms]
        schedule = schedule.vectorize(loops[-1], lanes).unroll(*loops)
    return schedule.parallel(f"update.{tiles[0]}") if threads > 1 else schedule
