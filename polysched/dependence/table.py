"""Many dependences in little memory: records that differ in names only share one pattern.

A thousand statements that update one array have a million and a half dependences, but a handful of
relations. The table holds these relations, and for each dependence three numbers. It is a sequence
of :class:`~polysched.dependence.relations.Dependence`; who goes through it gets every record. What
must scale asks the functions of this module instead, which take any sequence of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import islpy as isl
import numpy as np

from polysched.dependence.alike import Numbering, Numbers, distinct, pair_classes
from polysched.dependence.relations import Dependence, Reference
from polysched.ir.kernel import Statement
from polysched.ir.tree import Node


@dataclass(frozen=True, eq=False)
class DependenceTable(Sequence[Dependence]):
    """Dependences between references of statements, in the order of sources, then of sinks.

    Attributes:
        patterns: a record for each different relation; the others have its pairs under the names of
            their own statements.
        sources, sinks: for each dependence the position of its ends in ``references``.
        pattern_of: for each dependence the position of its pattern in ``patterns``.
    """

    statements: Mapping[str, Statement]
    references: tuple[Reference, ...]
    patterns: tuple[Dependence, ...]
    sources: Numbers
    sinks: Numbers
    pattern_of: Numbers

    def __len__(self) -> int:
        return len(self.pattern_of)

    def __iter__(self) -> Iterator[Dependence]:
        return iter(self._records)

    @overload
    def __getitem__(self, row: int) -> Dependence: ...

    @overload
    def __getitem__(self, row: slice) -> Sequence[Dependence]: ...

    def __getitem__(self, row: int | slice) -> Dependence | Sequence[Dependence]:
        return self._records[row]

    @cached_property
    def _records(self) -> tuple[Dependence, ...]:
        return tuple(self.rows(range(len(self))))

    def rows(self, positions: Sequence[int]) -> list[Dependence]:
        """The records at some positions."""
        return [self._record(row) for row in positions]

    def _record(self, row: int) -> Dependence:
        pattern = self.patterns[int(self.pattern_of[row])]
        source, sink = (self.references[int(ends[row])] for ends in (self.sources, self.sinks))
        if (source, sink) == (pattern.source, pattern.sink):
            return pattern
        ends = [self.statements[end.statement] for end in (source, sink)]
        relation = renamed(pattern.relation, *ends)
        return replace(pattern, source=source, sink=sink, relation=relation)

    @cached_property
    def _by_sink(self) -> tuple[Numbers, Numbers, dict[Reference, int]]:
        """The rows in the order of their sinks, their sinks, and the position of each reference."""
        rows = np.argsort(self.sinks, kind="stable")
        known = {reference: position for position, reference in enumerate(self.references)}
        return rows, self.sinks[rows], known

    def with_sink(self, reference: Reference) -> list[Dependence]:
        """One record of each pattern that has this sink."""
        rows, sinks, known = self._by_sink
        first, last = np.searchsorted(sinks, [known[reference], known[reference] + 1])
        found = rows[first:last]
        return self.rows(sorted(found[distinct(self.pattern_of[found])[0]].tolist()))

    @cached_property
    def orders(self) -> Numbers:
        """For each pattern a number, equal where an order that keeps the one keeps the other."""
        numbers = Numbering()
        keys = [
            numbers.of((one.kind, numbers.up_to_names(one.relation), one.reorderable, one.storage))
            for one in self.patterns
        ]
        return np.array(keys, np.int64)


def renamed(relation: isl.Map, source: Statement, sink: Statement) -> isl.Map:
    """The same pairs as pairs of instances of other statements."""
    for end, statement in ((isl.dim_type.in_, source), (isl.dim_type.out, sink)):
        relation = relation.set_tuple_name(end, statement.name)
        for position, index in enumerate(statement.indices):
            relation = relation.set_dim_name(end, position, index)
    return relation


def where(
    dependences: Sequence[Dependence], holds: Callable[[Dependence], bool]
) -> list[Dependence]:
    """The dependences of which something holds that does not depend on their ends."""
    if not isinstance(dependences, DependenceTable):
        return [one for one in dependences if holds(one)]
    held = np.array([holds(one) for one in dependences.patterns], bool)
    if not held.any():
        return []
    return dependences.rows(np.flatnonzero(held[dependences.pattern_of]).tolist())


def with_sink(dependences: Sequence[Dependence], reference: Reference) -> list[Dependence]:
    """The dependences into a reference, of those that differ in the source's name only one."""
    if isinstance(dependences, DependenceTable):
        return dependences.with_sink(reference)
    return [one for one in dependences if one.sink == reference]


def representatives(dependences: Sequence[Dependence], tree: Node) -> Sequence[Dependence]:
    """Dependences of which a tree keeps as much as of all of them, in their order.

    A record is left out if an earlier one differs in names only, and the tree relates the
    statements of both alike: the same pairs of the one break as of the other, at loops of the same
    kinds.

    Args:
        tree: the order looked at; all statements are in it.
    """
    if not isinstance(dependences, DependenceTable) or not len(dependences):
        return dependences
    names = list(dict.fromkeys(one.statement for one in dependences.references))
    row = {name: position for position, name in enumerate(names)}
    of_reference = np.array([row[one.statement] for one in dependences.references], np.int64)
    classes = pair_classes(tree, names, Numbering())
    ends = of_reference[dependences.sources], of_reference[dependences.sinks]
    first, _ = distinct(dependences.orders[dependences.pattern_of], classes[ends])
    return dependences.rows(sorted(first.tolist()))
