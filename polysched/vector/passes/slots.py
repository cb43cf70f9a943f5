"""Slots: elements and vectors of an array at addresses that are invariant in a region.

A *region* is a sequential loop or a buffer's lifetime. Its accesses to an array go to a fixed set
of *slots* if each access touches a single element or a contiguous vector with subscripts that are
invariant in the region, and if any two slots are provably equal or disjoint. The region may also
access other elements of an argument or temporary that are provably outside of all slots. A slot
may be accessed under conditions that are invariant in the region, as in the last rows and columns
of a tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import Intervals, LinearForm
from polysched.ir.expr.traversal import loads
from polysched.ir.expr.traversal import walk as walk_expression
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    InstructionCall,
    LoopNode,
    TileCall,
    Transposition,
    controls,
    variable_interval,
    walk,
)
from polysched.vector.classify import lane_steps, surely_runs
from polysched.vector.passes.clearance import is_clear


@dataclass(frozen=True)
class Lanes:
    """The active lanes ``range(lower, upper, step)`` of a vector of ``count`` lanes."""

    lower: Expression
    upper: Expression
    step: int
    count: int


@dataclass(frozen=True)
class Slot:
    """An element or vector: the subscripts of its first element and, for a vector, the lanes."""

    array: str
    place: tuple[LinearForm, ...]
    vector: Lanes | None
    """None for a single element."""


Guards: TypeAlias = tuple[Expression, ...]
"""Conditions that all hold, outermost first."""


@dataclass(frozen=True)
class _Context:
    """The loops and conditions around an access in a region.

    Attributes:
        vector: the vector loop around the access.
        guards: the conditions around the access, outermost first; None if one of them selects lanes
            or runs the access if it does not hold.
        certain: whether each run of the region reaches the access, ignoring conditions.
        around: the other loops of the region around the access, outermost first.
        threaded: whether one of the loops in ``around`` is parallel.
    """

    vector: For | None = None
    guards: Guards | None = ()
    certain: bool = True
    around: tuple[For, ...] = ()
    threaded: bool = False

    @cached_property
    def bound(self) -> frozenset[str]:
        """The variables of the region's loops around the access, except the lane variable."""
        return frozenset(loop.variable for loop in self.around)

    @cached_property
    def fixed_guards(self) -> Guards | None:
        """The guards, if a run of the region reaches the access exactly if they hold before it."""
        if self.guards is None or not self.certain:
            return None
        inner = (node for guard in self.guards for node in walk_expression(guard))
        varies = any(
            isinstance(node, Load) or (isinstance(node, Index) and node.name in self.bound)
            for node in inner
        )
        return None if varies else self.guards


@dataclass(frozen=True)
class _Touch:
    """An access inside a region, with its context."""

    access: Access
    is_write: bool
    at: _Context


@dataclass(frozen=True, eq=False)
class Region:
    """A sequential loop or the body of a buffer's lifetime, with intervals of the names in scope.

    Promotion queries the slots of every array in every region, so the walk over a region is cached.
    """

    node: LoopNode
    known: Intervals

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The arrays that the region writes, in order."""
        return tuple(dict.fromkeys(assign.target.array for assign, _ in self._assigns))

    @cached_property
    def read(self) -> frozenset[str]:
        """The arrays that the region reads."""
        return frozenset(load.array for assign, _ in self._assigns for load in assign.reads)

    @cached_property
    def operands(self) -> frozenset[str]:
        """The arrays that bounds, conditions and instruction calls read from memory, and those of
        tile calls."""
        arrays: set[str] = set()
        for node in walk(self.node):
            arrays.update(load.array for control in controls(node) for load in loads(control))
            if isinstance(node, InstructionCall):
                arrays.update(load.array for _, load in node.operands if isinstance(load, Load))
            elif isinstance(node, TileCall):
                arrays.update(tile.first.array for _, tile in node.tiles)
        return frozenset(arrays)

    @cached_property
    def born(self) -> frozenset[str]:
        """The buffers whose lifetimes are inside the region."""
        return frozenset(node.array for node in walk(self.node) if isinstance(node, Allocate))

    def assigns_to(self, array: str) -> Iterator[tuple[Assign, _Context]]:
        """The assignments that access an array, each with its context."""
        return (assignment for assignment in self._assigns if array in assignment[0].arrays)

    @cached_property
    def _assigns(self) -> list[tuple[Assign, _Context]]:
        return list(_placed(self.node, self.known, _Context()))


def find_slots(
    array: str, region: Region, budget: int, *, needs_memory: bool, along: int = -1
) -> dict[Slot, Guards] | None:
    """The slots of an array in a region; None if its accesses do not go to a fixed set of slots.

    Returns:
        For each slot, the conditions under which the region accesses it: exactly if all of them
        hold. They are irrelevant if ``needs_memory`` is false.

    Args:
        budget: the largest number of slots that can be promoted.
        needs_memory: whether slots are loaded before the region and stored after it; these
            transfers must not touch elements that the region does not touch.
        along: the array's `Array.lane_dimension`.
    """
    if any(context.threaded for _, context in region.assigns_to(array)):
        return None  # threads do not share registers
    if array in region.operands:
        return None
    slots: dict[Slot, Guards] = {}
    moving: list[_Touch] = []
    for touch in _touches(region, array):
        if any(load.array in region.written for load in _inner_loads(touch.access)):
            return None  # the region writes an array that the subscripts read
        slot = slot_of(
            touch.access,
            touch.at.vector,
            is_write=touch.is_write,
            bound=touch.at.bound,
            needs_memory=needs_memory,
            along=along,
        )
        if slot is None:
            if not needs_memory:
                return None
            moving.append(touch)
        elif not needs_memory:
            slots[slot] = ()
        else:
            guards = touch.at.fixed_guards
            if guards is not None and slot in slots:
                guards = _weaker(slots[slot], guards)
            if guards is None:
                return None
            slots[slot] = guards
    if not slots or len(slots) > budget or not _all_apart(list(slots), along):
        return None
    if not all(_is_clear(slot, touch, region.known, along) for touch in moving for slot in slots):
        return None
    return slots


def _weaker(first: Guards, second: Guards) -> Guards | None:
    """The shorter of two lists of conditions if the longer list begins with it; else None."""
    shorter, longer = sorted((first, second), key=len)
    return shorter if longer[: len(shorter)] == shorter else None


def _placed(
    node: LoopNode, known: Intervals, context: _Context
) -> Iterator[tuple[Assign, _Context]]:
    """All assignments inside a region, each with its context."""
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
        case If(condition=condition, then=then, otherwise=otherwise):
            guards = context.guards
            if guards is not None:
                guards = None if context.vector else (*guards, condition)
            yield from _placed(then, known, replace(context, guards=guards))
            if otherwise is not None:
                yield from _placed(otherwise, known, replace(context, guards=None))
        case Block(children=children):
            for child in children:
                yield from _placed(child, known, context)
        case Allocate(body=body):
            yield from _placed(body, known, context)
        case (
            InstructionCall(meaning=meaning)
            | TileCall(meaning=meaning)
            | Transposition(meaning=meaning)
        ):
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
    """The slot of an access; None if it is not invariant, or not an element or contiguous vector.

    If the register is never copied from or to memory, the slot covers all lanes, because the mask
    of each statement selects the lanes that it writes.

    Args:
        vector: the vector loop around the access.
        bound: the variables of the region's loops around the access.
        needs_memory: as for :func:`find_slots`.
        along: as for :func:`find_slots`.
    """
    lane = None if vector is None else vector.variable
    steps = lane_steps(access.subscripts, lane)
    varying = bound if lane is None else bound | {lane}
    if any(form.uses(varying) for form in steps.first):
        return None
    if steps.is_broadcast:
        # The mask decides at run time which lane writes the element.
        is_known = vector is None or not is_write
        return Slot(access.array, steps.first, None) if is_known else None
    if vector is None or not steps.are_along(along):
        return None
    if not needs_memory:
        lanes = Lanes(Constant(0), Constant(vector.lanes), 1, vector.lanes)
        return Slot(access.array, steps.first, lanes)
    ends = (vector.lower, vector.upper)
    if any(linear_form(end, {}).uses(varying) for end in ends):
        return None
    return Slot(access.array, steps.first, Lanes(*ends, vector.step, vector.lanes))


def _is_clear(slot: Slot, touch: _Touch, known: Intervals, along: int) -> bool:
    """Whether an access that varies in the region provably never touches a slot."""
    extents = [1] * len(slot.place)
    if slot.vector is not None:
        extents[along] = slot.vector.count
    at = touch.at
    around = at.around if at.vector is None else (*at.around, at.vector)
    return is_clear(slot.place, extents, touch.access.subscripts, around, known)


def _all_apart(slots: list[Slot], along: int) -> bool:
    return all(
        _apart(slot, other, along)
        for index, slot in enumerate(slots)
        for other in slots[index + 1 :]
    )


def _apart(first: Slot, second: Slot, along: int) -> bool:
    """Whether two different slots provably share no element."""
    lanes = along + len(first.place)
    for position, (a, b) in enumerate(zip(first.place, second.place, strict=True)):
        difference = a.constant - b.constant
        if a.terms != b.terms or difference == 0:
            continue
        if position != lanes:
            return True
        vector = (first if difference < 0 else second).vector
        width = 1 if vector is None else vector.count
        if abs(difference) >= width:
            return True
    return False
