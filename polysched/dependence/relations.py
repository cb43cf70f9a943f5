"""Dependences: which instance must stay before which, and because of what.

Memory-based dependences relate *every* ordered pair of instances that touch one element, at least
one of them writing; nothing is left to transitivity, so dropping one record never hides another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import islpy as isl

from polysched.ir.affine import literal
from polysched.ir.kernel import Kernel, Order, Statement, access_relation
from polysched.ir.tree import Node, time_columns

_Columns: TypeAlias = Sequence["isl.PwAff | int"]


class DependenceKind(Enum):
    """What the earlier and the later instance do to the element."""

    FLOW = "flow"
    ANTI = "anti"
    OUTPUT = "output"


@dataclass(frozen=True)
class Reference:
    """One access of a statement: position 0 is its write, 1, 2, ... its reads in order."""

    statement: str
    position: int


@dataclass(frozen=True, eq=False)
class Dependence:
    """Pairs ``source instance -> sink instance`` on elements of one array.

    ``reorderable`` marks pairs between two instances of one reduction whose policy is ``any``:
    either may come first, but never both at once.

    ``storage`` marks pairs that a step made when it let different elements share memory: what the
    source does with its element must be over before the sink touches its own.

    ``may`` marks a conservative record: a subscript of the source or the sink depends on data, so
    the pairs *may* touch one element, and whether they do is known only when the kernel runs.
    """

    kind: DependenceKind
    array: str
    source: Reference
    sink: Reference
    relation: isl.Map
    reorderable: bool = False
    storage: bool = False
    may: bool = False


def memory_dependences(kernel: Kernel) -> tuple[Dependence, ...]:
    """All memory-based dependences of the kernel in program order."""
    references = [
        (Reference(statement.name, position), access, access_relation(statement, access))
        for statement in kernel.statements.values()
        for position, access in enumerate(statement.accesses)
    ]
    written = {statement.target.array for statement in kernel.statements.values()}
    columns = {name: time_columns(kernel.body, name) for name in kernel.statements}
    known: dict[tuple[str, str], isl.Map] = {}
    found = []
    for source, source_access, source_relation in references:
        for sink, sink_access, sink_relation in references:
            kind = _kind(source, sink)
            array = source_access.array
            if kind is None or array not in written or array != sink_access.array:
                continue
            statement = kernel.statements[source.statement]
            ends = source.statement, sink.statement
            if ends not in known:
                known[ends] = _before(statement, kernel.statements[sink.statement], columns)
            before = known[ends]
            if before.plain_is_empty():
                continue
            pairs = source_relation.apply_range(sink_relation.reverse()).intersect(before)
            if not pairs.is_empty():
                found.append(
                    Dependence(
                        kind,
                        array,
                        source,
                        sink,
                        pairs.coalesce(),
                        _is_reorderable(statement, source, sink),
                        may=source_access.is_data_dependent or sink_access.is_data_dependent,
                    )
                )
    return tuple(found)


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


def timestamps(tree: Node, statements: Mapping[str, Statement]) -> dict[str, isl.Map]:
    """For every statement the map from instances to timestamps, all of one length.

    A timestamp alternates positions in sequences and loop values on the way from the root to the
    leaf, padded with zeros.
    """
    columns = {name: time_columns(tree, name) for name in statements}
    length = max(map(len, columns.values()))
    return {
        name: timestamp_map(statements[name], [*column, *[0] * (length - len(column))])
        for name, column in columns.items()
    }


def timestamp_map(statement: Statement, columns: Sequence[isl.PwAff | int]) -> isl.Map:
    """The map from the instances of a statement to the given columns of time."""
    space = statement.domain.get_space()
    result = isl.Map.from_domain(statement.domain)
    for column in columns:
        function = literal(space, column) if isinstance(column, int) else column
        result = result.flat_range_product(isl.Map.from_pw_aff(function))
    return result.intersect_domain(statement.domain)
