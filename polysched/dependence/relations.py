"""Dependences: which instance must stay before which, and because of what.

Memory-based dependences relate *every* ordered pair of instances that touch one element, at least
one of them writing; nothing is left to transitivity, so dropping one record never hides another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import islpy as isl

from polysched.ir.affine import literal
from polysched.ir.kernel import Statement
from polysched.ir.tree import Node, time_columns


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
