"""Split the last terms off sums that end at an element which was just stored.

A vector that holds the element waits until the store has reached the cache. In a part of their own
the last terms are added one by one, and the vectors before them are full::

    for i: s = b[i]                          for i: s = b[i]
           for j < i: s -= L[i, j] * x[j]  ->       for j < i - i % 16: s -= L[i, j] * x[j]
           x[i] = s                                 for j < i, i - i % 16 <= j: s -= L[i, j] * x[j]
                                                    x[i] = s
"""

from __future__ import annotations

import islpy as isl

from polysched.ir.core.kernel import Kernel, Order, Statement
from polysched.ir.core.tree import Leaf, path
from polysched.simplify.splitting import split_statements


def with_tails(kernel: Kernel, terms: int) -> Kernel:
    """Return the kernel with sums split into a multiple of ``terms`` terms and the rest.

    The terms keep their order. The same kernel is returned if there is no such sum.
    """
    parts = {
        name: _parts(statement, terms)
        for name, statement in kernel.statements.items()
        if ends_at_stored_element(kernel, statement)
    }
    return split_statements(kernel, parts) if parts else kernel


def ends_at_stored_element(kernel: Kernel, statement: Statement) -> bool:
    """Whether a sum runs through elements that a later statement around its loop stores."""
    around = path(kernel.body, statement.name)
    if (
        len(around) < 2
        or statement.reduction is None
        or statement.reduction.order is not Order.ANY
        or len(around[-1].statements) > 1
        or not isinstance(around[-1].body, Leaf)
        or (around[-2].name, around[-1].name) != statement.indices[-2:]
    ):
        return False
    last = len(statement.indices) - 1
    ends = [end for _, end in _rows(statement).dim_max(0).get_pieces()]
    if not any(end.involves_dims(isl.dim_type.in_, last - 1, 1) for end in ends):
        return False  # all rows end at the same element
    names = around[-2].statements
    later = names[names.index(statement.name) + 1 :]
    written = {kernel.statements[name].target.array for name in later}
    return any(read.array in written - {statement.target.array} for read in statement.reads)


def _parts(statement: Statement, terms: int) -> tuple[isl.Set, isl.Set]:
    """Return the instances of the full groups of terms, and the others."""
    domain, rows = statement.domain, _rows(statement)
    last = domain.dim(isl.dim_type.set) - 1
    first = rows.dim_min(0)
    count = rows.dim_max(0).sub(first).add_constant_val(isl.Val(1))
    groups = count.scale_down_val(isl.Val(terms)).floor()
    limit = isl.Map.from_pw_aff(first.add(groups.scale_val(isl.Val(terms))))
    below = limit.apply_range(isl.Map("{ [limit] -> [term] : term < limit }"))
    full = rows.intersect(below).move_dims(isl.dim_type.out, 0, isl.dim_type.in_, 0, last).range()
    full = full.set_tuple_id(domain.get_tuple_id()).intersect(domain)
    return full.coalesce(), domain.subtract(full).coalesce()


def _rows(statement: Statement) -> isl.Map:
    """Return the values of the innermost loop in each iteration of the loops around it."""
    domain = statement.domain.reset_tuple_id()
    last = domain.dim(isl.dim_type.set) - 1
    return isl.Map.from_range(domain).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, last)
