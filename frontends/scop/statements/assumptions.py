"""Infer the sizes for which every access stays within its array.

An access outside its array is undefined in C, so a caller never passes sizes that lead to one. The
sizes that are left become the context of the kernel, and each inferred condition is reported. The
compiled function checks the conditions anyway, and runs the program as written where they fail.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import reduce
from operator import or_

import islpy as isl

from polysched.errors import KernelError
from polysched.frontends.scop.affine.assumption import Assumption, is_simple
from polysched.frontends.scop.affine.expected import assumption
from polysched.frontends.scop.affine.scope import LoggedAccess, Scope
from polysched.ir.core.limits import limited
from polysched.ir.expr.affine import instance_space, to_set
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.traversal import loads


def inferred_assumptions(scope: Scope) -> tuple[tuple[Assumption, ...], bool]:
    """Infer conditions on the sizes from the accesses that do not depend on data.

    A condition is left out if it would keep a statement from ever running: the access is a mistake
    then, which the check of the kernel reports.

    Returns:
        The conditions, and whether they keep every such access inside its array.
    """
    pending = list(_certain(scope))
    context = scope.sizes()
    found: list[Assumption] = []
    while True:
        undecided = []
        for access in pending:
            try:
                with limited(KernelError, "the subscripts are too intricate"):
                    outside = _outside(scope, access).intersect_params(context)
                    if outside.is_empty():
                        continue
                    gist = _condition(scope, context, outside, access)
                    found.append(_assumption(scope, access, gist))
                    context = context.intersect(gist)
            except (KernelError, ValueError, isl.Error):
                undecided.append(access)
        # The other conditions may simplify the condition of an access.
        if not undecided or len(undecided) == len(pending):
            return tuple(found), not undecided
        pending = undecided


def _certain(scope: Scope) -> Iterator[LoggedAccess]:
    """Yield the accesses that do not depend on data, once for each element and set of instances.

    The extents of guarded arrays come from all accesses, so theirs all count.
    """
    seen: set[tuple[str, tuple[Expression, ...], int]] = set()
    for access in scope.accesses:
        key = (access.binding.array.name, access.subscripts, id(access.domain))
        is_relevant = access.is_certain or access.binding.array.name in scope.guarded
        if is_relevant and key not in seen and not any(map(loads, access.subscripts)):
            seen.add(key)
            yield access


def _condition(scope: Scope, context: isl.Set, outside: isl.Set, access: LoggedAccess) -> isl.Set:
    """Return a simple condition on the sizes under which an access is inside its array."""
    with contextlib.suppress(ValueError):
        return _simple_condition(scope, context, outside.params(), access.domain.params())
    # Without divisions more sizes are excluded than need be.
    excluded, performed = (part.params().remove_divs() for part in (outside, access.domain))
    return _simple_condition(scope, context, excluded, performed)


def _simple_condition(
    scope: Scope, context: isl.Set, excluded: isl.Set, performed: isl.Set
) -> isl.Set:
    allowed = context.subtract(excluded).coalesce()
    gist = allowed.gist(context).coalesce()
    hull = isl.Set.from_basic_set(gist.simple_hull())
    if context.intersect(hull).is_subset(allowed):  # one case of several sizes, such as k or n
        gist = hull
    if not is_simple(gist):  # such as n <= 0 || m <= 70
        performed = performed.intersect(context)
        gist = allowed.intersect(performed).coalesce().gist(performed).coalesce()
        if not context.intersect(gist).is_subset(allowed):
            raise ValueError("the condition leaves the allowed sizes")
        allowed = context.intersect(gist)
    if not is_simple(gist) or not _keeps_all(scope, allowed):
        raise ValueError("the condition is too intricate, or no sizes are left")
    return gist


def _assumption(scope: Scope, access: LoggedAccess, gist: isl.Set) -> Assumption:
    element = scope.source_map.text(access.node)
    outside = f"{element} is outside {access.binding.array.name}"
    return assumption(scope, access.node, gist, outside)


def _outside(scope: Scope, access: LoggedAccess) -> isl.Set:
    """Return the instances whose access lies outside the array."""
    space = instance_space(scope.parameters, "", access.indices)
    outside = [
        (subscript < 0) | (extent <= subscript)
        for subscript, extent in zip(access.subscripts, access.binding.array.shape, strict=True)
    ]
    if not outside:
        return access.domain.subtract(access.domain)
    return access.domain.intersect(to_set(reduce(or_, outside), space))


def _keeps_all(scope: Scope, allowed: isl.Set) -> bool:
    """Whether every access is still performed for some sizes."""
    return not any(
        access.domain.intersect_params(allowed).is_empty()
        for access in scope.accesses
        if not access.domain.is_empty()
    )
