"""The conditions on sizes under which every access lies inside its array.

Python raises an error at the access outside; a compiled function checks the conditions at the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import islpy as isl

from polysched.errors import FrontendError
from polysched.frontends.python.source.annotations import Argument, spelled
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.ir.core.kernel import Kernel, Statement, access_relation, extent_set
from polysched.ir.core.limits import limited
from polysched.ir.expr.source import SourceLocation
from polysched.ir.semantics.points import with_parameters


@dataclass(frozen=True)
class _Outside:
    """An access that lies outside of its array for some sizes."""

    array: str
    location: SourceLocation | None
    sizes: isl.Set


def with_inferred_bounds(
    kernel: Kernel,
    source: FunctionSource,
    sizes: Mapping[str, int] | None,
    arguments: Iterable[Argument] = (),
) -> Kernel:
    """Restrict a kernel to the sizes for which no access lies outside of its array.

    Args:
        kernel: the kernel.
        source: the function, for errors.
        sizes: the sizes of the call for which it is compiled; None if they are not known.
        arguments: the arguments of that call, for errors.

    Raises:
        FrontendError: an access lies outside for these sizes, or for all.
    """
    with limited(FrontendError, f"the subscripts of '{kernel.name}' are too complex"):
        context = kernel.context
        for statement in kernel.statements.values():
            for outside in _outside(kernel, statement):
                if outside.sizes.intersect(context).is_empty():
                    continue
                is_given = (
                    sizes is not None and not with_parameters(outside.sizes, sizes).is_empty()
                )
                context = context.subtract(outside.sizes)
                if is_given or context.is_empty():
                    where = ", ".join(f"{name} = {size}" for name, size in (sizes or {}).items())
                    raise _error(source, outside, spelled(where, arguments))
        context = context.coalesce()
        statements = {
            name: replace(one, domain=one.domain.intersect_params(context))
            for name, one in kernel.statements.items()
        }
    return replace(kernel, context=context, statements=MappingProxyType(statements))


def _outside(kernel: Kernel, statement: Statement) -> list[_Outside]:
    found = []
    for access in statement.accesses:
        inside = extent_set(kernel.arrays[access.array], kernel.parameters)
        outside = access_relation(statement, access).subtract_range(inside)
        if not outside.is_empty():
            location = access.location or statement.location
            found.append(_Outside(access.array, location, outside.domain().params()))
    return found


def _error(source: FunctionSource, outside: _Outside, where: str) -> FrontendError:
    reason = f"an element outside of '{outside.array}' is accessed here"
    reason += f", with {where}" if where else ", whatever the sizes are"
    if outside.location is None or outside.location.line is None:
        return source.error(source.node, reason)
    return source.error_at(outside.location, reason)
