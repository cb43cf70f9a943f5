"""Compact table of dependences: records that differ only in names share one pattern.

A thousand statements that update one array have 1.5 million dependences, but a handful of
relations. The table stores the relations once, and three numbers for each dependence. It is a
sequence of :class:`~polysched.dependence.relations.Dependence`; iterating over it creates every
record. Code that must scale calls the functions of this module instead, which accept any sequence
of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import islpy as isl
import numpy as np

from polysched.dependence.equivalence import EquivalenceClasses, Numbers, distinct, pair_classes
from polysched.dependence.relations import Dependence, Reference
from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Node


@dataclass(frozen=True, eq=False)
class DependenceTable(Sequence[Dependence]):
    """Dependences between references of statements, sorted by source, then by sink.

    Attributes:
        patterns: one record for each distinct relation; the other dependences have the same pairs
            under the names of their own statements.
        sources, sinks: the position of each dependence's source and sink in ``references``.
        pattern_of: the position of each dependence's pattern in ``patterns``.
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
        """The records at the given positions."""
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
        """The rows sorted by sink, the sorted sinks, and the position of each reference."""
        rows = np.argsort(self.sinks, kind="stable")
        positions = {reference: position for position, reference in enumerate(self.references)}
        return rows, self.sinks[rows], positions

    def with_sink(self, reference: Reference) -> list[Dependence]:
        """The dependences into a reference, one record for each pattern."""
        rows, sinks, positions = self._by_sink
        first, last = np.searchsorted(sinks, [positions[reference], positions[reference] + 1])
        into = rows[first:last]
        return self.rows(sorted(into[distinct(self.pattern_of[into])[0]].tolist()))

    @cached_property
    def orders(self) -> Numbers:
        """The class of each pattern: an order that keeps one pattern of a class keeps all."""
        numbers = EquivalenceClasses()
        keys = [
            numbers.of(
                (
                    pattern.kind,
                    numbers.up_to_names(pattern.relation),
                    pattern.reorderable,
                    pattern.storage,
                )
            )
            for pattern in self.patterns
        ]
        return np.array(keys, np.int64)


def renamed(relation: isl.Map, source: Statement, sink: Statement) -> isl.Map:
    """Rename a relation to the instances of other statements; its pairs stay the same."""
    for end, statement in ((isl.dim_type.in_, source), (isl.dim_type.out, sink)):
        relation = relation.set_tuple_name(end, statement.name)
        for position, index in enumerate(statement.indices):
            relation = relation.set_dim_name(end, position, index)
    return relation


def where(
    dependences: Sequence[Dependence], holds: Callable[[Dependence], bool]
) -> list[Dependence]:
    """Filter dependences by a predicate that does not depend on the names of source and sink."""
    if not isinstance(dependences, DependenceTable):
        return [dependence for dependence in dependences if holds(dependence)]
    selected = np.array([holds(pattern) for pattern in dependences.patterns], bool)
    if not selected.any():
        return []
    return dependences.rows(np.flatnonzero(selected[dependences.pattern_of]).tolist())


def with_sink(dependences: Sequence[Dependence], reference: Reference) -> list[Dependence]:
    """The dependences into a reference; records of a table that differ only in names occur once."""
    if isinstance(dependences, DependenceTable):
        return dependences.with_sink(reference)
    return [dependence for dependence in dependences if dependence.sink == reference]


def representatives(dependences: Sequence[Dependence], tree: Node) -> Sequence[Dependence]:
    """Select dependences that decide whether a tree keeps all of them; their order is unchanged.

    A record is left out if an earlier record differs only in names and the tree orders the
    statements of both in the same way. Then the tree violates the same pairs of both records, at
    loops of the same kinds.

    Args:
        tree: the execution order; it contains all statements.
    """
    if not isinstance(dependences, DependenceTable) or not len(dependences):
        return dependences
    names = list(dict.fromkeys(reference.statement for reference in dependences.references))
    row = {name: position for position, name in enumerate(names)}
    statement_of = np.array(
        [row[reference.statement] for reference in dependences.references], np.int64
    )
    classes = pair_classes(tree, names, EquivalenceClasses())
    ends = statement_of[dependences.sources], statement_of[dependences.sinks]
    first, _ = distinct(dependences.orders[dependences.pattern_of], classes[ends])
    return dependences.rows(sorted(first.tolist()))
