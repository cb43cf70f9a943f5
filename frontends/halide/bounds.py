"""Bounds inference: the region of each Func and image that a region of the output needs.

Regions are boxes, found by isl from the exact domains of the loops: the least and the greatest
value of each subscript, as functions of the sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polysched.errors import FrontendError, KernelError
from polysched.frontends.halide.inlining import Algorithm, Computed
from polysched.frontends.halide.language import Call, Definition, calls
from polysched.ir.affine import from_pw_aff, instance_space, to_pw_aff, to_set
from polysched.ir.expressions import Expression, Index, Parameter
from polysched.ir.traversal import walk


@dataclass(frozen=True)
class Interval:
    """The values of a dimension, from ``low`` to ``high``: functions of the sizes."""

    low: isl.PwAff
    high: isl.PwAff

    @property
    def first(self) -> Expression:
        """The least value."""
        return from_pw_aff(self.low)

    @property
    def end(self) -> Expression:
        """The first value behind the greatest."""
        return from_pw_aff(self.high.add(_one_like(self.high)))

    @property
    def extent(self) -> Expression:
        """How many there are."""
        return from_pw_aff(self.high.sub(self.low).add(_one_like(self.high)))

    def joined(self, other: Interval) -> Interval:
        """The smallest interval around both."""
        return Interval(self.low.union_min(other.low), self.high.union_max(other.high))


Region = tuple[Interval, ...]


def sizes_of(algorithm: Algorithm, extents: Sequence[Expression]) -> tuple[str, ...]:
    """The names of all sizes, those of the output first."""
    expressions = list(extents)
    for computed in algorithm.funcs:
        for one in computed.definitions:
            expressions += [one.value, *one.subscripts]
            for domain in one.domains:
                expressions += [end for bound in domain.bounds for end in bound]
                expressions += domain.conditions
    for image in algorithm.images:
        expressions += image.extents or ()
    names = (n.name for one in expressions for n in walk(one) if isinstance(n, Parameter))
    return tuple(dict.fromkeys(names))


def regions(
    algorithm: Algorithm, extents: Sequence[Expression], context: isl.Set, sizes: Sequence[str]
) -> dict[str, Region]:
    """The region of every Func and image, by name.

    Args:
        algorithm: what is computed.
        extents: of the output, the innermost dimension first; it begins at 0.
        context: the values of the sizes.
        sizes: their names.

    Raises:
        FrontendError: a subscript is not affine, or a Func is read nowhere.
    """
    output = algorithm.funcs[-1]
    if len(extents) != len(output.func.variables):
        raise FrontendError(
            f"the output '{output.name}' has {len(output.func.variables)} dimensions; its region "
            f"is given by {len(extents)} extents"
        )
    space = instance_space(sizes, "", ())
    found: dict[str, Region] = {
        output.name: tuple(
            Interval(
                *(_on(context, to_pw_aff(end, space)) for end in (extent - extent, extent - 1))
            )
            for extent in extents
        )
    }
    for computed in reversed(algorithm.funcs):
        _grow_by_updates(computed, found, context, sizes)
        for definition in computed.definitions:
            domain = domain_of(computed, definition, found[computed.name], context, sizes)
            for call in _all_calls(definition):
                if call.array != computed.name:
                    _join(found, call.array, _touched(definition, call.subscripts, domain))
    return found


def domain_of(
    computed: Computed,
    definition: Definition,
    region: Region,
    context: isl.Set,
    sizes: Sequence[str],
) -> isl.Set:
    """The points over which a definition runs: Vars over the region, then reduction variables."""
    variables = pure_variables(computed, definition)
    inner = [one.name for domain in definition.domains for one in domain]
    space = instance_space(sizes, "", [*variables, *inner])
    points = isl.Set.universe(space).intersect_params(context)
    for name, interval in zip(computed.func.variables, region, strict=True):
        if name in variables:
            index = Index(name)
            points = points.intersect(to_set(interval.first <= index, space))
            points = points.intersect(to_set(index < interval.end, space))
    for domain in definition.domains:
        for one, (low, count) in zip(domain, domain.bounds, strict=True):
            index = Index(one.name)
            points = points.intersect(to_set(low <= index, space))
            points = points.intersect(to_set(index < low + count, space))
        for condition in domain.conditions:
            points = points.intersect(to_set(condition, space))
    return points


def pure_variables(computed: Computed, definition: Definition) -> list[str]:
    """The Vars that a definition runs over: all of the pure one, those in an update's place."""
    used = set(map(str, definition.subscripts))
    return [name for name in computed.func.variables if name in used]


def _all_calls(definition: Definition) -> list[Call]:
    return [call for one in (definition.value, *definition.subscripts) for call in calls(one)]


def _grow_by_updates(
    computed: Computed, found: dict[str, Region], context: isl.Set, sizes: Sequence[str]
) -> None:
    """Join the region of a Func with what its own updates write and read."""
    region = found.get(computed.name)
    if region is None:
        raise FrontendError(f"Func '{computed.name}' is read nowhere")
    for definition in computed.definitions[1:]:
        domain = domain_of(computed, definition, region, context, sizes)
        places = [definition.subscripts]
        places += [one.subscripts for one in _all_calls(definition) if one.array == computed.name]
        for place in places:
            _join(found, computed.name, _touched(definition, place, domain))


def _touched(
    definition: Definition, subscripts: Sequence[Expression], domain: isl.Set
) -> Region | None:
    """The box around the places that subscripts name; None where the domain is empty."""
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


def _join(found: dict[str, Region], name: str, region: Region | None) -> None:
    if region is None:
        return
    known: Mapping[str, Region] = found
    if name in known:
        region = tuple(a.joined(b) for a, b in zip(known[name], region, strict=True))
    found[name] = region


def _on(context: isl.Set, function: isl.PwAff) -> isl.PwAff:
    """A function without dimensions as one on the sizes alone."""
    return function.project_domain_on_params().intersect_params(context)


def _one_like(function: isl.PwAff) -> isl.PwAff:
    space = function.get_domain_space()
    return isl.PwAff.from_aff(isl.Aff.val_on_domain(isl.LocalSpace.from_space(space), isl.Val(1)))
