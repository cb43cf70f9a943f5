"""How a matrix product is tiled: threads, blocks, register tile and the order of the loops.

The nest and its names follow oneDNN's graph compiler ("deep-tiled matmul"): three loops over the
parts of threads (``p``), three over blocks for the caches (``o``), three over register tiles
(``i``), and inside of these the register tile itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError
from polysched.ir.dtypes import DType
from polysched.library.matmul.kernel import Sizes
from polysched.machine.description import Machine

DEFAULT_ORDER = "pmpnpkonokominimik"
LEVELS = "poi"
DIMENSIONS = "mnk"


@dataclass(frozen=True)
class Config:
    """A deep tiling of a matrix product.

    The parts of threads differ by at most one block, or one register tile where there are none.

    Attributes:
        m_threads: parts of the rows that run in parallel.
        n_threads: parts of the columns that run in parallel.
        k_threads: parts of the sums that run in parallel, to be added up at the end.
        m_block: rows of a block; None for all that a thread has.
        n_block: columns of a block; None for all that a thread has.
        k_block: terms of a block; None for all that a thread has.
        inner_m: rows of the register tile.
        inner_n: columns of the register tile, best a multiple of the vector length.
        inner_k: terms that are written out one after another.
        order: the nine loops around the register tile, outermost first, each two letters: ``p``,
            ``o`` or ``i``, then the dimension. The ``p`` loops come first, the ``i`` loops last.
        parallel_batch: whether the products of a batch run in parallel.
        pack_a: whether a block of ``a`` is copied into a contiguous buffer.
        pack_b: whether a panel of ``b`` is copied into a contiguous, aligned buffer.
        prefetch_a: whether a register tile asks, cache line by cache line, for the rows of ``a``
            that the next one reads: at their beginnings the processor does not expect them yet.
        along_k: whether lanes are terms of a sum instead of columns, added up at the end of each;
            see :mod:`polysched.library.matmul.dot`.
        chains: partial sums of each element, added up at the end, where a register tile has too few
            sums to hide the latency of FMAs; see :mod:`polysched.library.matmul.chains`.
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
    along_k: bool = False
    chains: int = 1

    def __post_init__(self) -> None:
        """Refuse numbers and orders that mean nothing.

        Raises:
            ScheduleError: one of the fields; the message names it.
        """
        for name, value in vars(self).items():
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise ScheduleError(f"matmul config: {name} is {value}; expected at least 1")
        self.loops  # noqa: B018  (raises)

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops of ``order``, outermost first.

        Raises:
            ScheduleError: it is no order of the nine loops.
        """
        text = self.order
        found = tuple(text[start : start + 2] for start in range(0, len(text), 2))
        groups = [sorted(found[start : start + 3]) for start in (0, 3, 6)]
        if len(found) != 9 or groups != [sorted(level + d for d in DIMENSIONS) for level in LEVELS]:
            raise ScheduleError(
                f"matmul config: order is '{text}'; expected pm, pn and pk in any order, then om, "
                f"on and ok, then im, in and ik, such as '{DEFAULT_ORDER}'"
            )
        return found

    def threads(self, dimension: str) -> int:
        """The parts of the dimension ``"m"``, ``"n"`` or ``"k"``."""
        return {"m": self.m_threads, "n": self.n_threads, "k": self.k_threads}[dimension]

    def block(self, dimension: str) -> int | None:
        """The block's extent in a dimension."""
        return {"m": self.m_block, "n": self.n_block, "k": self.k_block}[dimension]

    def inner(self, dimension: str) -> int:
        """The register tile's extent in a dimension."""
        return {"m": self.inner_m, "n": self.inner_n, "k": self.inner_k}[dimension]


def fitted(config: Config, sizes: Sizes) -> Config:
    """The config that a problem gets: blocks are whole register tiles, those of a thread's part of
    nearly one size, and nothing, be it a tile, a block or a number of parts, is larger than the
    problem.
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
    """What threads share out along a dimension: blocks, or register tiles if there are none."""
    return config.block(dimension) or config.inner(dimension)


def part_of(config: Config, dimension: str, extent: int) -> int:
    """The most of a dimension that a thread has; parts differ by at most one unit."""
    unit = unit_of(config, dimension)
    units = -(-extent // unit)
    return min(extent, -(-units // config.threads(dimension)) * unit)


def vectors_of_sums(config: Config, machine: Machine, dtype: DType) -> int:
    """The vectors in which the sums of a register tile are kept."""
    if config.along_k:
        return config.inner_m * config.inner_n
    return config.chains * config.inner_m * -(-config.inner_n // machine.lanes(dtype.bits))


def registers_needed(config: Config, machine: Machine, dtype: DType) -> int:
    """Vector registers of a register tile: its sums, and what is multiplied next."""
    sums = vectors_of_sums(config, machine, dtype)
    if config.along_k:
        return sums + config.inner_m + 1
    return sums + sums // (config.inner_m * config.chains) + 1


def require_registers(config: Config, machine: Machine, dtype: DType) -> None:
    """Check that the register tile fits the registers.

    Args:
        config: the tiling.
        machine: whose registers.
        dtype: the type of the sums.

    Raises:
        ScheduleError: it does not; the message names the budget.
    """
    needed = registers_needed(config, machine, dtype)
    if needed > machine.vector_registers:
        sums = vectors_of_sums(config, machine, dtype)
        raise ScheduleError(
            f"matmul config: a register tile of {config.inner_m} x {config.inner_n} {dtype} needs "
            f"{sums} vectors of {machine.lanes(dtype.bits)} for its sums and {needed - sums} for "
            f"the operands: {needed} registers, and '{machine.name}' has "
            f"{machine.vector_registers}; take a smaller inner_m or inner_n"
        )
