"""Slots: elements and vectors of an array that stay the same throughout a region.

A *region* is a sequential loop or a buffer's lifetime. Its accesses to an array go to a fixed set
of *slots* if each of them touches a single element or a contiguous vector whose place does not
depend on anything that varies inside the region, and if any two slots are provably the same or
apart. An argument or temporary may be touched elsewhere too, provably clear of all slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Load
from polysched.ir.expr.linear import Intervals, LinearForm, linear_form
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    InstructionCall,
    LoopNode,
    Transposition,
    variable_interval,
    walk,
)
from polysched.vector.classify import lane_steps, surely_runs
from polysched.vector.passes.clearance import is_clear


@dataclass(frozen=True)
class Lanes:
    """The active lanes of a vector of ``count`` lanes: from lower to upper, excluded, by step."""

    lower: Expression
    upper: Expression
    step: int
    count: int


@dataclass(frozen=True)
class Slot:
    """A place in an array: the subscripts of the first element and, for a vector, the lanes."""

    array: str
    place: tuple[LinearForm, ...]
    vector: Lanes | None
    """None for a single element."""


@dataclass(frozen=True)
class _Context:
    """The position of an access in a region.

    Attributes:
        vector: the vector loop around it.
        guarded: whether a condition is around it.
        certain: whether each run of the region reaches it, conditions aside.
        around: the other loops of the region around it, outermost first.
        threaded: whether one of these is parallel.
    """

    vector: For | None = None
    guarded: bool = False
    certain: bool = True
    around: tuple[For, ...] = ()
    threaded: bool = False

    @cached_property
    def bound(self) -> frozenset[str]:
        """The variables of the loops of the region around it, lanes aside."""
        return frozenset(loop.variable for loop in self.around)


@dataclass(frozen=True)
class _Touch:
    """One access inside a region."""

    access: Access
    is_write: bool
    at: _Context


@dataclass(frozen=True, eq=False)
class Region:
    """A sequential loop or the body of a buffer's lifetime, with intervals of what is known around.

    A promotion asks for the slots of every array in every region, so a region is walked once.
    """

    node: LoopNode
    known: Intervals

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The arrays that are written, in order."""
        return tuple(dict.fromkeys(assign.target.array for assign, _ in self._assigns))

    @cached_property
    def read(self) -> frozenset[str]:
        """The arrays that are read."""
        return frozenset(load.array for assign, _ in self._assigns for load in assign.reads)

    @cached_property
    def operands(self) -> frozenset[str]:
        """The arrays that instruction calls read from memory."""
        return frozenset(
            operand.array
            for node in walk(self.node)
            if isinstance(node, InstructionCall)
            for _, operand in node.operands
            if isinstance(operand, Load)
        )

    @cached_property
    def born(self) -> frozenset[str]:
        """The buffers whose lifetimes are inside."""
        return frozenset(one.array for one in walk(self.node) if isinstance(one, Allocate))

    def assigns_to(self, array: str) -> Iterator[tuple[Assign, _Context]]:
        """The assignments that touch an array, and where they stand."""
        return (found for found in self._assigns if array in found[0].arrays)

    @cached_property
    def _assigns(self) -> list[tuple[Assign, _Context]]:
        return list(_placed(self.node, self.known, _Context()))


def find_slots(
    array: str,
    region: Region,
    budget: int,
    *,
    needs_memory: bool,
    along: int = -1,
) -> list[Slot] | None:
    """The slots of an array in a region, None if its accesses are not of that form.

    Args:
        array: the array.
        region: the region.
        budget: the most slots that are of use.
        needs_memory: whether slots are read before the region and written back after it, which
            has to touch nothing that the region itself does not.
        along: the array's `Array.lane_dimension`.
    """
    if any(context.threaded for _, context in region.assigns_to(array)):
        return None  # threads do not share registers
    if array in region.operands:
        return None
    found: dict[Slot, None] = {}
    moving: list[_Touch] = []
    for touch in _touches(region, array):
        if any(load.array in region.written for load in _inner_loads(touch.access)):
            return None  # the place moves with what is written
        slot = slot_of(
            touch.access,
            touch.at.vector,
            is_write=touch.is_write,
            bound=touch.at.bound,
            needs_memory=needs_memory,
            along=along,
        )
        if slot is not None and needs_memory and (touch.at.guarded or not touch.at.certain):
            return None
        if slot is not None:
            found[slot] = None
        elif needs_memory:
            moving.append(touch)
        else:
            return None
    slots = list(found)
    if not slots or len(slots) > budget or not _all_apart(slots, along):
        return None
    if not all(_is_clear(slot, touch, region.known, along) for touch in moving for slot in slots):
        return None
    return slots


def _placed(
    node: LoopNode, known: Intervals, context: _Context
) -> Iterator[tuple[Assign, _Context]]:
    """All assignments below a region, each with where it stands."""
    match node:
        case For(kind=LoopKind.VECTOR, body=body):
            yield from _placed(body, known, replace(context, vector=node))
        case For(body=body):
            is_root = not context.around
            inner = replace(
                context,
                around=(*context.around, node),
                certain=context.certain and (is_root or surely_runs(node, known)),
                threaded=context.threaded or node.kind is LoopKind.PARALLEL,
            )
            deeper = {**known, node.variable: variable_interval(node.lower, node.upper, known)}
            yield from _placed(body, deeper, inner)
        case If(then=then, otherwise=otherwise):
            inner = replace(context, guarded=True)
            yield from _placed(then, known, inner)
            if otherwise is not None:
                yield from _placed(otherwise, known, inner)
        case Block(children=children):
            for child in children:
                yield from _placed(child, known, context)
        case Allocate(body=body):
            yield from _placed(body, known, context)
        case InstructionCall(meaning=meaning) | Transposition(meaning=meaning):
            yield from _placed(meaning, known, context)
        case Assign():
            yield node, context


def _touches(region: Region, array: str) -> Iterator[_Touch]:
    """All accesses of a region to one array."""
    for assign, context in region.assigns_to(array):
        accesses = [(assign.target, True)] if assign.target.array == array else []
        accesses += [
            (Access(load.array, load.subscripts), False)
            for load in assign.reads
            if load.array == array
        ]
        for access, is_write in accesses:
            yield _Touch(access, is_write, context)


def _inner_loads(access: Access) -> Iterator[Load]:
    """The loads in the subscripts of an access."""
    for subscript in access.subscripts:
        if not linear_form(subscript, {}).is_affine:
            yield from loads(subscript)


def slot_of(
    access: Access,
    vector: For | None,
    *,
    is_write: bool = False,
    bound: frozenset[str] = frozenset(),
    needs_memory: bool,
    along: int = -1,
) -> Slot | None:
    """The slot of an access; None if it moves inside the region or is no element or vector.

    What is never copied from or to memory is a slot whatever lanes are active: which of them are
    written, each statement's own mask says.

    Args:
        vector: the vector loop around the access.
        bound: the variables of the loops around it inside the region.
        needs_memory: as for :func:`find_slots`.
        along: as for :func:`find_slots`.
    """
    lane = None if vector is None else vector.variable
    place = lane_steps(access.subscripts, lane)
    varying = bound if lane is None else bound | {lane}
    if any(form.uses(varying) for form in place.first):
        return None
    if place.is_broadcast:
        # The mask decides at run time which lane writes the element.
        is_known = vector is None or not is_write
        return Slot(access.array, place.first, None) if is_known else None
    if vector is None or not place.are_along(along):
        return None
    if not needs_memory:
        lanes = Lanes(Constant(0), Constant(vector.lanes), 1, vector.lanes)
        return Slot(access.array, place.first, lanes)
    ends = (vector.lower, vector.upper)
    if any(linear_form(end, {}).uses(varying) for end in ends):
        return None
    return Slot(access.array, place.first, Lanes(*ends, vector.step, vector.lanes))


def _is_clear(slot: Slot, touch: _Touch, known: Intervals, along: int) -> bool:
    """Whether an access that moves provably never comes to a slot."""
    extents = [1] * len(slot.place)
    if slot.vector is not None:
        extents[along] = slot.vector.count
    at = touch.at
    around = at.around if at.vector is None else (*at.around, at.vector)
    return is_clear(slot.place, extents, touch.access.subscripts, around, known)


def _all_apart(slots: list[Slot], along: int) -> bool:
    return all(
        _apart(one, other, along) for index, one in enumerate(slots) for other in slots[index + 1 :]
    )


def _apart(one: Slot, other: Slot, along: int) -> bool:
    """Whether two different slots provably share no element."""
    lanes = along + len(one.place)
    for position, (a, b) in enumerate(zip(one.place, other.place, strict=True)):
        difference = a.constant - b.constant
        if a.terms != b.terms or difference == 0:
            continue
        if position != lanes:
            return True
        vector = (one if difference < 0 else other).vector
        width = 1 if vector is None else vector.count
        if abs(difference) >= width:
            return True
    return False
