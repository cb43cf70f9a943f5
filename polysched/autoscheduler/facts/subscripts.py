"""Subscripts as linear functions of the loops around a statement, with floors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import islpy as isl

from polysched.ir.core.kernel import Access, Statement, access_relation
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.traversal import index_names
from polysched.ir.isl.extrema import as_int


@dataclass(frozen=True)
class Floor:
    """A floor of a linear function of loops, as collapsed loops make it.

    Attributes:
        text: of the function, which identifies the floor.
        slopes: the average advance in each iteration of each loop.
    """

    text: str
    slopes: tuple[tuple[str, Fraction], ...]


Form: TypeAlias = tuple[dict[str | Floor, Fraction], int]
Change: TypeAlias = dict[str | Floor, Fraction | None]


def indices_by_loop(
    statement: Statement, times: isl.Map, loops: tuple[str, ...]
) -> dict[str, Form]:
    """Return each index as a linear function of the loops' values: coefficients and constant.

    An index of which several make one collapsed loop is a function of floors too.
    """
    functions = isl.PwMultiAff.from_map(times.reverse())
    forms: dict[str, Form] = {}
    for position, index in enumerate(statement.indices):
        pieces = functions.get_pw_aff(position).get_pieces()
        candidates = [_linear(piece, loops) for _, piece in pieces]
        known = [candidate for candidate in candidates if candidate is not None]
        if not known:
            known = [_with_floors(piece, loops) for _, piece in pieces]
        forms[index] = known[0] if known else ({}, 0)
    return forms


def _linear(function: isl.Aff, loops: tuple[str, ...]) -> Form | None:
    if function.dim(isl.dim_type.div):
        return None
    form = _with_floors(function, loops)
    return None if any(value.denominator != 1 for value in form[0].values()) else form


def _with_floors(function: isl.Aff, loops: tuple[str, ...]) -> Form:
    """Return a function as a linear one of the loops' values and of floors of them."""
    coefficients: dict[str | Floor, Fraction] = {}
    for position, name in enumerate(loops):
        value = _fraction(function.get_coefficient_val(isl.dim_type.in_, position))
        if value:
            coefficients[name] = value
    for position in range(function.dim(isl.dim_type.div)):
        factor = _fraction(function.get_coefficient_val(isl.dim_type.div, position))
        if factor:
            # A numerator has all divisions as coordinates, of which it uses earlier ones only.
            numerator = function.get_div(position)
            slopes = slopes_of(_with_floors(numerator, loops)[0])
            coefficients[Floor(str(numerator), tuple(slopes.items()))] = factor
    constant = function.get_constant_val()
    return coefficients, as_int(constant) if constant.is_int() else 0


def slopes_of(coefficients: Mapping[str | Floor, Fraction]) -> dict[str, Fraction]:
    """Return the average advance in each iteration of each loop, with floors as quotients."""
    slopes: dict[str, Fraction] = {}
    for atom, coefficient in coefficients.items():
        parts = ((atom, Fraction(1)),) if isinstance(atom, str) else atom.slopes
        for loop, slope in parts:
            slopes[loop] = slopes.get(loop, Fraction(0)) + coefficient * slope
    return slopes


def _fraction(value: isl.Val) -> Fraction:
    if value.is_int():
        return Fraction(as_int(value))
    denominator = value.get_den_val().to_python()
    return Fraction((value * denominator).to_python(), denominator)


def subscript_by_loop(
    statement: Statement,
    access: Access,
    dimension: int,
    times: isl.Map,
    indices: Mapping[str, Form],
    loops: tuple[str, ...],
) -> tuple[Change, int]:
    """Return a subscript as a linear function of the loops' values: coefficients and constant.

    The coefficient of a loop is None if the subscript is not linear in it.
    """
    form = linear_form(access.subscripts[dimension], {})
    if not form.is_affine and not access.is_data_dependent:
        # Splitting makes remainders such as i mod 16, which are loops of their own: isl sees that.
        moved = access_relation(statement, access).apply_domain(times).detect_equalities()
        function = isl.PwMultiAff.from_map(moved).get_pw_aff(dimension)
        for _, piece in function.get_pieces():
            if (linear := _linear(piece, loops)) is not None:
                return dict(linear[0]), linear[1]
    changes: Change = {}
    constant = form.constant
    for atom, coefficient in form.terms:
        if isinstance(atom, Index):
            by_loop, start = indices[atom.name]
            constant += coefficient * start
            for loop, change in by_loop.items():
                add_change(changes, loop, coefficient * change)
        elif not form.is_affine:
            for loop in loops:
                if any(_depends(indices[name], loop) for name in index_names(atom)):
                    changes[loop] = None
    return changes, constant


def _depends(form: Form, loop: str) -> bool:
    return loop in slopes_of(form[0])


def add_change(strides: Change, loop: str | Floor, change: Fraction | None) -> None:
    """Add to the advance along a loop; None stands for one that varies."""
    old = strides.get(loop, Fraction(0))
    strides[loop] = None if old is None or change is None else old + change
