"""Storage: elements that share memory, the tiles of a buffer or storage that a step has folded.

Dependences relate the accesses to one element, as if every element had memory of its own. What the
memory demands besides is judged by values. A value begins at its *root*, a write ``p`` that does
not read what it overwrites, and lives until its last read ``r``, through all the updates that carry
it on (:func:`polysched.dependence.values.root_flows`). A write ``w`` to another element in the same
place spoils it if and only if it may come in between::

    spoilt(r -> w) = value^-1(r -> p) . (met(p -> w) - before^-1(w -> p)) - before(r -> w)

A write of the same value, copied from one element of an array that nobody writes, spoils nothing.
``before`` holds the pairs that the executed tree keeps in that order. What the tiles of a reduction
must keep besides, :mod:`polysched.legality.interruption` asks.

Mostly none of this has to be asked: a buffer's lifetimes are contiguous, and the dependences that
``fold_storage`` added are kept.
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
from polysched.ir.expressions import Load
from polysched.ir.kernel import Access, Array, access_relation
from polysched.ir.tree import Loop, Node
from polysched.legality.interruption import interrupted
from polysched.legality.order import Break, Pairs, breaks, keeps, unordered
from polysched.legality.storage_fault import StorageFault
from polysched.legality.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.witness import occurrence
from polysched.schedule.elements import meant_elements
from polysched.schedule.lifetime import (
    in_one_iteration,
    is_covered,
    lifetime,
    references_to,
)
from polysched.schedule.program import Program


class UndecidedError(ScheduleError):
    """What is needed to judge the storage of an array is not known."""


def storage_violation(program: Program, tree: Node) -> Violation | None:
    """Two instances of which one spoils the memory that the other needs, the smallest there are.

    Args:
        tree: the program's tree as it is executed; it keeps the order of everything else.

    Raises:
        UndecidedError: whether the memory is spoilt cannot be told.
    """
    for array in program.arrays.values():
        faults = list(array_faults(program, tree, array))
        if faults:
            return _violation(program, min(faults, key=lambda fault: fault.rank))
    return None


def storage_faults(program: Program, tree: Node) -> Iterator[StorageFault]:
    """All that is wrong with the storage, under the same conditions."""
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
    """An array whose elements share memory.

    Attributes:
        around: the loops of which each iteration has memory of its own.
        elements: for each reference, from its instances to the elements that it means.
        places: the same to the places in memory.
        values: from the root of each value to its reads.
    """

    program: Program
    tree: Node
    array: Array
    around: tuple[Loop, ...]
    elements: Mapping[Reference, isl.Map]
    places: Mapping[Reference, isl.Map]
    values: tuple[Dependence, ...]

    @property
    def writes(self) -> list[Reference]:
        return [one for one in self.elements if not one.position]

    def met(self, one: Reference, other: Reference) -> isl.Map:
        """The instances of two references that touch different elements in one place."""
        place, element = (
            of[one].apply_range(of[other].reverse()) for of in (self.places, self.elements)
        )
        ends = (one.statement, other.statement)
        return in_one_iteration(self.program, place.subtract(element), ends, self.around)

    def fault(
        self,
        cause: Cause,
        ends: tuple[Reference, ...],
        instances: isl.Map | isl.Set,
        place: Break | None = None,
    ) -> Iterator[StorageFault]:
        """The fault that there is if there are such instances."""
        if not instances.is_empty():
            yield StorageFault(self.array, cause, self.around, ends, instances, place)


def array_faults(program: Program, tree: Node, array: Array) -> Iterator[StorageFault]:
    """All that is wrong with the storage of one array, under the same conditions."""
    life = lifetime(program, tree, array) if array.tile else None
    yield from interrupted(program, tree, array, life.position.around if life else ())
    apart = where(program.dependences, lambda one: one.storage and one.array == array.name)
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
        {one: _places(program, array, one) for one in elements},
        root_flows(array.name, program.statements, program.dependences),
    )
    yield from _lost(shared)
    yield from _spoilt(shared)
    yield from _stored_at_once(shared)


def _is_defined(program: Program, array: Array) -> bool:
    """Whether all that is read of an array is surely written before. Of a declared one the kernel
    was asked; what ``privatize`` has made of a buffer is no buffer any more.
    """
    return array.name in program.kernel.arrays or is_covered(program, array, ())


def _undecided(program: Program, array: Array) -> str:
    references = [
        program.statements[one.statement].accesses[one.position]
        for one in references_to(program, array)
    ]
    if any(access.is_data_dependent for access in references):
        return (
            f"subscripts of '{array.name}' depend on data, and its tiles take turns in one piece "
            "of memory: nobody knows which values are still needed. Make the buffer at an outer "
            "loop, or keep the loops that make and use a tile together"
        )
    return (
        f"elements in '{array.name}' share memory since a fold_storage() before the copy, and run "
        "in another order now: fold the storage after that step, or to a larger size"
    )


def _places(program: Program, array: Array, reference: Reference) -> isl.Map:
    statement = program.statements[reference.statement]
    relation = access_relation(statement, statement.accesses[reference.position])
    return relation.project_out(isl.dim_type.out, 0, array.tile)


def _lost(shared: _Shared) -> Iterator[StorageFault]:
    """A read in whose memory nothing, or nothing of that iteration, has been written."""
    for read in shared.elements:
        if not read.position:
            continue
        unfed = shared.program.statements[read.statement].domain
        for value in shared.values:
            if value.sink == read:
                unfed = unfed.subtract(value.relation.range())
                ends = (value.source.statement, read.statement)
                kept = in_one_iteration(shared.program, value.relation, ends, shared.around)
                gone = value.relation.subtract(kept)
                yield from shared.fault(Cause.LIFETIME, (value.source, read), gone)
        yield from shared.fault(Cause.LIFETIME, (read,), unfed)


def _spoilt(shared: _Shared) -> Iterator[StorageFault]:
    """A write to another element that may come between a value's root and a read of it."""
    cause = Cause.OVERWRITTEN if shared.array.name in shared.program.folded else Cause.TWO_TILES
    for value, write in product(shared.values, shared.writes):
        root, read = value.source, value.sink
        met = shared.met(root, write).intersect_domain(value.relation.domain())
        met = _with_other_values(shared.program, root.statement, write.statement, met)
        not_before = unordered(shared.tree, write, root, met.reverse())
        between = value.relation.reverse().apply_range(not_before.reverse())
        spoilt = unordered(shared.tree, read, write, between)
        yield from shared.fault(cause, (read, write), spoilt)


def _with_other_values(program: Program, one: str, other: str, pairs: isl.Map) -> isl.Map:
    """The pairs of writes without those that copy one element of an array that is never written."""
    elements = [_copied_input(program, name) for name in (one, other)]
    if elements[0] is None or elements[1] is None:
        return pairs
    return pairs.subtract(elements[0].apply_range(elements[1].reverse()))


def _copied_input(program: Program, name: str) -> isl.Map | None:
    """From instances of a statement to the element it copies of an array that is never written."""
    statement = program.statements[name]
    written = {other.target.array for other in program.statements.values()}
    if not isinstance(statement.value, Load) or statement.value.array in written:
        return None
    copied = Access(statement.value.array, statement.value.subscripts)
    return None if copied.is_data_dependent else access_relation(statement, copied)


def _stored_at_once(shared: _Shared) -> Iterator[StorageFault]:
    """Two threads, or lanes, that store in one place: what nobody reads, or the same value."""
    domains = {one: shared.program.statements[one.statement].domain for one in shared.writes}
    unread = {
        write: reduce(
            isl.Set.subtract,
            (value.relation.domain() for value in shared.values if value.source == write),
            domain,
        )
        for write, domain in domains.items()
    }
    for one, other in product(shared.writes, shared.writes):
        every = shared.met(one, other)
        met = every.intersect_domain(unread[one]).intersect_range(unread[other])
        ends = (one.statement, other.statement)
        met = met.union(every.subtract(_with_other_values(shared.program, *ends, every)))
        pairs = Pairs(*ends, met, reorderable=True)
        if not met.is_empty():
            for place in breaks(shared.tree, pairs):
                is_vector = place.cause is Cause.REDUCTION_LANES
                cause = Cause.LANES if is_vector else Cause.THREADS
                yield from shared.fault(cause, (one, other), place.relation, place)
