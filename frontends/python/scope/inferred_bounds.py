"""The conditions on sizes under which no access lies outside its array, or reads an unset variable.

Python raises an error at such an access; a compiled function checks the conditions at the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType

import islpy as isl

from polysched.errors import FrontendError, UnboundError
from polysched.frontends.python.source.annotations import Argument, spelled
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.ir.core.kernel import Kernel, Role, Statement, access_relation, extent_set
from polysched.ir.core.limits import limited
from polysched.ir.expr.source import SourceLocation
from polysched.ir.semantics.points import with_parameters
from polysched.legality.checks.bounds import undefined_reads
from polysched.schedule.core.program import initial_program


@dataclass(frozen=True)
class _Fault:
    """An access that raises an error in Python for some sizes."""

    reason: str
    location: SourceLocation | None
    sizes: isl.Set
    is_unset: bool = False


def with_inferred_bounds(
    kernel: Kernel,
    source: FunctionSource,
    sizes: Mapping[str, int] | None,
    arguments: Iterable[Argument] = (),
    unset: Mapping[str, str] = MappingProxyType({}),
) -> Kernel:
    """Restrict a kernel to the sizes for which Python raises no error.

    Args:
        kernel: the kernel.
        source: the function, for errors.
        sizes: the sizes of the call for which it is compiled; None if they are not known.
        arguments: the arguments of that call, for errors.
        unset: the numbers that get their first value in a loop or branch and are read after it, by
            their arrays. The outputs among them are returned.

    Raises:
        FrontendError: an access lies outside for these sizes, or for all.
        UnboundError: a number has no value where it is read for these sizes, or for all.
    """

    def without(kernel: Kernel, faults: Iterable[_Fault]) -> Kernel:
        context = kernel.context
        for fault in faults:
            if fault.sizes.intersect(context).is_empty():
                continue
            is_given = sizes is not None and not with_parameters(fault.sizes, sizes).is_empty()
            context = context.subtract(fault.sizes)
            if is_given or context.is_empty():
                where = ", ".join(f"{name} = {size}" for name, size in (sizes or {}).items())
                raise _error(source, fault, spelled(where, arguments))
        context = context.coalesce()
        statements = {
            name: replace(statement, domain=statement.domain.intersect_params(context))
            for name, statement in kernel.statements.items()
        }
        return replace(kernel, context=context, statements=MappingProxyType(statements))

    with limited(FrontendError, f"the subscripts of '{kernel.name}' are too complex"):
        outside = (
            instances for each in kernel.statements.values() for instances in _outside(kernel, each)
        )
        kernel = without(kernel, outside)
    if unset:
        with limited(FrontendError, f"the loops of '{kernel.name}' are too complex"):
            kernel = without(kernel, _unset(kernel, unset))
    return kernel


def _outside(kernel: Kernel, statement: Statement) -> Iterator[_Fault]:
    for access in statement.accesses:
        inside = extent_set(kernel.arrays[access.array], kernel.parameters)
        outside = access_relation(statement, access).subtract_range(inside)
        if not outside.is_empty():
            location = access.location or statement.location
            reason = f"an element outside of '{access.array}' is accessed here"
            yield _Fault(reason, location, outside.domain().params())


def _unset(kernel: Kernel, numbers: Mapping[str, str]) -> Iterator[_Fault]:
    """Yield the reads of numbers that have no value, also where a call returns them."""
    for array, variable in numbers.items():
        if kernel.arrays[array].role is Role.OUTPUT:
            writers = [
                statement
                for statement in kernel.statements.values()
                if statement.target.array == array
            ]
            written = [writer.domain.params() for writer in writers]
            sizes = reduce(isl.Set.subtract, written, kernel.context)
            reason = f"'{variable}' is returned, and gets no value here"
            location = writers[0].location if writers else None
            yield _Fault(reason, location, sizes, is_unset=True)
    read = {
        access.array
        for statement in kernel.statements.values()
        for access in statement.accesses[1:]
    }
    if not read.isdisjoint(numbers):
        program = initial_program(kernel)
        for reference, undefined in undefined_reads(program, numbers):
            statement = program.statements[reference.statement]
            access = statement.accesses[reference.position]
            reason = f"'{numbers[access.array]}' has no value here"
            location = access.location or statement.location
            yield _Fault(reason, location, undefined.domain().params(), is_unset=True)


def _error(source: FunctionSource, fault: _Fault, where: str) -> FrontendError:
    reason = fault.reason + (f", with {where}" if where else "")
    if fault.is_unset:
        reason += "; give it a value before the loops and branches"
    elif not where:
        reason += ", whatever the sizes are"
    if fault.location is None or fault.location.line is None:
        error = source.error(source.node, reason)
    else:
        error = source.error_at(fault.location, reason)
    return UnboundError(str(error), error.reason, error.location) if fault.is_unset else error
