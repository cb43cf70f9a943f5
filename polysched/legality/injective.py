"""Whether functions of the instances tell any two of a statement apart, index by index.

isl answers for all indices and all functions at once, which is dear where a function counts the
uneven parts of a loop. But mostly each index is told by few of the functions, those of it and of
the indices that are told already: loops that are tiles of ``i`` tell ``i``, whatever the loops of
``j`` do.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import reduce

import islpy as isl


def tells_apart(domain: isl.Set, functions: Sequence[isl.PwAff]) -> bool:
    """Whether no two points of ``domain`` have the same values of all the functions.

    Args:
        functions: on the space of ``domain``, and with a value at each of its points.
    """
    count = domain.dim(isl.dim_type.set)
    pairs = isl.Map.universe(domain.get_space().map_from_set())
    known: set[int] = set()
    supports = [_support(function) for function in functions]
    found = True
    while found and len(known) < count:
        found = False
        for index in range(count):
            usable = [
                function
                for function, support in zip(functions, supports, strict=True)
                if index in support and support <= known | {index}
            ]
            if index not in known and usable and _tells(domain, usable, index, known):
                known.add(index)
                pairs = pairs.equate(isl.dim_type.in_, index, isl.dim_type.out, index)
                found = True
    if len(known) == count:
        return True
    pairs = pairs.intersect_domain(domain).intersect_range(domain)
    return bool(_alike(pairs.intersect(domain.lex_lt_set(domain)), functions).is_empty())


def _support(function: isl.PwAff) -> frozenset[int]:
    """The indices that a function depends on."""
    return frozenset(
        index
        for index in range(function.dim(isl.dim_type.in_))
        if function.involves_dims(isl.dim_type.in_, index, 1)
    )


def _tells(domain: isl.Set, functions: Sequence[isl.PwAff], index: int, known: Set[int]) -> bool:
    """Whether two points that agree in ``known``, and in the functions, agree in ``index``.

    The other indices may be anything.
    """
    apart = isl.Map.universe(domain.get_space().map_from_set())
    apart = apart.order_lt(isl.dim_type.in_, index, isl.dim_type.out, index)
    for other in range(domain.dim(isl.dim_type.set)):
        if other in known:
            apart = apart.equate(isl.dim_type.in_, other, isl.dim_type.out, other)
        elif other != index:
            domain = domain.drop_constraints_involving_dims(isl.dim_type.set, other, 1)
            domain = domain.eliminate(isl.dim_type.set, other, 1)
    apart = apart.intersect_domain(domain).intersect_range(domain)
    return bool(_alike(apart, functions).is_empty())


def _alike(pairs: isl.Map, functions: Sequence[isl.PwAff]) -> isl.Map:
    """The pairs in which all the functions have the same values."""
    return reduce(lambda left, one: left.intersect(one.eq_map(one)), functions, pairs)
