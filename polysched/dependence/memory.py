"""Memory-based dependence analysis: all ordered pairs of instances that access the same element.

One isl query serves all equivalent pairs of references. Two pairs are equivalent if their
statements have equal domains, their subscripts have the same linear parts and constant distance,
and the program orders them in the same way.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl
import numpy as np

from polysched.dependence.equivalence import (
    EquivalenceClasses,
    Numbers,
    by_position,
    distinct,
    pair_classes,
)
from polysched.dependence.relations import Dependence, DependenceKind, Reference, timestamp_map
from polysched.dependence.table import DependenceTable, renamed
from polysched.ir.core.kernel import Access, Kernel, Order, Statement, access_relation
from polysched.ir.core.tree import time_columns
from polysched.ir.expr.affine import to_pw_aff

_Columns: TypeAlias = Sequence["isl.PwAff | int"]

_LARGEST_OFFSET = 2**40
"""Largest absolute constant term that is split off a subscript; differences then fit 64 bits."""


@dataclass(frozen=True)
class _ClassifiedReference:
    """A reference with its equivalence class.

    Attributes:
        statement: the position of the reference's statement in the kernel.
        form: the class number; references of one class access the same elements up to ``offset``.
        offset: the constant terms of the subscripts.
    """

    reference: Reference
    access: Access
    statement: int
    form: int
    offset: tuple[int, ...]


def memory_dependences(kernel: Kernel) -> DependenceTable:
    """Compute all memory-based dependences of a kernel in program order."""
    return _Analysis(kernel).table()


class _Analysis:
    """Dependence analysis of one kernel, with a cache of isl's answers."""

    def __init__(self, kernel: Kernel) -> None:
        self._statements = tuple(kernel.statements.values())
        self._by_name = kernel.statements
        self._numbers = EquivalenceClasses()
        names = tuple(kernel.statements)
        self._columns = {name: time_columns(kernel.body, name) for name in names}
        self._domains = [
            self._numbers.up_to_names(statement.domain) for statement in self._statements
        ]
        domains = np.array(self._domains)
        tree_classes = pair_classes(kernel.body, names, self._numbers)
        columns = np.broadcast_arrays(tree_classes, domains[:, None], domains[None, :])
        _, orders = distinct(*(column.ravel() for column in columns))
        self._orders: Numbers = orders.reshape(tree_classes.shape)
        """The class of each pair of statements: equal domains, ordered in the same way."""
        self._touched_elements: dict[Hashable, tuple[Hashable, tuple[int, ...]]] = {}
        self._earlier: dict[int, isl.Map | None] = {}
        self._pairs: dict[tuple[int, ...], isl.Map | None] = {}

    def table(self) -> DependenceTable:
        """Compute the dependences on all arrays."""
        references = [
            self._classified(number, position)
            for number, statement in enumerate(self._statements)
            for position in range(len(statement.accesses))
        ]
        written = {end.access.array for end in references if not end.reference.position}
        by_array: dict[str, list[int]] = {}
        for position, end in enumerate(references):
            if end.access.array in written:
                by_array.setdefault(end.access.array, []).append(position)
        patterns: list[Dependence] = []
        rows = [
            self._on_array(references, np.array(members), patterns) for members in by_array.values()
        ]
        sources, sinks, pattern_of = (
            np.concatenate([np.zeros(0, np.int64), *column])
            for column in (zip(*rows, strict=True) if rows else ([], [], []))
        )
        order = np.lexsort((sinks, sources))
        return DependenceTable(
            self._by_name,
            tuple(end.reference for end in references),
            tuple(patterns),
            sources[order],
            sinks[order],
            pattern_of[order],
        )

    def _classified(self, number: int, position: int) -> _ClassifiedReference:
        statement = self._statements[number]
        access = statement.accesses[position]
        reference = Reference(statement.name, position)
        domain = self._domains[number]
        key = (domain, by_position(statement, access))
        if key not in self._touched_elements:
            self._touched_elements[key] = self._touched(statement, access)
        touched, offset = self._touched_elements[key]
        reduces = _is_reorderable(statement, reference, reference)
        form = self._numbers.of((domain, touched, not position, reduces))
        return _ClassifiedReference(reference, access, number, form, offset)

    def _touched(self, statement: Statement, access: Access) -> tuple[Hashable, tuple[int, ...]]:
        """Split an access into the class of its subscripts and their constant terms."""
        if access.is_data_dependent:
            relation = self._numbers.up_to_names(access_relation(statement, access))
            return ("may", relation), (0,) * len(access.subscripts)
        functions, offset = [], []
        for subscript in access.subscripts:
            function = to_pw_aff(subscript, statement.domain.get_space())
            constant = 0
            if function.isa_aff():
                value = function.as_aff().get_constant_val()
                if value.is_int() and abs(value.to_python()) <= _LARGEST_OFFSET:
                    constant = value.to_python()
                    function = function.add_constant_val(value.neg())
            functions.append(self._numbers.up_to_names(function))
            offset.append(constant)
        return tuple(functions), tuple(offset)

    def _on_array(
        self,
        references: Sequence[_ClassifiedReference],
        members: Numbers,
        patterns: list[Dependence],
    ) -> tuple[Numbers, Numbers, Numbers]:
        """The sources, the sinks and the patterns of the dependences on one array.

        Args:
            members: the positions of the array's references in ``references``.
            patterns: new patterns are appended.
        """
        own = [references[position] for position in members]
        statement = np.array([end.statement for end in own])
        is_write = np.array([not end.reference.position for end in own])
        sources, sinks = np.nonzero(is_write[:, None] | is_write[None, :])
        orders = self._orders[statement[sources], statement[sinks]]
        first, group = distinct(orders)
        is_ordered = np.array(
            [self._before(own[sources[row]], own[sinks[row]]) is not None for row in first], bool
        )
        sources, sinks = (ends[is_ordered[group]] for ends in (sources, sinks))
        form = np.array([end.form for end in own])
        offset = np.array([end.offset for end in own], np.int64)
        first, group = distinct(
            form[sources],
            form[sinks],
            orders[is_ordered[group]],
            *(offset[sinks] - offset[sources]).T,
        )
        pattern_of_group = np.full(len(first), -1)
        for number, row in enumerate(first):
            pattern = self._dependence(own[sources[row]], own[sinks[row]])
            if pattern is not None:
                pattern_of_group[number] = len(patterns)
                patterns.append(pattern)
        pattern_of = pattern_of_group[group]
        kept = pattern_of >= 0
        return members[sources[kept]], members[sinks[kept]], pattern_of[kept]

    def _before(self, source: _ClassifiedReference, sink: _ClassifiedReference) -> isl.Map | None:
        """The pairs of instances in execution order; None if there are none."""
        order = int(self._orders[source.statement, sink.statement])
        ends = [self._statements[end.statement] for end in (source, sink)]
        if order not in self._earlier:
            before = executed_before(ends[0], ends[1], self._columns)
            self._earlier[order] = None if before.plain_is_empty() else before
        known = self._earlier[order]
        return None if known is None else renamed(known, *ends)

    def _dependence(
        self, source: _ClassifiedReference, sink: _ClassifiedReference
    ) -> Dependence | None:
        """The dependence between two references to one array; None if there is none."""
        ends = [self._statements[end.statement] for end in (source, sink)]
        distance = (
            after - before for before, after in zip(source.offset, sink.offset, strict=True)
        )
        order = int(self._orders[source.statement, sink.statement])
        key = (source.form, sink.form, order, *distance)
        if key not in self._pairs:
            touched = [
                access_relation(statement, end.access)
                for statement, end in zip(ends, (source, sink), strict=True)
            ]
            before = self._before(source, sink)
            assert before is not None
            pairs = touched[0].apply_range(touched[1].reverse()).intersect(before)
            self._pairs[key] = None if pairs.is_empty() else pairs.coalesce()
        known = self._pairs[key]
        kind = _kind(source.reference, sink.reference)
        if known is None or kind is None:
            return None
        return Dependence(
            kind,
            source.access.array,
            source.reference,
            sink.reference,
            renamed(known, *ends),
            _is_reorderable(ends[0], source.reference, sink.reference),
            may=source.access.is_data_dependent or sink.access.is_data_dependent,
        )


def executed_before(source: Statement, sink: Statement, columns: Mapping[str, _Columns]) -> isl.Map:
    """The pairs of instances whose first instance runs before the second.

    Timestamp columns with equal literals cannot decide the order, so they are left out. Columns
    after the first pair of different literals never matter, so they are left out too. Otherwise isl
    would split the relation into many more pieces.
    """
    earlier: list[isl.PwAff | int] = []
    later: list[isl.PwAff | int] = []
    is_textually_before = False
    for left, right in zip(columns[source.name], columns[sink.name], strict=False):
        if isinstance(left, int) and isinstance(right, int):
            is_textually_before = left < right
            if left != right:
                break
        else:
            earlier.append(left)
            later.append(right)
    if not earlier:
        every = isl.Map.from_domain_and_range(source.domain, sink.domain)
        return every if is_textually_before else isl.Map.empty(every.get_space())
    first, second = timestamp_map(source, earlier), timestamp_map(sink, later)
    return first.lex_le_map(second) if is_textually_before else first.lex_lt_map(second)


def _kind(source: Reference, sink: Reference) -> DependenceKind | None:
    match source.position == 0, sink.position == 0:
        case True, False:
            return DependenceKind.FLOW
        case False, True:
            return DependenceKind.ANTI
        case True, True:
            return DependenceKind.OUTPUT
        case _:
            return None


def _is_reorderable(statement: Statement, source: Reference, sink: Reference) -> bool:
    reduction = statement.reduction
    if reduction is None or reduction.order is not Order.ANY or source.statement != sink.statement:
        return False
    return {source.position, sink.position} <= {0, reduction.read}
