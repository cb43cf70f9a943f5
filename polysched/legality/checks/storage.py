"""Storage check: elements that share a memory slot must not clobber each other's live values.

Two elements share a slot if they belong to two tiles of one buffer, or if ``fold_storage`` maps
them to one slot. Dependences do not see this, because they treat each element as separate memory.

The check is by value. A value starts at its *root*, a write ``p`` that does not read the element
that it overwrites. The value is live until its last read ``r``, through all updates of the element
(:func:`polysched.dependence.values.root_flows`). A write ``w`` to another element of the same slot
clobbers the value if and only if ``w`` may run after ``p`` and before ``r``::

    clobbered(r -> w) = value^-1(r -> p) . (same_slot(p -> w) - before^-1(w -> p)) - before(r -> w)

``value`` relates roots to reads. ``same_slot`` relates accesses to different elements of one slot.
``before`` holds the pairs that the executed tree is sure to run in this order. A write of the same
value, copied from the same element of a read-only array, clobbers nothing.

:mod:`polysched.legality.checks.interruption` checks one more property of the tiles of a reduction.

Most schedules skip the check by value: it is not needed if the lifetimes of a buffer are contiguous
and the dependences that ``fold_storage`` added are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.table import where
from polysched.dependence.values import root_flows
from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Access, Array, access_relation
from polysched.ir.core.tree import Loop, Node
from polysched.ir.expr.expressions import Load
from polysched.legality.checks.interruption import interrupted
from polysched.legality.checks.order import Break, Pairs, breaks, keeps, unordered
from polysched.legality.checks.storage_fault import StorageFault
from polysched.legality.verdicts.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.verdicts.witness import occurrence
from polysched.schedule.buffers.elements import meant_elements
from polysched.schedule.buffers.lifetime import (
    in_one_iteration,
    is_covered,
    lifetime,
    references_to,
)
from polysched.schedule.core.program import Program


class UndecidedError(ScheduleError):
    """The storage of an array cannot be judged; the verdict is unknown."""


def storage_violation(program: Program, tree: Node) -> Violation | None:
    """Find the smallest pair of instances of which one clobbers a value that the other needs.

    Args:
        tree: the executed tree of the program; it must keep all dependences but those of storage.

    Raises:
        UndecidedError: the storage of an array cannot be judged.
    """
    for array in program.arrays.values():
        faults = list(array_faults(program, tree, array))
        if faults:
            return _violation(program, min(faults, key=lambda fault: fault.rank))
    return None


def storage_faults(program: Program, tree: Node) -> Iterator[StorageFault]:
    """Yield all storage faults; arguments and errors as for :func:`storage_violation`."""
    for array in program.arrays.values():
        yield from array_faults(program, tree, array)


def _violation(program: Program, fault: StorageFault) -> Violation:
    shown = [
        occurrence(program, end, point)
        for end, point in zip(fault.ends, fault.smallest, strict=True)
    ]
    witness = Witness(fault.smallest[0].parameters, *shown)
    name = fault.array.name
    if fault.place is None:
        loop = fault.around[-1].name if fault.around else None
        return Violation(ViolationKind.STORAGE, fault.cause, witness, array=name, loop=loop)
    kind = ViolationKind.VECTOR if fault.cause is Cause.LANES else ViolationKind.PARALLEL
    output = DependenceKind.OUTPUT
    return Violation(kind, fault.cause, witness, output, name, loop=fault.place.loop)


@dataclass(frozen=True, eq=False)
class _Shared:
    """Array whose elements share memory.

    Attributes:
        around: the loops each of whose iterations has separate memory.
        elements: for each reference, instance -> element.
        slots: for each reference, instance -> memory slot.
        values: flow dependences from the root of each value to its reads.
    """

    program: Program
    tree: Node
    array: Array
    around: tuple[Loop, ...]
    elements: Mapping[Reference, isl.Map]
    slots: Mapping[Reference, isl.Map]
    values: tuple[Dependence, ...]

    @property
    def writes(self) -> list[Reference]:
        return [reference for reference in self.elements if not reference.position]

    def same_slot(self, first: Reference, second: Reference) -> isl.Map:
        """Return the pairs of instances that touch different elements of one slot."""
        slot, element = (
            of[first].apply_range(of[second].reverse()) for of in (self.slots, self.elements)
        )
        ends = (first.statement, second.statement)
        return in_one_iteration(slot.subtract(element), ends, self.around)

    def fault(
        self,
        cause: Cause,
        ends: tuple[Reference, ...],
        instances: isl.Map | isl.Set,
        place: Break | None = None,
    ) -> Iterator[StorageFault]:
        """Yield a fault if ``instances`` is not empty."""
        if not instances.is_empty():
            yield StorageFault(self.array, cause, self.around, ends, instances, place)


def array_faults(program: Program, tree: Node, array: Array) -> Iterator[StorageFault]:
    """Yield all storage faults of one array; as for :func:`storage_violation`."""
    life = lifetime(program, tree, array) if array.tile else None
    yield from interrupted(program, tree, array, life.position.around if life else ())
    apart = where(
        program.dependences,
        lambda dependence: dependence.storage and dependence.array == array.name,
    )
    is_whole = life.is_contiguous if life else _is_defined(program, array)
    if is_whole and keeps(tree, apart):
        return
    elements = meant_elements(program, array)
    if elements is None:
        raise UndecidedError(_undecided(program, array))
    shared = _Shared(
        program,
        tree,
        array,
        life.position.around if life else (),
        elements,
        {reference: _slots(program, array, reference) for reference in elements},
        root_flows(array.name, program.statements, program.dependences),
    )
    yield from _undefined_reads(shared)
    yield from _clobbered(shared)
    yield from _stored_at_once(shared)


def _is_defined(program: Program, array: Array) -> bool:
    """Whether every read of an array certainly sees a written element.

    The check of the kernel proves this for declared arrays. Others, such as a buffer that
    ``privatize`` has expanded, are checked here.
    """
    return array.name in program.kernel.arrays or is_covered(program, array, ())


def _undecided(program: Program, array: Array) -> str:
    references = [
        program.statements[reference.statement].accesses[reference.position]
        for reference in references_to(program, array)
    ]
    if any(access.is_data_dependent for access in references):
        return (
            f"subscripts of '{array.name}' depend on data, and its tiles take turns in one piece "
            "of memory: it is unknown which values are still live. Make the buffer at an outer "
            "loop, or keep the loops that make and use a tile together"
        )
    return (
        f"elements in '{array.name}' share memory since a fold_storage() before the copy, and run "
        "in another order now: fold the storage after that step, or to a larger size"
    )


def _slots(program: Program, array: Array, reference: Reference) -> isl.Map:
    statement = program.statements[reference.statement]
    relation = access_relation(statement, statement.accesses[reference.position])
    return relation.project_out(isl.dim_type.out, 0, array.tile)


def _undefined_reads(shared: _Shared) -> Iterator[StorageFault]:
    """Find reads of a slot that nothing, or nothing of their iteration, has written."""
    for read in shared.elements:
        if not read.position:
            continue
        undefined = shared.program.statements[read.statement].domain
        for value in shared.values:
            if value.sink == read:
                undefined = undefined.subtract(value.relation.range())
                ends = (value.source.statement, read.statement)
                kept = in_one_iteration(value.relation, ends, shared.around)
                gone = value.relation.subtract(kept)
                yield from shared.fault(Cause.LIFETIME, (value.source, read), gone)
        yield from shared.fault(Cause.LIFETIME, (read,), undefined)


def _clobbered(shared: _Shared) -> Iterator[StorageFault]:
    """Find writes to another element of a slot that may run between a root and its read."""
    cause = Cause.OVERWRITTEN if shared.array.name in shared.program.folded else Cause.TWO_TILES
    for value, write in product(shared.values, shared.writes):
        root, read = value.source, value.sink
        same_slot = shared.same_slot(root, write).intersect_domain(value.relation.domain())
        same_slot = _with_other_values(shared.program, root.statement, write.statement, same_slot)
        not_before = unordered(shared.tree, write, root, same_slot.reverse())
        between = value.relation.reverse().apply_range(not_before.reverse())
        clobbered = unordered(shared.tree, read, write, between)
        yield from shared.fault(cause, (read, write), clobbered)


def _with_other_values(program: Program, first: str, second: str, pairs: isl.Map) -> isl.Map:
    """Drop the pairs of writes that copy the same element of a read-only array."""
    elements = [_copied_input(program, name) for name in (first, second)]
    if elements[0] is None or elements[1] is None:
        return pairs
    return pairs.subtract(elements[0].apply_range(elements[1].reverse()))


def _copied_input(program: Program, name: str) -> isl.Map | None:
    """Map a copy statement's instances to the elements of a read-only array that they copy."""
    statement = program.statements[name]
    written = {other.target.array for other in program.statements.values()}
    if not isinstance(statement.value, Load) or statement.value.array in written:
        return None
    copied = Access(statement.value.array, statement.value.subscripts)
    return None if copied.is_data_dependent else access_relation(statement, copied)


def _stored_at_once(shared: _Shared) -> Iterator[StorageFault]:
    """Find threads or lanes that store into one slot at once, though they clobber no live value.

    :func:`_clobbered` ignores these stores: either nothing reads them, or both store the same
    value.
    """
    domains = {write: shared.program.statements[write.statement].domain for write in shared.writes}
    unread = {
        write: reduce(
            isl.Set.subtract,
            (value.relation.domain() for value in shared.values if value.source == write),
            domain,
        )
        for write, domain in domains.items()
    }
    for first, second in product(shared.writes, shared.writes):
        same_slot = shared.same_slot(first, second)
        conflicts = same_slot.intersect_domain(unread[first]).intersect_range(unread[second])
        ends = (first.statement, second.statement)
        same_value = same_slot.subtract(_with_other_values(shared.program, *ends, same_slot))
        conflicts = conflicts.union(same_value)
        pairs = Pairs(*ends, conflicts, reorderable=True)
        if not conflicts.is_empty():
            for place in breaks(shared.tree, pairs):
                is_vector = place.cause is Cause.REDUCTION_LANES
                cause = Cause.LANES if is_vector else Cause.THREADS
                yield from shared.fault(cause, (first, second), place.relation, place)
