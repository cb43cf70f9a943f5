"""Evaluate domains, subscripts and timestamps at one statement instance, in Python integers.

The functions read isl objects constraint by constraint and compute nothing with isl. They check the
witnesses that isl found, so an error in the isl analysis cannot confirm itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import islpy as isl
import numpy as np

from polysched.ir.core.data_dependent import outermost_loads, with_values
from polysched.ir.core.kernel import Access, Array, Statement
from polysched.ir.core.packing import Rows
from polysched.ir.core.tree import Leaf, Loop, Node
from polysched.ir.core.tree import Sequence as Children
from polysched.ir.expr.affine import from_pw_aff, named
from polysched.ir.expr.expressions import Expression
from polysched.ir.semantics.points import evaluate_many

MOST_VALUES = 4096
"""Most combinations of loaded values to try for one subscript list; beyond it, assume a touch."""

Sizes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Step:
    """A node on the path to a leaf: a loop with its value, or a sequence with a child's index."""

    node: Loop | Children
    value: int


def number(expression: Expression, variables: Sizes) -> int:
    """Evaluate an integer expression that loads nothing."""
    return int(evaluate_many(expression, variables))


def variables_of(statement: Statement, instance: Sequence[int], sizes: Sizes) -> dict[str, int]:
    """Return the values of the parameters and of a statement's indices, by name."""
    return {**sizes, **dict(zip(statement.indices, instance, strict=True))}


def holds(condition: isl.Set, indices: Sequence[str], variables: Sizes) -> bool:
    """Whether the point ``variables`` lies in a set with the dimensions ``indices``."""
    return _lies_in(_clauses(condition, indices), variables)


def lives(statement: Statement, variables: Sizes) -> bool:
    """Whether an instance lies in the domain of its statement."""
    return _lies_in(_domain(statement), variables)


@dataclass(frozen=True)
class _Floor:
    """``(constant + sum of coefficient * term) // denominator`` in integers of any length.

    A term is the name of a variable or another floor.
    """

    terms: tuple[tuple[int, str | _Floor], ...]
    constant: int
    denominator: int

    def at(self, variables: Sizes) -> int:
        """The value at a point."""
        total = self.constant
        for coefficient, term in self.terms:
            total += coefficient * (
                variables[term] if isinstance(term, str) else term.at(variables)
            )
        return total // self.denominator


_Clauses: TypeAlias = tuple[tuple[tuple[_Floor, bool], ...], ...]
"""Parts of a set, each a list of sums that are >= 0, or == 0 where the flag is set."""


def _lies_in(clauses: _Clauses, variables: Sizes) -> bool:
    return any(
        all(
            value == 0 if is_equality else value >= 0
            for value, is_equality in ((term.at(variables), flag) for term, flag in clause)
        )
        for clause in clauses
    )


@lru_cache(maxsize=256)
def _domain(statement: Statement) -> _Clauses:
    return _clauses(statement.domain, statement.indices)


def _clauses(condition: isl.Set, indices: Sequence[str]) -> _Clauses:
    for position, index in enumerate(indices):
        condition = condition.set_dim_name(isl.dim_type.set, position, index)
    return tuple(
        tuple(
            (_floor(constraint.get_aff()), constraint.is_equality())
            for constraint in basic.get_constraints()
        )
        for basic in condition.compute_divs().get_basic_sets()
    )


def _floor(function: isl.Aff) -> _Floor:
    denominator = function.get_denominator_val().to_python()
    terms: list[tuple[int, str | _Floor]] = []
    for kind in (isl.dim_type.param, isl.dim_type.in_, isl.dim_type.div):
        for position in range(function.dim(kind)):
            coefficient = _scaled(function.get_coefficient_val(kind, position), denominator)
            if coefficient and kind is isl.dim_type.div:
                terms.append((coefficient, _floor(function.get_div(position))))
            elif coefficient:
                terms.append((coefficient, str(function.get_dim_name(kind, position))))
    constant = _scaled(function.get_constant_val(), denominator)
    return _Floor(tuple(terms), constant, denominator)


def _scaled(value: isl.Val, denominator: int) -> int:
    return value.mul(isl.Val(denominator)).to_python()


def moment(tree: Node, statement: Statement, variables: Sizes) -> tuple[Step, ...]:
    """Return the timestamp of an instance: the nodes on the path to its leaf, with their values."""
    steps: list[Step] = []
    node = tree
    while not isinstance(node, Leaf):
        if isinstance(node, Loop):
            steps.append(Step(node, number(_value(node, statement), variables)))
            node = node.body
        else:
            below = [statement.name in child.statements for child in node.children]
            steps.append(Step(node, below.index(True)))
            node = node.children[steps[-1].value]
    return tuple(steps)


@lru_cache(maxsize=512)
def _value(loop: Loop, statement: Statement) -> Expression:
    return from_pw_aff(named(loop.values[statement.name], statement.indices))


def parting(
    first: Sequence[Step], second: Sequence[Step]
) -> tuple[Loop | Children, int, int] | None:
    """Return the outermost node at which two timestamps of a tree differ, with both values."""
    for step, other in zip(first, second, strict=False):
        if step.value != other.value:
            return step.node, step.value, other.value
    return None


def touches(access: Access, element: tuple[int, ...], variables: Sizes) -> bool:
    """Whether an access touches an element; if a subscript depends on data, whether it may."""
    loads = outermost_loads(access.subscripts)
    if not loads:
        return tuple(number(index, variables) for index in access.subscripts) == element
    ranges = []
    for load in loads:
        assert load.values is not None, "an array in a subscript has a declared range of values"
        low, high = (number(end, variables) for end in load.values)
        ranges.append(range(low, high))
    if np.prod([len(values) for values in ranges], dtype=object) > MOST_VALUES:
        return True
    grid = np.meshgrid(*map(np.array, ranges), indexing="ij")
    known = {**variables, **{str(load): values for load, values in zip(loads, grid, strict=True)}}
    hit = np.ones(grid[0].shape, np.bool_)
    for subscript, wanted in zip(access.subscripts, element, strict=True):
        hit &= evaluate_many(with_values(subscript), known) == wanted
    return bool(hit.any())


def bytes_of(array: Array, element: tuple[int, ...], sizes: Sizes) -> tuple[tuple[int, ...], range]:
    """Return the bytes of an element of a packed array: the indices of its row, and a byte range.

    A row is the unit that starts at a byte boundary: the whole array unless its rows are padded.
    """
    shape = [number(extent, sizes) for extent in array.shape]
    inner = 1 if array.rows is Rows.PADDED else len(shape)
    position = 0
    for index, extent in zip(element[-inner:], shape[-inner:], strict=True):
        position = position * extent + index
    first = array.dtype.bits * position
    last = first + array.dtype.bits - 1
    return element[:-inner], range(first // 8, last // 8 + 1)
