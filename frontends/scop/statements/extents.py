"""Infer the shapes of pointers from the accesses that the function performs.

C declares ``float *x`` without an extent. A draft translation records every access. Elements that
the function certainly accesses lie in the object that the pointer leads to, so the largest of their
subscripts gives the extent. If conditions on data or subscripts from data may lead further, the
extent is only an upper bound and the array is guarded (:mod:`polysched.ir.core.guards`). Products
in subscripts give the row lengths, as in ``A[i*m + j]`` (Grosser, Ramanujam, Pouchet, Sadayappan,
Pop: Optimistic Delinearization of Parametrically Sized Arrays, ICS 2015).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import gcd

import islpy as isl

from polysched.errors import FrontendError, KernelError
from polysched.frontends.scop.affine.scope import LoggedAccess, Scope
from polysched.frontends.scop.declare.shapes import UNKNOWN, UNKNOWN_EXTENT, InferredShape, Shapes
from polysched.frontends.scop.types.polynomials import (
    Monomial,
    Polynomial,
    divided,
    polynomial_of,
)
from polysched.ir.core.data_dependent import is_data_dependent, may_relation
from polysched.ir.core.limits import limited
from polysched.ir.expr.affine import from_pw_aff, instance_space, to_pw_aff, weighted_sum
from polysched.ir.expr.expressions import Constant, Expression, Parameter
from polysched.ir.expr.functions import maximum


def inferred_shapes(scope: Scope) -> Shapes:
    """Infer the shapes of the arrays that a draft translation has accessed."""
    by_array: dict[str, list[LoggedAccess]] = {}
    for access in scope.accesses:
        if access.binding.is_draft:
            by_array.setdefault(access.binding.array.name, []).append(access)
    return {
        name: _shape(scope, name, accesses, _siblings(by_array, accesses[0]))
        for name, accesses in by_array.items()
    }


def _siblings(
    by_array: Mapping[str, list[LoggedAccess]], access: LoggedAccess
) -> list[LoggedAccess]:
    """Return the certain accesses to all members of the same structs, if the array is a member.

    An access to one member of a struct implies that the whole struct exists.
    """
    group = access.binding.group
    return [
        other
        for accesses in by_array.values()
        for other in accesses
        if group is not None
        and other.binding.group == group
        and other.is_certain
        and not is_data_dependent(other.subscripts)
    ]


def _shape(
    scope: Scope, name: str, accesses: list[LoggedAccess], siblings: list[LoggedAccess]
) -> InferredShape:
    inner: tuple[Expression, ...] = ()
    led = [access for access in accesses if is_data_dependent(access.subscripts)]
    bound = _bound(led)
    if len(led) == len(accesses) or bound == UNKNOWN:
        return InferredShape((bound, *accesses[0].binding.array.shape[1:]), guarded=True)
    accesses = [access for access in accesses if access not in led]
    if accesses[0].binding.is_flat:
        strides = _strides(scope, name, accesses)
        inner = _row_lengths(scope, name, accesses, strides)
        if inner and not isinstance(bound, Constant):
            return InferredShape((UNKNOWN,), guarded=True)
        rows = [(access, _row(scope, access, name, strides)) for access in accesses]
        beside = [(access, _row(scope, access, name, strides)) for access in siblings]
    else:
        inner = accesses[0].binding.array.shape[1:]
        rows, beside = (
            [(access, access.subscripts[0]) for access in of] for of in (accesses, siblings)
        )
    certain = [(access, row) for access, row in rows if access.is_certain] + beside
    if certain and not led:
        outer, largest = _outer(scope, name, certain)
        if all(
            access.is_certain or _is_covered(scope, access, row, largest) for access, row in rows
        ):
            return InferredShape((outer, *inner))
    outer, _ = _outer(scope, name, [*certain, *rows])
    return InferredShape((maximum(outer, bound) if led else outer, *inner), guarded=True)


def _bound(accesses: list[LoggedAccess]) -> Expression:
    """Return an extent above all subscripts; `UNKNOWN` if data do not bound a subscript."""
    if not accesses:
        return Constant(0)
    try:
        with limited(KernelError, "the subscripts are too intricate"):
            reached = reduce(
                isl.Set.union,
                (
                    may_relation(access.domain, (access.subscripts[0] + 1,)).range()
                    for access in accesses
                ),
            )
            largest = reached.dim_max_val(0)
            if largest.is_int():
                return Constant(min(max(largest.to_python(), 0), UNKNOWN_EXTENT))
            return _as_maximum(reached.coalesce().dim_max(0).coalesce())
    except (KernelError, isl.Error):
        return UNKNOWN


def _strides(
    scope: Scope, name: str, accesses: Iterable[LoggedAccess]
) -> list[tuple[Monomial, int]]:
    """Find the products of sizes that loop variables are multiplied by, largest first.

    In ``A[(2*i + 1)*n*m + 2*j*m]`` rows are ``n*m`` elements apart, because ``2*n*m`` does not
    divide the term without a loop variable, and elements of a row ``m``.
    """
    factors: dict[Monomial, int] = {}
    fixed: list[tuple[Monomial, int]] = []
    for access in accesses:
        for monomial, coefficient in polynomial_of(access.subscripts[0]).items():
            sizes: Monomial = tuple(atom for atom in monomial if isinstance(atom, Parameter))
            others = len(monomial) - len(sizes)
            if others > 1:
                raise _no_shape(scope, access, name)
            if others == 1 and sizes:
                factors[sizes] = gcd(factors.get(sizes, 0), coefficient)
            elif others == 0:
                fixed.append((sizes, coefficient))
    if any(len(sizes) > 1 and coefficient % factors.get(sizes, 1) for sizes, coefficient in fixed):
        for sizes, coefficient in fixed:
            if sizes in factors:
                factors[sizes] = gcd(factors[sizes], coefficient)
    order = sorted(factors, key=lambda sizes: (-len(sizes), str(sizes)))
    return [(sizes, gcd(*(factors[factor] for factor in order[: position + 1])))
            for position, sizes in enumerate(order)]  # fmt: skip


def _row_lengths(
    scope: Scope, name: str, accesses: list[LoggedAccess], strides: list[tuple[Monomial, int]]
) -> tuple[Expression, ...]:
    """Divide each stride by the next one; the last stride is the innermost extent."""
    lengths: list[Expression] = []
    following: list[tuple[Monomial, int]] = [*strides, ((), 1)][1:]
    for (monomial, factor), (next_monomial, next_factor) in zip(strides, following, strict=True):
        whole, rest = divided({monomial: factor}, next_monomial, next_factor)
        if rest or len(whole) != 1:
            raise _no_shape(scope, accesses[0], name)
        ((length, coefficient),) = whole.items()
        if len(length) != 1:
            raise _no_shape(scope, accesses[0], name)
        lengths.append(weighted_sum([(coefficient, length[0])], 0))
    return tuple(lengths)


def _row(
    scope: Scope, access: LoggedAccess, name: str, strides: list[tuple[Monomial, int]]
) -> Expression:
    """Return the outermost subscript of an access to a linearized array."""
    row: Polynomial = polynomial_of(access.subscripts[0])
    if strides:
        row, _ = divided(row, *strides[0])
    if any(len(monomial) > 1 for monomial in row):
        raise _no_shape(scope, access, name)
    terms = [(coefficient, monomial[0]) for monomial, coefficient in row.items() if monomial]
    return weighted_sum(terms, row.get((), 0))


def _no_shape(scope: Scope, access: LoggedAccess, name: str) -> FrontendError:
    return scope.error(
        access.node,
        f"'{scope.source_map.text(access.node)}' fits no array shape that the subscripts of "
        f"'{name}' imply; declare it with '#pragma polysched shape {name}[n][m]'",
    )


def _is_covered(scope: Scope, access: LoggedAccess, row: Expression, largest: isl.PwAff) -> bool:
    """Whether a row subscript never exceeds the largest one that is certainly accessed."""
    try:
        with limited(KernelError, "the subscripts are too intricate"):
            values = values_of(scope, access, row + 1)
            union = values.union(isl.Set.from_pw_aff(largest))
            return bool(union.dim_max(0).is_equal(largest))
    except (KernelError, isl.Error):
        return False


def _outer(
    scope: Scope, name: str, certain: Sequence[tuple[LoggedAccess, Expression]]
) -> tuple[Expression, isl.PwAff]:
    """Return the largest row subscript plus 1, as a function of the sizes."""
    try:
        with limited(KernelError, "the subscripts are too intricate"):
            reached = reduce(
                isl.Set.union, (values_of(scope, access, row + 1) for access, row in certain)
            )
            largest = reached.coalesce().dim_max(0).coalesce()
            return _as_maximum(largest), largest
    except (KernelError, isl.Error):
        raise scope.error(
            certain[0][0].node,
            f"the extent of '{name}' is not declared and cannot be inferred from its subscripts; "
            f"write it as in '{name}[n]', or put '#pragma polysched shape {name}[n]' before the "
            "loops",
        ) from None


def values_of(scope: Scope, access: LoggedAccess, expression: Expression) -> isl.Set:
    """Return the set of values of an expression over the instances of an access."""
    space = instance_space(scope.parameters, "", access.indices)
    function = to_pw_aff(expression, space)
    return isl.Map.from_pw_aff(function).intersect_domain(access.domain).range()


def _as_maximum(function: isl.PwAff) -> Expression:
    """Convert a piecewise function; a maximum of affine functions is written as one.

    The maximum only has to be exact where all sizes are positive: elsewhere no loop runs, and a
    larger extent adds no access.
    """
    pieces = [isl.PwAff.from_aff(aff) for _, aff in function.get_pieces()]
    if not pieces:
        return Constant(0)
    domain = function.domain()
    positive = domain
    for position in range(domain.dim(isl.dim_type.param)):
        positive = positive.lower_bound_val(
            isl.dim_type.param, position, isl.Val.one(domain.get_ctx())
        )
    largest = reduce(isl.PwAff.max, pieces)
    if not function.intersect_domain(positive).is_equal(largest.intersect_domain(positive)):
        return from_pw_aff(function)
    distinct = {str(piece): from_pw_aff(piece) for piece in pieces}
    return reduce(maximum, distinct.values())
