"""Turn inout arrays into outputs where the kernel overwrites every element before reading it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from types import MappingProxyType

import islpy as isl

from polysched.errors import PolyschedError
from polysched.ir.core.kernel import Array, Kernel, Role, access_relation, extent_set
from polysched.ir.isl.budget import time_budget
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.legality.checks.bounds import undefined_violation
from polysched.schedule.core.program import initial_program

_QUOTA = 500_000
"""isl operations for one question; an array stays inout if they do not suffice."""


@time_budget()
def with_outputs(kernel: Kernel) -> Kernel:
    """Make every inout array an output if all its elements are written, none read before.

    If this cannot be proved, the array stays inout, which is always correct.
    """
    candidates = {name for name in kernel.arrays if _is_all_written(kernel, name)}
    while candidates:
        changed = replace(kernel, arrays=_as_outputs(kernel.arrays, candidates))
        try:
            with operation_quota(_QUOTA):
                violation = undefined_violation(initial_program(changed))
        except (isl.Error, QuotaExceededError, PolyschedError):
            return kernel
        if violation is None:
            return changed
        if violation.array not in candidates:
            return kernel
        candidates.remove(violation.array)
    return kernel


def _as_outputs(arrays: Mapping[str, Array], names: set[str]) -> Mapping[str, Array]:
    return MappingProxyType(
        {
            name: replace(array, role=Role.OUTPUT) if name in names else array
            for name, array in arrays.items()
        }
    )


def _is_all_written(kernel: Kernel, name: str) -> bool:
    """Whether the kernel writes every element of an inout array, for all sizes."""
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
