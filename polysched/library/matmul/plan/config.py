"""Tiling config of a matrix product: threads, cache blocks, register tile, loop order, packing.

The nest and its names follow oneDNN's graph compiler ("deep-tiled matmul"): three parallel loops
(``p``), three loops over cache blocks (``o``), three loops over register tiles (``i``), and inside
of these the register tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from polysched.errors import ScheduleError
from polysched.ir.expr.dtypes import DType
from polysched.library.matmul.kernel.declare import Sizes
from polysched.machine.description import Machine

DEFAULT_ORDER = "pmpnpkonokominimik"

B_BLOCKS_OUTERMOST = "pmpnpkokonomiminik"
"""Loop order: blocks of ``b`` outermost. Each is packed whole, then all rows read it."""

K_BLOCKS_OUTERMOST = "pmpnpkokonominimik"
"""Loop order: blocks of the terms outermost. Each covers all columns."""

LEVELS = "poi"
DIMENSIONS = "mnk"


@dataclass(frozen=True)
class Config:
    """A deep tiling of a matrix product.

    The sizes of parallel parts differ by at most one block, or by one register tile if the
    dimension has no blocks.

    Attributes:
        m_threads: parts of the rows that run in parallel.
        n_threads: parts of the columns that run in parallel.
        k_threads: parts of the sums that run in parallel; their partial sums are added at the end.
        m_block: rows of a cache block; None for all rows of a part.
        n_block: columns of a cache block; None for all columns of a part.
        k_block: terms of a cache block; None for all terms of a part.
        inner_m: rows of the register tile.
        inner_n: columns of the register tile, best a multiple of the vector length.
        inner_k: unroll factor of the loop over the terms.
        order: the nine loops around the register tile, outermost first, each two letters: ``p``,
            ``o`` or ``i``, then the dimension. The ``p`` loops come first, the ``i`` loops last.
        parallel_batch: whether the products of a batch run in parallel.
        pack_a: whether a block of ``a`` is packed into a contiguous buffer.
        pack_b: whether a panel of ``b`` is packed into a contiguous, aligned buffer.
        prefetch_a: whether each register tile prefetches the rows of ``a`` that the next one reads,
            cache line by cache line. Hardware prefetchers do not follow the beginnings of rows.
        prefetch_b: how many panels ahead ``b`` is prefetched, row by row; 0 for no prefetch. The
            copy of a packed panel prefetches, else each register tile.
        prefetch_level: the cache level that ``b`` is prefetched into.
        prefetch_products: whether ``prefetch_b`` counts products of a stack instead of panels.
        prefetch_packed: terms ahead by which each register tile prefetches the rows of a packed
            panel of ``b`` into L1; 0 for no prefetch.
        tiles: whether a matrix unit computes the register tile. See
            :mod:`polysched.library.matmul.schedule.tiles`.
        dot_form: whether lanes are terms of a sum instead of columns; the vector of partial sums is
            reduced at the end. See :mod:`polysched.library.matmul.schedule.dot`.
        split_accumulators: accumulators of each element, added at the end, for a register tile with
            too few sums to hide the FMA latency. See
            :mod:`polysched.library.matmul.schedule.split_accumulators`.
    """

    m_threads: int = 1
    n_threads: int = 1
    k_threads: int = 1
    m_block: int | None = None
    n_block: int | None = None
    k_block: int | None = None
    inner_m: int = 6
    inner_n: int = 64
    inner_k: int = 1
    order: str = DEFAULT_ORDER
    parallel_batch: bool = False
    pack_a: bool = False
    pack_b: bool = True
    prefetch_a: bool = False
    prefetch_b: int = 0
    prefetch_level: int = 1
    prefetch_products: bool = False
    prefetch_packed: int = 0
    tiles: bool = False
    dot_form: bool = False
    split_accumulators: int = 1

    def __post_init__(self) -> None:
        """Check the fields."""
        for name, value in vars(self).items():
            least = 0 if name in ("prefetch_b", "prefetch_packed") else 1
            if isinstance(value, int) and not isinstance(value, bool) and value < least:
                raise ScheduleError(f"matmul config: {name} is {value}; expected at least {least}")
        self.loops  # noqa: B018  (raises)

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops of ``order``, outermost first.

        Raises:
            ScheduleError: ``order`` is not an order of the nine loops.
        """
        return _loops_of(self.order)

    def threads(self, dimension: str) -> int:
        """The number of parallel parts of the dimension ``"m"``, ``"n"`` or ``"k"``."""
        return {"m": self.m_threads, "n": self.n_threads, "k": self.k_threads}[dimension]

    def block(self, dimension: str) -> int | None:
        """The extent of a cache block in a dimension; None for no blocks."""
        return {"m": self.m_block, "n": self.n_block, "k": self.k_block}[dimension]

    def inner(self, dimension: str) -> int:
        """The extent of the register tile in a dimension."""
        return {"m": self.inner_m, "n": self.inner_n, "k": self.inner_k}[dimension]


@lru_cache(maxsize=64)
def _loops_of(order: str) -> tuple[str, ...]:
    """The loops of an order. Cached, because planning makes many configs with few orders."""
    loops = tuple(order[start : start + 2] for start in range(0, len(order), 2))
    levels = [sorted(loops[start : start + 3]) for start in (0, 3, 6)]
    if len(loops) != 9 or levels != [sorted(level + d for d in DIMENSIONS) for level in LEVELS]:
        raise ScheduleError(
            f"matmul config: order is '{order}'; expected pm, pn and pk in any order, then om, "
            f"on and ok, then im, in and ik, such as '{DEFAULT_ORDER}'"
        )
    return loops


def fitted(config: Config, sizes: Sizes) -> Config:
    """Fit a config to a problem.

    Blocks become multiples of the register tile, the blocks of a part become nearly equal, and
    tiles, blocks and numbers of parts become no larger than the problem.
    """
    changes: dict[str, int | None] = {}
    for dimension in DIMENSIONS:
        extent = sizes.along(dimension)
        inner = min(config.inner(dimension), extent)
        tiles = -(-extent // inner)
        threads = min(config.threads(dimension), tiles)
        in_part = -(-tiles // threads)
        threads = -(-tiles // in_part)
        block = config.block(dimension)
        if block is not None:
            in_block = -(-block // inner)
            if threads > 1:
                in_block = -(-in_part // -(-in_part // in_block))
            block = in_block * inner if in_block < in_part else None
        changes[f"inner_{dimension}"] = inner
        changes[f"{dimension}_threads"] = threads
        changes[f"{dimension}_block"] = block
    return replace(config, **changes)  # type: ignore[arg-type]


def unit_of(config: Config, dimension: str) -> int:
    """The granularity of parallel parts in a dimension: a block, else a register tile."""
    return config.block(dimension) or config.inner(dimension)


def part_of(config: Config, dimension: str, extent: int) -> int:
    """The extent of the largest part of a dimension; parts differ by at most one unit."""
    unit = unit_of(config, dimension)
    units = -(-extent // unit)
    return min(extent, -(-units // config.threads(dimension)) * unit)


def part_sizes(config: Config, sizes: Sizes) -> Sizes:
    """The sizes of the largest part of a product."""
    return Sizes(*(part_of(config, d, extent) for d, extent in zip("mnk", sizes[:3], strict=True)))


class TileLoop(NamedTuple):
    """A loop around the register tile.

    Attributes:
        name: its name in the schedule.
        level: ``"p"`` for parallel parts, ``"o"`` for cache blocks, ``"i"`` for register tiles.
        dimensions: the dimensions of the product that it selects.
    """

    name: str
    level: str
    dimensions: tuple[str, ...]


def tile_loops(config: Config) -> tuple[TileLoop, ...]:
    """The loops around the register tile of a fitted config, outermost first.

    Parts of ``k`` come first, wherever ``order`` has them, because their partial sums are combined
    last.
    """
    loops = [TileLoop(name, name[0], (name[1],)) for name in config.loops]
    tile_loops = [
        loop
        for loop in loops
        if loop.level == "i"
        or (loop.level == "p" and config.threads(*loop.dimensions) > 1)
        or (loop.level == "o" and config.block(*loop.dimensions) is not None)
    ]
    return tuple(sorted(tile_loops, key=lambda loop: loop != TileLoop("pk", "p", ("k",))))


def loop_of_packing(operand: str, loops: Sequence[TileLoop]) -> TileLoop | None:
    """The loop at which ``"a"`` or ``"b"`` is packed; None if there is none.

    Each register tile along the rows (for ``b``) or the columns (for ``a``) reads the same block of
    the operand. The loop is the innermost one outside of these tiles on which that block depends.
    """
    independent = "m" if operand == "b" else "n"
    reader = loops.index(TileLoop(f"i{independent}", "i", (independent,)))
    outside = reversed(loops[:reader])
    return next((loop for loop in outside if {*loop.dimensions} - {independent}), None)


def vectors_of_sums(config: Config, machine: Machine, dtype: DType) -> int:
    """The number of accumulator vectors of a register tile."""
    if config.dot_form:
        return config.inner_m * config.inner_n
    return (
        config.split_accumulators * config.inner_m * -(-config.inner_n // machine.lanes(dtype.bits))
    )


def registers_needed(config: Config, machine: Machine, dtype: DType) -> int:
    """The vector registers of a register tile: its accumulators and one step's operands."""
    sums = vectors_of_sums(config, machine, dtype)
    if config.dot_form:
        return sums + config.inner_m + 1
    return sums + sums // (config.inner_m * config.split_accumulators) + 1


def require_registers(config: Config, machine: Machine, dtype: DType) -> None:
    """Check that the register tile fits the registers.

    Args:
        config: the tiling.
        machine: whose registers.
        dtype: the type of the sums.
    """
    needed = 0 if config.tiles else registers_needed(config, machine, dtype)
    if needed > machine.vector_registers:
        sums = vectors_of_sums(config, machine, dtype)
        raise ScheduleError(
            f"matmul config: a register tile of {config.inner_m} x {config.inner_n} {dtype} needs "
            f"{sums} vectors of {machine.lanes(dtype.bits)} for its sums and {needed - sums} for "
            f"the operands: {needed} registers, and '{machine.name}' has "
            f"{machine.vector_registers}; take a smaller inner_m or inner_n"
        )
