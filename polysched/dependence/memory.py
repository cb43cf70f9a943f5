"""Memory-based dependence analysis: every ordered pair of instances that touch one element.

isl is asked once for references that are alike: those whose statements have equal domains, whose
subscripts are equal but for a constant distance, and which the program orders alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl
import numpy as np

from polysched.dependence.alike import Numbering, Numbers, by_position, distinct, pair_classes
from polysched.dependence.relations import (
    Dependence,
    DependenceKind,
    Reference,
    timestamp_map,
)
from polysched.dependence.table import DependenceTable, renamed
from polysched.ir.affine import to_pw_aff
from polysched.ir.kernel import Access, Kernel, Order, Statement, access_relation
from polysched.ir.tree import time_columns

_Columns: TypeAlias = Sequence["isl.PwAff | int"]

_LARGEST_OFFSET = 2**40
"""Constants in subscripts beyond this are not split off; sums of smaller ones fit 64 bits."""


@dataclass(frozen=True)
class _Accessing:
    """A reference, and what of it decides about its dependences.

    Attributes:
        statement: the position of its statement in the kernel.
        form: a number, equal for references that touch the same elements up to ``offset``.
        offset: the constant summands of the subscripts.
    """

    reference: Reference
    access: Access
    statement: int
    form: int
    offset: tuple[int, ...]


def memory_dependences(kernel: Kernel) -> DependenceTable:
    """All memory-based dependences of the kernel in program order."""
    return _Analysis(kernel).table()


class _Analysis:
    """The dependence analysis of one kernel, with the answers that isl has given so far."""

    def __init__(self, kernel: Kernel) -> None:
        self._statements = tuple(kernel.statements.values())
        self._by_name = kernel.statements
        self._numbers = Numbering()
        names = tuple(kernel.statements)
        self._columns = {name: time_columns(kernel.body, name) for name in names}
        self._domains = [self._numbers.up_to_names(one.domain) for one in self._statements]
        domains = np.array(self._domains)
        ordered = pair_classes(kernel.body, names, self._numbers)
        both = np.broadcast_arrays(ordered, domains[:, None], domains[None, :])
        _, orders = distinct(*(one.ravel() for one in both))
        self._orders: Numbers = orders.reshape(ordered.shape)
        """For each pair of statements a number, equal for pairs that the program orders alike."""
        self._known: dict[Hashable, tuple[Hashable, tuple[int, ...]]] = {}
        self._earlier: dict[int, isl.Map | None] = {}
        self._pairs: dict[tuple[int, ...], isl.Map | None] = {}

    def table(self) -> DependenceTable:
        """The dependences on all arrays."""
        accesses = [
            self._accessing(number, position)
            for number, statement in enumerate(self._statements)
            for position in range(len(statement.accesses))
        ]
        written = {one.access.array for one in accesses if not one.reference.position}
        of_array: dict[str, list[int]] = {}
        for position, one in enumerate(accesses):
            if one.access.array in written:
                of_array.setdefault(one.access.array, []).append(position)
        patterns: list[Dependence] = []
        rows = [
            self._between(accesses, np.array(members), patterns) for members in of_array.values()
        ]
        sources, sinks, pattern_of = (
            np.concatenate([np.zeros(0, np.int64), *column])
            for column in (zip(*rows, strict=True) if rows else ([], [], []))
        )
        order = np.lexsort((sinks, sources))
        return DependenceTable(
            self._by_name,
            tuple(one.reference for one in accesses),
            tuple(patterns),
            sources[order],
            sinks[order],
            pattern_of[order],
        )

    def _accessing(self, number: int, position: int) -> _Accessing:
        statement = self._statements[number]
        access = statement.accesses[position]
        reference = Reference(statement.name, position)
        domain = self._domains[number]
        key = (domain, by_position(statement, access))
        if key not in self._known:
            self._known[key] = self._touched(statement, access)
        touched, offset = self._known[key]
        reduces = _is_reorderable(statement, reference, reference)
        form = self._numbers.of((domain, touched, not position, reduces))
        return _Accessing(reference, access, number, form, offset)

    def _touched(self, statement: Statement, access: Access) -> tuple[Hashable, tuple[int, ...]]:
        """The elements of an access without the constant summands of subscripts, and these."""
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

    def _between(
        self, accesses: Sequence[_Accessing], members: Numbers, patterns: list[Dependence]
    ) -> tuple[Numbers, Numbers, Numbers]:
        """The sources, the sinks and the patterns of the dependences on one array.

        Args:
            members: the positions of the array's references.
            patterns: what is new is appended.
        """
        own = [accesses[position] for position in members]
        statement = np.array([one.statement for one in own])
        is_write = np.array([not one.reference.position for one in own])
        sources, sinks = np.nonzero(is_write[:, None] | is_write[None, :])
        orders = self._orders[statement[sources], statement[sinks]]
        first, which = distinct(orders)
        is_ordered = np.array(
            [self._before(own[sources[row]], own[sinks[row]]) is not None for row in first], bool
        )
        sources, sinks = (ends[is_ordered[which]] for ends in (sources, sinks))
        form = np.array([one.form for one in own])
        offset = np.array([one.offset for one in own], np.int64)
        first, which = distinct(
            form[sources],
            form[sinks],
            orders[is_ordered[which]],
            *(offset[sinks] - offset[sources]).T,
        )
        known = np.full(len(first), -1)
        for number, row in enumerate(first):
            pattern = self._dependence(own[sources[row]], own[sinks[row]])
            if pattern is not None:
                known[number] = len(patterns)
                patterns.append(pattern)
        found = known[which]
        kept = found >= 0
        return members[sources[kept]], members[sinks[kept]], found[kept]

    def _before(self, source: _Accessing, sink: _Accessing) -> isl.Map | None:
        """The pairs of instances of which the first runs first, None where there is none."""
        order = int(self._orders[source.statement, sink.statement])
        ends = [self._statements[one.statement] for one in (source, sink)]
        if order not in self._earlier:
            before = _before(ends[0], ends[1], self._columns)
            self._earlier[order] = None if before.plain_is_empty() else before
        known = self._earlier[order]
        return None if known is None else renamed(known, *ends)

    def _dependence(self, source: _Accessing, sink: _Accessing) -> Dependence | None:
        """The dependence between two references to one array, if there is any."""
        ends = [self._statements[one.statement] for one in (source, sink)]
        distance = (
            after - before for before, after in zip(source.offset, sink.offset, strict=True)
        )
        order = int(self._orders[source.statement, sink.statement])
        key = (source.form, sink.form, order, *distance)
        if key not in self._pairs:
            touched = [
                access_relation(end, one.access)
                for end, one in zip(ends, (source, sink), strict=True)
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


def _before(source: Statement, sink: Statement, columns: Mapping[str, _Columns]) -> isl.Map:
    """The pairs of instances of which the first runs first.

    Columns of time with the same literal in both decide nothing, and those after the first one
    with different literals are never looked at: isl would cut the pairs into many more pieces.
    """
    earlier: list[isl.PwAff | int] = []
    later: list[isl.PwAff | int] = []
    stands_before = False
    for one, other in zip(columns[source.name], columns[sink.name], strict=False):
        if isinstance(one, int) and isinstance(other, int):
            stands_before = one < other
            if one != other:
                break
        else:
            earlier.append(one)
            later.append(other)
    if not earlier:
        every = isl.Map.from_domain_and_range(source.domain, sink.domain)
        return every if stands_before else isl.Map.empty(every.get_space())
    first, second = timestamp_map(source, earlier), timestamp_map(sink, later)
    return first.lex_le_map(second) if stands_before else first.lex_lt_map(second)


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
