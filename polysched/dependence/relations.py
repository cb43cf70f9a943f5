"""Dependence records: pairs of statement instances whose order matters, and the reason.

Memory-based dependences relate *every* ordered pair of instances that access the same element, at
least one of them writing. No pair is left to transitivity: dropping a record never hides another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import islpy as isl

from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Node, time_columns
from polysched.ir.expr.affine import literal, map_of_sums


class DependenceKind(Enum):
    """Read after write (flow), write after read (anti) or write after write (output)."""

    FLOW = "flow"
    ANTI = "anti"
    OUTPUT = "output"


@dataclass(frozen=True)
class Reference:
    """One access of a statement: position 0 is the write, positions 1, 2, ... are the reads."""

    statement: str
    position: int


@dataclass(frozen=True, eq=False)
class Dependence:
    """Pairs ``source instance -> sink instance`` on elements of one array.

    ``reorderable`` marks pairs between two instances of one reduction whose policy is ``any``. They
    may run in either order, but never at the same time.

    ``storage`` marks pairs added by a step that made different elements share memory: the source
    must finish with its element before the sink accesses its own.

    ``may`` marks a conservative record: a subscript of the source or the sink depends on data.
    Whether a pair accesses the same element is known only at run time.
    """

    kind: DependenceKind
    array: str
    source: Reference
    sink: Reference
    relation: isl.Map
    reorderable: bool = False
    storage: bool = False
    may: bool = False


def timestamps(tree: Node, statements: Mapping[str, Statement]) -> dict[str, isl.Map]:
    """Map the instances of each statement to timestamps of equal length.

    A timestamp lists loop values and positions in sequences on the path from the root to the leaf,
    padded with zeros.
    """
    columns = {name: time_columns(tree, name) for name in statements}
    length = max(map(len, columns.values()))
    return {
        name: timestamp_map(statements[name], [*column, *[0] * (length - len(column))])
        for name, column in columns.items()
    }


def timestamp_map(statement: Statement, columns: Sequence[isl.PwAff | int]) -> isl.Map:
    """Map the instances of a statement to timestamps with the given columns."""
    space = statement.domain.get_space()
    functions = [
        literal(space, column) if isinstance(column, int) else column for column in columns
    ]
    if all(function.isa_aff() for function in functions):
        times = map_of_sums(space, [function.as_aff() for function in functions])
    else:
        times = isl.Map.from_domain(isl.Set.universe(space))
        for function in functions:
            times = times.flat_range_product(isl.Map.from_pw_aff(function))
    return times.intersect_domain(statement.domain)
