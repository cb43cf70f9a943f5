"""Rows that a region certainly reads through an array of pointers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polysched.errors import KernelError
from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.conditions import condition_text, size_text
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.rewrites.size_values import RowStep
from polysched.frontends.scop.statements.extents import values_of
from polysched.ir.core.limits import limited
from polysched.ir.expr.affine import from_pw_aff
from polysched.ir.isl.extrema import least

_BELOW = "{ [row] -> [other] : other <= row }"


@dataclass(frozen=True)
class RowRange:
    """Rows of an array of pointers.

    Attributes:
        step: the size that is the distance of neighboring rows.
        table: the array.
        rows: the variable that stands for the elements of all rows.
        first: the number of the first row.
        end: the number after the last row, in C.
        condition: the sizes for which rows are read, in C.
    """

    step: str
    table: str
    rows: str
    first: int
    end: str
    condition: str


def row_range(scope: Scope, step: str, value: RowStep) -> RowRange:
    """Find the rows that a region reads whatever the data.

    Raises:
        FrontendError: data decide which rows it reads, or there are gaps between them.
    """
    binding = scope.find(value.rows)
    assert isinstance(binding, ArrayBinding)
    array = binding.array
    accesses = [access for access in scope.accesses if access.binding.array.name == array.name]
    try:
        with limited(KernelError, "the rows are too intricate"):
            certain, others = (
                [values_of(scope, access, access.subscripts[0]) for access in accesses
                 if access.is_certain is is_certain]
                for is_certain in (True, False)
            )  # fmt: skip
            if certain and len(array.shape) == 2 and array.name not in scope.guarded:
                rows = reduce(isl.Set.union, certain).coalesce()
                found = _range(step, value, rows)
                if found is not None and all(other.is_subset(rows) for other in others):
                    return found
    except (KernelError, isl.Error, ValueError):
        pass
    raise scope.error(
        accesses[0].node,
        f"the rows of '{value.table}' that the region reads are not known before it; expected "
        f"elements '{value.table}[i][j]' in loops over neighboring rows",
    ) from None


def _range(step: str, value: RowStep, rows: isl.Set) -> RowRange | None:
    """Return a set of row numbers as a range; None if the set is not a range."""
    first = least(rows, 0)
    position = rows.find_dim_by_name(isl.dim_type.param, step)
    depends = position >= 0 and rows.involves_dims(isl.dim_type.param, position, 1)
    if first is None or first < 0 or depends:
        return None
    last = rows.dim_max(0)
    lowest = isl.Val.int_from_si(rows.get_ctx(), first)
    below = isl.Set.from_pw_aff(last).apply(isl.Map(_BELOW))
    has_first = rows.upper_bound_val(isl.dim_type.set, 0, lowest).params()
    is_whole = below.lower_bound_val(isl.dim_type.set, 0, lowest).is_subset(rows)
    if not is_whole or not rows.params().is_subset(has_first):
        return None
    condition = condition_text(rows.params().coalesce(), cast="(long)")
    return RowRange(
        step, value.table, value.rows, first, size_text(from_pw_aff(last) + 1), condition
    )
