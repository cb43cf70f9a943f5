"""What the caller gives and gets: which written arrays are outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from types import MappingProxyType

import islpy as isl

from polysched.errors import PolyschedError
from polysched.ir.budget import time_budget
from polysched.ir.kernel import Array, Kernel, Role, access_relation, extent_set
from polysched.ir.quota import QuotaExceededError, operation_quota
from polysched.legality.bounds import undefined_violation
from polysched.schedule.program import initial_program

_QUOTA = 500_000


@time_budget()
def with_outputs(kernel: Kernel) -> Kernel:
    """The kernel with those inout arrays as outputs of which it writes every element, and reads
    none before.

    Where that cannot be told, an array stays as it is, which is always right.
    """
    candidates = {name for name in kernel.arrays if _is_all_written(kernel, name)}
    while candidates:
        found = replace(kernel, arrays=_as_outputs(kernel.arrays, candidates))
        try:
            with operation_quota(_QUOTA):
                violation = undefined_violation(initial_program(found))
        except (isl.Error, QuotaExceededError, PolyschedError):
            return kernel
        if violation is None:
            return found
        guilty = {name for name in candidates if name == violation.array}
        if not guilty:
            return kernel
        candidates -= guilty
    return kernel


def _as_outputs(arrays: Mapping[str, Array], names: set[str]) -> Mapping[str, Array]:
    return MappingProxyType(
        {
            name: replace(array, role=Role.OUTPUT) if name in names else array
            for name, array in arrays.items()
        }
    )


def _is_all_written(kernel: Kernel, name: str) -> bool:
    """Whether the kernel writes every element of an inout array, whatever the sizes are."""
    array = kernel.arrays[name]
    if array.role is not Role.INOUT:
        return False
    try:
        with operation_quota(_QUOTA):
            written = [
                access_relation(statement, statement.target).range()
                for statement in kernel.statements.values()
                if statement.target.array == name
            ]
            extent = extent_set(array, kernel.parameters).intersect_params(kernel.context)
            return bool(written) and bool(extent.is_subset(reduce(isl.Set.union, written)))
    except (isl.Error, QuotaExceededError):
        return False
