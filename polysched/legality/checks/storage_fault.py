"""Storage faults: instances that conflict in the memory of an array."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.core.kernel import Array
from polysched.ir.core.tree import Loop
from polysched.ir.isl.smallest import SmallPoint, smallest_pair, smallest_point
from polysched.legality.checks.order import Break
from polysched.legality.verdicts.verdict import Cause


@dataclass(frozen=True, eq=False)
class StorageFault:
    """Conflicts in the storage of an array, for one cause and one pair of references.

    Attributes:
        around: the loops each of whose iterations has separate memory.
        ends: the two conflicting references, or one reference that reads an undefined element.
        instances: the conflicting pairs of instances, or the instances of the single reference.
        place: the loop that runs both instances at once, if that is the fault.
    """

    array: Array
    cause: Cause
    around: tuple[Loop, ...]
    ends: tuple[Reference, ...]
    instances: isl.Map | isl.Set
    place: Break | None = None

    @cached_property
    def smallest(self) -> tuple[SmallPoint, ...]:
        """The smallest instances, one for each end."""
        if isinstance(self.instances, isl.Map):
            return smallest_pair(self.instances)
        return (smallest_point(self.instances),)

    @property
    def rank(self) -> tuple[tuple[int, ...], ...]:
        """Sort key for witnesses: concurrent stores last, then the smallest numbers."""
        parameters = tuple(value for _, value in self.smallest[0].parameters)
        is_lost = self.place is None
        return ((not is_lost, *parameters), *(point.values for point in self.smallest))
