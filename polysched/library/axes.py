"""Reductions of a matrix along its last or first axis: declare and schedule them.

``along_last`` and ``along_first`` take a kernel with the statements ``init`` and ``update``, the
loops ``result`` and ``term``, and an array of results with the dimension ``at``.

Along the last axis lanes are terms of one result, and partial results are reduced at the end of a
row. Along the first axis lanes are results. Threads share a large matrix by results if there are
enough of them, else by terms with partial results for each thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.expressions import Index
from polysched.library.extents import extents_of
from polysched.library.folding import VECTORS, folded_together, in_vectors, vectors_for
from polysched.library.on_demand import unscheduled
from polysched.library.register_transpose import rows_as_lanes
from polysched.machine.description import Machine

if TYPE_CHECKING:
    from polysched.user import Schedule

SHORT = 2
"""Transpose rows of at most this many vectors: reducing vectors would take longer."""

LONG = 256
"""Reduce rows of more vectors than this one by one: the last step is a small part of the time."""

BLOCK = 8
"""Terms that are added to a vector of results before the vector is stored."""


@dataclass(frozen=True)
class Size:
    """A matrix of ``results`` by ``terms``, in vectors of ``lanes``, for a number of threads."""

    results: int
    terms: int
    lanes: int
    threads: int

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ScheduleError(f"threads is {self.threads}; expected at least 1")

    @property
    def is_empty(self) -> bool:
        """Whether the matrix has no elements."""
        return not self.results or not self.terms

    @property
    def is_shared(self) -> bool:
        """Whether several threads share the work."""
        return self.threads > 1

    @property
    def is_short(self) -> bool:
        """Whether rows are so short that results, not terms, should be lanes."""
        return self.terms <= SHORT * self.lanes

    @property
    def block(self) -> int:
        """Results that are reduced together: a power of two, 1 for long rows."""
        if self.terms > LONG * self.lanes:
            return 1
        if not self.is_shared:
            return min(self.lanes, 1 << (self.results - 1).bit_length())
        share = max(1, self.results // self.threads)
        return min(self.lanes, 1 << share.bit_length() - 1)


def size_of(
    kernel: Kernel,
    matrix: str,
    maker: str,
    machine: Machine,
    threads: int,
    *,
    dimensions: str = "result term",
    bits: int | None = None,
) -> Size:
    """The size of a library kernel's matrix; a small matrix gets one thread.

    Args:
        kernel: the kernel.
        matrix: the array.
        maker: the function that declares such kernels, for the message.
        machine: the machine that the schedule is for.
        threads: the number of threads.
        dimensions: the dimensions of the matrix that count results and terms.
        bits: the bits of a lane; by default those of an element of the matrix.
    """
    extents = extents_of(kernel, matrix, dimensions, maker)
    results, terms = (extents[name] for name in dimensions.split())
    lanes = machine.lanes(bits or kernel.arrays[matrix].dtype.bits)
    is_small = results * terms < machine.costs.parallel_elements
    return Size(results, terms, lanes, min(threads, 1) if is_small else threads)


def declare_reduction(
    build: KernelBuilder,
    results: int,
    terms: int,
    start: Callable[[Index], None],
    update: Callable[[Index, Index], None],
    *,
    along_rows: bool,
) -> None:
    """Declare the statements ``init`` and ``update`` of a reduction.

    Args:
        start: assigns the start value of a result.
        update: combines a result with a term.
        along_rows: whether the terms of a result are a row of the matrix: both statements are then
            in one loop over the results, else the loop over the terms is outermost.
    """
    with build.loops(result=results) as result:
        with build.statement("init"):
            start(result)
        if along_rows:
            with build.loops(term=terms) as term, build.statement("update", order="any"):
                update(result, term)
    if not along_rows:
        with (
            build.loops(term=terms, result=results) as (term, result),
            build.statement("update", order="any"),
        ):
            update(result, term)


def along(kernel: Kernel, matrix: str, size: Size, rows: int = 1) -> Schedule:
    """Schedule the reduction of a matrix along its dimension ``term``.

    Args:
        rows: results that are computed together; see :func:`along_last`.
    """
    if kernel.arrays[matrix].dimensions[-1] == "term":
        return along_last(unscheduled(kernel), size, rows)
    return along_first(unscheduled(kernel), size)


def along_last(schedule: Schedule, size: Size, rows: int = 1) -> Schedule:
    """Schedule a reduction along the last axis; ``init`` and ``update`` share a loop ``result``.

    Args:
        rows: results that are computed together, to share loads such as those of a vector operand.
    """
    if size.is_empty:
        return schedule
    if size.block > 1:
        return _in_tiles(schedule, size)
    rows = min(rows, size.results)
    tiles = -(-size.results // rows)
    if size.is_shared and tiles < size.threads:
        schedule, terms = _parts_of_terms(schedule, size)
        return in_vectors(schedule, "update", "part_term", size.lanes, _vectors(terms, size))
    vectors = min(_vectors(size.terms, size), max(1, VECTORS // rows))
    outermost = "result"
    if rows > 1:
        schedule = schedule.split("result", rows, into=("tile", "row"))
        schedule = schedule.distribute("row", after="init")
        outermost = "tile"
    if size.is_shared:
        schedule = schedule.parallel(outermost)
    inner = ("row",) if rows > 1 else ()
    return in_vectors(schedule, "update", "term", size.lanes, vectors, inner)


def _in_tiles(schedule: Schedule, size: Size) -> Schedule:
    """Compute as many results at a time as a vector has lanes."""
    target = schedule.program.statements["update"].target.array
    schedule = (
        schedule.split("result", size.block, into=("tile", "row"))
        .distribute("row", after="init")
        .promote(target, at="tile", lanes=size.block)
        .vectorize("init.row", size.block)
    )
    if size.is_shared:
        schedule = schedule.parallel("tile")
    matrices = tuple(
        name
        for name, array in schedule.kernel.arrays.items()
        if array.dimensions == ("result", "term")
    )
    is_packed = any(schedule.kernel.arrays[name].dtype.is_odd_width for name in matrices)
    if not size.is_short or is_packed:
        vectors = _vectors(size.terms, size)
        return folded_together(schedule, "update", "term", size.lanes, vectors, "row", size.block)
    schedule = schedule.reorder("term", "update.row")
    schedule = rows_as_lanes(schedule, matrices, "tile", size.block)
    return schedule.vectorize("update.row", size.block).unroll("update.term")


def along_first(schedule: Schedule, size: Size) -> Schedule:
    """Schedule a reduction along the first axis; ``init`` and ``update`` are separate nests."""
    if size.is_empty:
        return schedule
    if size.results == 1:  # a vector in memory, whichever way it is declared
        return along_last(schedule.reorder("update.result", "term"), size)
    schedule = schedule.vectorize("init.result", size.lanes)
    share = -(-size.results // size.threads)
    if size.is_shared and share >= BLOCK * size.lanes:
        share = -(-share // size.lanes) * size.lanes
        schedule = (
            schedule.split("update.result", share, into=("part", "part_result"))
            .reorder("part", "term", "part_result")
            .parallel("part")
        )
        return _in_blocks(schedule, "term", "part_result", size.lanes)
    loop = "term"
    if size.is_shared:
        schedule, _ = _parts_of_terms(schedule, size)
        loop = "part_term"
        schedule = schedule.vectorize("of_thread_init.at", size.lanes)
        schedule = schedule.vectorize("of_thread_combine.at", size.lanes)
    vectors = -(-size.results // size.lanes)
    if vectors > VECTORS:
        return _in_blocks(schedule, loop, "result", size.lanes)
    return _in_registers(schedule, loop, vectors, size.lanes)


def _vectors(terms: int, size: Size) -> int:
    return vectors_for(terms, size.lanes)


def _parts_of_terms(schedule: Schedule, size: Size) -> tuple[Schedule, int]:
    """Divide the terms among threads, with partial results; also return the largest part."""
    share = -(-size.terms // size.threads)
    schedule = schedule.split("update.term", share, into=("part", "part_term"))
    return schedule.rfactor("update", "part", into="of_thread").parallel("update.part"), share


def _in_blocks(schedule: Schedule, term: str, result: str, lanes: int) -> Schedule:
    """Add several rows at a time to each vector of results, each row read from end to end."""
    array = schedule.program.statements["update"].target.array
    return (
        schedule.split(f"update.{term}", BLOCK, into=("block", "row"))
        .reorder("block", f"update.{result}", "row")
        .vectorize(f"update.{result}", lanes)
        .promote(array, at=f"update.{result}", lanes=lanes)
        .unroll("row")
    )


def _in_registers(schedule: Schedule, term: str, vectors: int, lanes: int) -> Schedule:
    """Keep all results in registers, with several accumulators each if there are few."""
    copies = VECTORS // vectors
    if copies == 1:
        return schedule.vectorize("update.result", lanes).unroll("update.result")
    schedule = (
        schedule.split(f"update.{term}", copies, into=("block", "row"))
        .reorder("row", "block", "update.result")
        .rfactor("update", "row")
        .distribute("update.row", after="update_init")
        .reorder("block", "update.row", "update.result")
    )
    for loop in ("update_init.at", "update.result", "update_combine.at"):
        schedule = schedule.vectorize(loop, lanes)
    return schedule.unroll("update_init.row", "update_init.at", "update.row", "update.result")
