"""Vectorized reductions: several vectors of partial results, reduced to one result at the end.

Additions to one register depend on each other. With several vectors of partial results, independent
additions hide the latency. All steps are public primitives and need a reduction declared with
``order="any"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polysched.library.register_transpose import transposed_in_registers

if TYPE_CHECKING:
    from polysched.user import Schedule

FEW_LANES = 4
"""Lanes to which a vector of partial results is reduced before they are added one by one."""

VECTORS = 8
"""Vectors of partial results: enough to keep two units with a latency of four cycles busy."""


def vectors_for(extent: int, lanes: int) -> int:
    """The number of vectors of partial results for a reduction of ``extent`` terms."""
    return max(1, min(VECTORS, -(-extent // lanes)))


def in_vectors(
    schedule: Schedule,
    statement: str,
    loop: str,
    lanes: int,
    vectors: int = VECTORS,
    rows: tuple[str, ...] = (),
    terms: tuple[str, ...] = (),
) -> Schedule:
    """Run a reduction's innermost loop in vectors of partial results.

    The vectors are added to one vector, which is cut into parts of ``FEW_LANES`` lanes; the sum of
    the parts is added up lane by lane. If all 16 lanes are added one after another, softmax of rows
    of 16 in f32 takes 1.8 times as long, and of rows of 128 1.25 times (Zen 4). Adding halves of
    halves takes three times as long to prove and compile.

    before::

        for k in 0..n: out[] = out[] + f(k)

    after ``in_vectors(schedule, "S", "k", 16, 8)``::

        vectors at in 0..128: out_partial[at] = 0
        for k_vectors in 0..ceil(n / 128):
          vectors at in 0..128: out_partial[at] = out_partial[at] + f(128*k_vectors + at)
        vector at in 0..16: S_folded[at] = the sum of out_partial[16*(0..8) + at]
        vector at in 0..4: S_few[at] = the sum of S_folded[4*(0..4) + at]
        for at in 0..4: out[] = out[] + S_few[at]

    Args:
        schedule: a schedule in which ``loop`` contains only ``statement``.
        statement: a reduction. No loop around it has the name of a dimension of its array.
        loop: the loop over the terms, innermost except for ``terms``.
        lanes: elements of a vector.
        vectors: the number of vectors of partial results.
        rows: the loops directly around ``loop``. They are unrolled inside of it, so that several
            results share loads. They contain only the statement, and are dimensions of its array.
        terms: loops inside of ``loop`` that are unrolled: the terms that one instruction adds to a
            lane.
    """
    schedule, partial = _one_vector(schedule, statement, loop, lanes, vectors, rows, terms)
    combine, each = partial.combine, partial.each
    if rows or lanes <= FEW_LANES:
        return schedule.unroll(f"{combine}.{each}")
    part, few, into = f"{loop}_part", f"{loop}_few", f"{statement}_few"
    order = (*_dimensions(schedule, combine), f"each_{few}")
    return (
        schedule.split(f"{combine}.{each}", FEW_LANES, into=(part, few))
        .reorder(f"{combine}.{few}", f"{combine}.{part}")
        .rfactor(combine, few, into=into, order=order)
        .vectorize(f"{combine}.{few}", FEW_LANES)
        .unroll(f"{combine}.{part}", f"{into}_combine.each_{few}")
    )


def folded_together(
    schedule: Schedule, statement: str, loop: str, lanes: int, vectors: int, row: str, block: int
) -> Schedule:
    """Run reductions of several rows in vectors, and reduce the vectors of all rows at once.

    Reducing a vector takes as many dependent scalar operations as it has lanes. The vectors of as
    many rows as there are lanes form a square. Transposed in registers, the square is reduced by
    the same number of vector operations.

    before::

        for row in 0..16:
          for k in 0..n: out[row] = out[row] + f(row, k)

    after ``folded_together(schedule, "S", "k", 16, 8, "row", 16)``::

        for row in 0..16: S_folded[row, 0..16] = partial results of the row, in one vector
        for lane in 0..16: vector row in 0..16: packed[lane, row] = S_folded[row, lane]
        for lane in 0..16: vector row in 0..16: out[row] = out[row] + packed[lane, row]

    Args:
        schedule: a schedule in which ``row`` is the loop directly around ``loop``.
        statement: a reduction into an array of one dimension, with an element for each ``row``.
        loop: the innermost loop around ``statement``.
        lanes: elements of a vector.
        vectors: the number of vectors of partial results of a row.
        row: the loop over at most ``block`` rows.
        block: the number of rows that are reduced at once.
    """
    schedule, partial = _one_vector(schedule, statement, loop, lanes, vectors, ())
    combine = partial.combine
    each = f"each_{row}"
    dimensions = _dimensions(schedule, combine)
    schedule = schedule.privatize(partial.array, at=f"{combine}.{row}")
    if partial.last != statement:  # both are inside the loops over the array's dimensions
        schedule = schedule.distribute(f"{partial.last}.{dimensions[0]}", after=partial.last)
    rows, packed = f"{partial.array}_private", f"{partial.array}_private_packed"
    schedule = (
        schedule.distribute(f"{combine}.{row}", after=partial.last)
        .split(f"{combine}.{row}", block, into=("rows", "of_rows"))
        .reorder(f"{combine}.rows", f"{combine}.{partial.each}", f"{combine}.of_rows")
        .pack(rows, at=f"{combine}.rows", order=(*dimensions, partial.each, each))
        .vectorize(f"{packed}.{each}", block)
        .unroll(f"{packed}.{partial.each}")
        .vectorize(f"{combine}.of_rows", block)
        .unroll(f"{combine}.{partial.each}")
    )
    return transposed_in_registers(schedule, f"{packed}.{each}v", f"{packed}.{partial.each}")


@dataclass(frozen=True)
class _Vector:
    """The vector of partial results of each result.

    Attributes:
        array: the array that holds the vectors.
        last: the statement that writes it last.
        combine: the statement that combines the lanes.
        each: the loop over the lanes.
    """

    array: str
    last: str
    combine: str
    each: str


def _one_vector(
    schedule: Schedule,
    statement: str,
    loop: str,
    lanes: int,
    vectors: int,
    rows: tuple[str, ...],
    terms: tuple[str, ...] = (),
) -> tuple[Schedule, _Vector]:
    """Reduce to one vector of partial results, as :func:`in_vectors` does."""
    lane, count = f"{loop}_lane", f"{loop}_vectors"
    at, first, combine = f"{statement}.{lane}", f"{statement}_init", f"{statement}_combine"
    inner = [f"{statement}.{row}" for row in rows]
    written = [f"{statement}.{term}" for term in terms]
    array = schedule.program.statements[statement].target.array
    schedule = (
        schedule.split(f"{statement}.{loop}", lanes * vectors, into=(count, lane))
        .reorder(at, f"{statement}.{count}", *inner, *written)
        .rfactor(statement, lane, order=_contiguous(schedule, statement, lane))
        .distribute(at, after=first)
        .reorder(f"{statement}.{count}", *inner, at, *written)
        .vectorize(f"{first}.{lane}", lanes)
        .vectorize(at, lanes)
        .unroll(*inner, f"{first}.{lane}", at, *written)
    )
    partials = f"each_{lane}"
    dimensions = _dimensions(schedule, combine) if rows else ()
    for dimension in dimensions:
        schedule = schedule.unroll(f"{first}.{dimension}", f"{combine}.{dimension}")
    if vectors == 1:
        return schedule, _Vector(f"{array}_partial", statement, combine, partials)
    folded = f"{statement}_folded"
    schedule = (
        schedule.split(f"{combine}.{partials}", lanes, into=("each_vector", lane))
        .reorder(f"{combine}.{lane}", f"{combine}.each_vector")
        .rfactor(combine, lane, into=folded, order=_contiguous(schedule, combine, lane))
        .vectorize(f"{combine}.{lane}", lanes)
        .unroll(f"{combine}.each_vector")
    )
    return schedule, _Vector(folded, combine, f"{folded}_combine", partials)


def _contiguous(schedule: Schedule, statement: str, loop: str) -> tuple[str, ...]:
    return (*_dimensions(schedule, statement), f"each_{loop}")


def _dimensions(schedule: Schedule, statement: str) -> tuple[str, ...]:
    array = schedule.program.arrays[schedule.program.statements[statement].target.array]
    return array.dimensions[array.tile :]
