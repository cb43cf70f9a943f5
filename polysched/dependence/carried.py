"""Loop-carried and loop-independent parts of a dependence.

The carrier of a pair of instances is the outermost common loop whose value differs between them
(Allen and Kennedy, "Automatic translation of Fortran programs to vector form", 1987). A dependence
is split into one part for each loop that carries some of its pairs, and one loop-independent part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

import islpy as isl

from polysched.dependence.distance import distance
from polysched.dependence.relations import Dependence
from polysched.ir.core.tree import Loop, Node, path, statements
from polysched.ir.expr.linear_form import Interval


@dataclass(frozen=True, eq=False)
class Part:
    """The pairs of a dependence that one loop carries.

    Attributes:
        loop: the carrier; None for loop-independent pairs.
        backwards: whether the tree runs the sink's iteration, or statement, before the source's;
            always False in program order.
        around: the common loops of source and sink, outermost first.
    """

    dependence: Dependence
    pairs: isl.Map
    loop: Loop | None
    backwards: bool
    around: tuple[Loop, ...]

    def distances(self, pairs: isl.Map | None = None) -> tuple[Interval, ...]:
        """The dependence distance along each common loop, in iterations.

        Args:
            pairs: a subset of the pairs of this part; by default all.
        """
        pairs = self.pairs if pairs is None else pairs
        source, sink = self.dependence.source.statement, self.dependence.sink.statement
        return tuple(
            distance(pairs, loop.values[source], loop.values[sink]) for loop in self.around
        )


def parts(dependence: Dependence, tree: Node) -> tuple[Part, ...]:
    """Split a dependence by carrier loop, outermost first; empty parts are left out."""
    return tuple(_parts(dependence, tree))


def _parts(dependence: Dependence, tree: Node) -> Iterator[Part]:
    ends = (dependence.source.statement, dependence.sink.statement)
    around = common_loops(tree, *ends)
    remaining = dependence.relation
    for loop in around:
        source, sink = (loop.values[end] for end in ends)
        for backwards, carried in ((False, source.lt_map(sink)), (True, source.gt_map(sink))):
            pairs = remaining.intersect(carried)
            if not pairs.is_empty():
                yield Part(dependence, pairs, loop, backwards, around)
        remaining = remaining.intersect(source.eq_map(sink))
    if not remaining.is_empty():
        order = statements(tree)
        backwards = order.index(ends[0]) > order.index(ends[1])
        yield Part(dependence, remaining, None, backwards, around)


def common_loops(tree: Node, first: str, second: str) -> tuple[Loop, ...]:
    """The loops around both of two statements, outermost first."""
    pairs = zip(path(tree, first), path(tree, second), strict=False)
    return tuple(loop for loop, _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
