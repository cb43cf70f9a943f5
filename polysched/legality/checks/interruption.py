"""Lost updates: tiles of a reassociable reduction that accumulate into one element concurrently.

A tile of a buffered reduction runs ``in`` (copy the element into the buffer), its updates, and
``out`` (copy the buffer back). If the order policy is ``any``, two tiles A and B of one element may
run in either order, but the time spans from ``in`` to ``out`` must not overlap::

    legal     A:  in --- updates --- out
              B:                         in --- updates --- out     (or B first)

    illegal   A:  in ------ updates ------ out
              B:       in ------ updates ------ out

In the illegal case both tiles read the same old value ``x``. ``out(A)`` stores ``x + a``, then
``out(B)`` stores ``x + b``: the part ``a`` is lost. Two spans are disjoint if and only if
``out(A)`` runs before ``in(B)`` or ``out(B)`` runs before ``in(A)``. A fault is a pair of tiles for
which the executed tree ensures neither order.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind
from polysched.dependence.table import where
from polysched.ir.core.kernel import Array
from polysched.ir.core.tree import Loop, Node
from polysched.legality.checks.order import unordered
from polysched.legality.checks.storage_fault import StorageFault
from polysched.legality.verdicts.verdict import Cause
from polysched.schedule.core.program import Program


def interrupted(
    program: Program, tree: Node, array: Array, around: tuple[Loop, ...]
) -> Iterator[StorageFault]:
    """Find pairs of tiles of ``array`` that accumulate into one element concurrently.

    Tiles with separate buffer memory are judged as well, because they share the element outside of
    the buffer. The fault relates the two copy-in instances, ``in(A) -> in(B)``.
    """
    reorderable = where(program.dependences, lambda dependence: dependence.reorderable)
    for flow in reorderable:  # out(A) -> in(B)
        out, into = flow.source.statement, flow.sink.statement
        if (
            flow.kind is not DependenceKind.FLOW
            or out == into
            or program.statements[into].target.array != array.name
        ):
            continue
        tile = _tile_span(program, flow)
        # in(A) -> out(A) -> in(B): out(A) need not run before in(B)
        a_overlaps = tile.apply_range(unordered(tree, flow.source, flow.sink, flow.relation))
        for anti in reorderable:  # in(A) -> out(B)
            if (anti.source, anti.sink) != (flow.sink, flow.source):
                continue
            # in(A) -> out(B) -> in(B): out(B) need not run before in(A)
            late = unordered(tree, anti.sink, anti.source, anti.relation.reverse()).reverse()
            overlapping = a_overlaps.intersect(late.apply_range(tile.reverse()))
            if not overlapping.is_empty():
                ends = (flow.sink, flow.sink)
                yield StorageFault(array, Cause.INTERRUPTED, around, ends, overlapping)


def _tile_span(program: Program, flow: Dependence) -> isl.Map:
    """Return ``in(A) -> out(A)``: each copy-in of an element, with the copy-out of the same tile.

    The anti dependences tell which copies belong to one tile. Within a tile, the anti dependence
    from copy-in to copy-out is strict. Between two tiles it is reorderable. Unlike the subscripts
    of the buffer, the dependences stay valid when a later step changes the buffer or the instances.
    """
    strict = isl.Map.empty(flow.relation.reverse().get_space())
    reorderable = strict
    for anti in program.dependences:
        ends = (anti.source, anti.sink)
        is_anti = anti.kind is DependenceKind.ANTI and not anti.storage
        if is_anti and ends == (flow.sink, flow.source):
            if anti.reorderable:
                reorderable = reorderable.union(anti.relation)
            else:
                strict = strict.union(anti.relation)
    return strict.subtract(reorderable)
