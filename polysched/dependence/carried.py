"""Which loop carries a dependence: the outermost around both ends whose value differs between them.

After Allen and Kennedy, "Automatic translation of Fortran programs to vector form" (1987). A
dependence falls into parts, one for every loop that carries some of its pairs, and one for the
pairs that run in one iteration of all the loops around both ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

import islpy as isl

from polysched.dependence.distance import distance
from polysched.dependence.relations import Dependence
from polysched.ir.linear import Interval
from polysched.ir.tree import Loop, Node, path, statements


@dataclass(frozen=True, eq=False)
class Part:
    """The pairs of a dependence that one loop carries.

    Attributes:
        loop: the loop; None for the pairs that no loop around both ends parts.
        backwards: whether the tree runs the sink's iteration, or statement, before the source's; in
            program order that is never so.
        around: the loops around both ends, the outermost first.
    """

    dependence: Dependence
    pairs: isl.Map
    loop: Loop | None
    backwards: bool
    around: tuple[Loop, ...]

    def distances(self, pairs: isl.Map | None = None) -> tuple[Interval, ...]:
        """By how many iterations of each loop around both ends the sink is later.

        Args:
            pairs: those of the part that count; by default all.
        """
        counted = self.pairs if pairs is None else pairs
        source, sink = self.dependence.source.statement, self.dependence.sink.statement
        return tuple(
            distance(counted, loop.values[source], loop.values[sink]) for loop in self.around
        )


def parts(dependence: Dependence, tree: Node) -> tuple[Part, ...]:
    """The parts of a dependence in a tree, outermost loop first; none is empty."""
    return tuple(_parts(dependence, tree))


def _parts(dependence: Dependence, tree: Node) -> Iterator[Part]:
    ends = (dependence.source.statement, dependence.sink.statement)
    around = common_loops(tree, *ends)
    remaining = dependence.relation
    for loop in around:
        source, sink = (loop.values[end] for end in ends)
        for backwards, apart in ((False, source.lt_map(sink)), (True, source.gt_map(sink))):
            pairs = remaining.intersect(apart)
            if not pairs.is_empty():
                yield Part(dependence, pairs, loop, backwards, around)
        remaining = remaining.intersect(source.eq_map(sink))
    if not remaining.is_empty():
        order = statements(tree)
        backwards = order.index(ends[0]) > order.index(ends[1])
        yield Part(dependence, remaining, None, backwards, around)


def common_loops(tree: Node, first: str, second: str) -> tuple[Loop, ...]:
    """The loops around both of two statements, the outermost first."""
    pairs = zip(path(tree, first), path(tree, second), strict=False)
    return tuple(loop for loop, _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
