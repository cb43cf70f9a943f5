"""Bounds inference: the region of each Func and image that a region of the output requires.

A region is a box. Isl computes the least and the greatest value of each subscript, as functions of
the sizes, from the exact iteration domains of the definitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polysched.errors import FrontendError, KernelError
from polysched.frontends.halide.inlining import Algorithm, Computed
from polysched.frontends.halide.language import Call, Definition, calls
from polysched.ir.expr.affine import from_pw_aff, instance_space, to_pw_aff, to_set
from polysched.ir.expr.expressions import Expression, Index, Parameter
from polysched.ir.expr.traversal import walk


@dataclass(frozen=True)
class Interval:
    """The range of a dimension, ``low`` to ``high`` inclusive, as functions of the sizes."""

    low: isl.PwAff
    high: isl.PwAff

    @property
    def first(self) -> Expression:
        """The least value."""
        return from_pw_aff(self.low)

    @property
    def end(self) -> Expression:
        """The exclusive end: the greatest value plus 1."""
        return from_pw_aff(self.high.add(_one_like(self.high)))

    @property
    def extent(self) -> Expression:
        """The number of values."""
        return from_pw_aff(self.high.sub(self.low).add(_one_like(self.high)))

    def joined(self, other: Interval) -> Interval:
        """The smallest interval that contains both intervals."""
        return Interval(self.low.union_min(other.low), self.high.union_max(other.high))


Region = tuple[Interval, ...]


def sizes_of(algorithm: Algorithm, extents: Sequence[Expression]) -> tuple[str, ...]:
    """The names of all sizes, the sizes of the output first."""
    expressions = list(extents)
    for computed in algorithm.funcs:
        for definition in computed.definitions:
            expressions += [definition.value, *definition.subscripts]
            for domain in definition.domains:
                expressions += [end for bound in domain.bounds for end in bound]
                expressions += domain.conditions
    for image in algorithm.images:
        expressions += image.extents or ()
    nodes = (node for expression in expressions for node in walk(expression))
    return tuple(dict.fromkeys(node.name for node in nodes if isinstance(node, Parameter)))


def regions(
    algorithm: Algorithm, extents: Sequence[Expression], context: isl.Set, sizes: Sequence[str]
) -> dict[str, Region]:
    """Infer the region of every Func and image, by name.

    Args:
        extents: extents of the output, the innermost dimension first; its region begins at 0.
        context: the possible values of the sizes.

    Raises:
        FrontendError: a subscript is not affine, or a Func is never read.
    """
    output = algorithm.funcs[-1]
    if len(extents) != len(output.func.variables):
        raise FrontendError(
            f"the output '{output.name}' has {len(output.func.variables)} dimensions; its region "
            f"is given by {len(extents)} extents"
        )
    space = instance_space(sizes, "", ())
    inferred: dict[str, Region] = {
        output.name: tuple(
            Interval(
                *(_on(context, to_pw_aff(end, space)) for end in (extent - extent, extent - 1))
            )
            for extent in extents
        )
    }
    for computed in reversed(algorithm.funcs):  # consumers before their producers
        _grow_by_updates(computed, inferred, context, sizes)
        for definition in computed.definitions:
            domain = domain_of(computed, definition, inferred[computed.name], context, sizes)
            for call in _all_calls(definition):
                if call.array != computed.name:
                    _join(inferred, call.array, _touched(definition, call.subscripts, domain))
    return inferred


def domain_of(
    computed: Computed,
    definition: Definition,
    region: Region,
    context: isl.Set,
    sizes: Sequence[str],
) -> isl.Set:
    """The iteration domain of a definition: its Vars over the region, then reduction variables."""
    variables = pure_variables(computed, definition)
    inner = [variable.name for domain in definition.domains for variable in domain]
    space = instance_space(sizes, "", [*variables, *inner])
    points = isl.Set.universe(space).intersect_params(context)
    for name, interval in zip(computed.func.variables, region, strict=True):
        if name in variables:
            index = Index(name)
            points = points.intersect(to_set(interval.first <= index, space))
            points = points.intersect(to_set(index < interval.end, space))
    for domain in definition.domains:
        for variable, (low, count) in zip(domain, domain.bounds, strict=True):
            index = Index(variable.name)
            points = points.intersect(to_set(low <= index, space))
            points = points.intersect(to_set(index < low + count, space))
        for condition in domain.conditions:
            points = points.intersect(to_set(condition, space))
    return points


def pure_variables(computed: Computed, definition: Definition) -> list[str]:
    """The Vars in the subscripts of a definition: the loops around it, outermost last."""
    used = set(map(str, definition.subscripts))
    return [name for name in computed.func.variables if name in used]


def _all_calls(definition: Definition) -> list[Call]:
    expressions = (definition.value, *definition.subscripts)
    return [call for expression in expressions for call in calls(expression)]


def _grow_by_updates(
    computed: Computed, inferred: dict[str, Region], context: isl.Set, sizes: Sequence[str]
) -> None:
    """Extend the region of a Func by the elements that its own updates write and read."""
    region = inferred.get(computed.name)
    if region is None:
        raise FrontendError(f"Func '{computed.name}' is never read")
    for definition in computed.definitions[1:]:
        domain = domain_of(computed, definition, region, context, sizes)
        own_calls = (call for call in _all_calls(definition) if call.array == computed.name)
        for subscripts in [definition.subscripts, *(call.subscripts for call in own_calls)]:
            _join(inferred, computed.name, _touched(definition, subscripts, domain))


def _touched(
    definition: Definition, subscripts: Sequence[Expression], domain: isl.Set
) -> Region | None:
    """The bounding box of an access over a domain; None if the domain is empty."""
    if domain.is_empty():
        return None
    intervals = []
    for subscript in subscripts:
        where = "" if definition.location is None else f" ({definition.location})"
        if calls(subscript):
            raise FrontendError(
                f"subscript '{subscript}' depends on data; expected an affine one{where}"
            )
        try:
            function = to_pw_aff(subscript, domain.get_space())
        except KernelError as error:
            raise FrontendError(f"subscript of a Func or an image: {error}{where}") from None
        values = isl.Map.from_pw_aff(function).intersect_domain(domain).range()
        if not values.is_bounded():
            raise FrontendError(f"subscript '{subscript}' has no bounds{where}")
        intervals.append(Interval(values.dim_min(0).coalesce(), values.dim_max(0).coalesce()))
    return tuple(intervals)


def _join(inferred: dict[str, Region], name: str, region: Region | None) -> None:
    if region is None:
        return
    if name in inferred:
        region = tuple(a.joined(b) for a, b in zip(inferred[name], region, strict=True))
    inferred[name] = region


def _on(context: isl.Set, function: isl.PwAff) -> isl.PwAff:
    """Restrict a function without dimensions to the context, as a function of the sizes alone."""
    return function.project_domain_on_params().intersect_params(context)


def _one_like(function: isl.PwAff) -> isl.PwAff:
    space = function.get_domain_space()
    return isl.PwAff.from_aff(isl.Aff.val_on_domain(isl.LocalSpace.from_space(space), isl.Val(1)))
