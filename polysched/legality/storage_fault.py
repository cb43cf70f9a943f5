"""What is wrong with the storage of an array in one way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.kernel import Array
from polysched.ir.smallest import SmallPoint, smallest_pair, smallest_point
from polysched.ir.tree import Loop
from polysched.legality.order import Break
from polysched.legality.verdict import Cause


@dataclass(frozen=True, eq=False)
class StorageFault:
    """Everything that is wrong with the storage of an array in one way.

    Attributes:
        around: the loops of which each iteration has memory of its own.
        ends: the references that meet; a single one reads what nothing has written.
        instances: their pairs; of a single one its instances.
        place: where both run at once, if that is what is wrong.
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
        """For the choice of a witness: a value that is lost, then the smallest numbers."""
        parameters = tuple(value for _, value in self.smallest[0].parameters)
        is_lost = self.place is None
        return ((not is_lost, *parameters), *(point.values for point in self.smallest))
