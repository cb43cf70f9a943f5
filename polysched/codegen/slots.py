"""Slots: places in an array that all the accesses of a region keep going to.

A *region* is a sequential loop or a buffer's lifetime. Its accesses to an array go to a fixed set
of *slots* if each of them touches a single element or a contiguous vector whose place does not
depend on anything that varies inside the region, and if any two slots are provably the same or
apart. An argument or temporary may be touched elsewhere too, provably clear of all slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from polysched.codegen.clearance import is_clear
from polysched.ir.expressions import Constant, Expression, Index, Load
from polysched.ir.kernel import Access
from polysched.ir.linear import Intervals, LinearForm, interval, linear_form
from polysched.ir.traversal import loads, walk
from polysched.ir.tree import LoopKind
from polysched.loops.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    variable_interval,
)
from polysched.loops.nodes import walk as walk_nodes


@dataclass(frozen=True)
class Lanes:
    """The active lanes of a vector of ``count``: from lower to upper, excluded, by step."""

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
class _Touch:
    """One access inside a region."""

    access: Access
    is_write: bool
    vector: For | None
    guarded: bool
    certain: bool
    around: tuple[For, ...]

    @property
    def bound(self) -> frozenset[str]:
        """The variables of the loops of the region around it, lanes aside."""
        return _variables(self.around)


@dataclass(frozen=True)
class _Context:
    """Where in a region an access stands."""

    vector: For | None = None
    guarded: bool = False
    certain: bool = True
    around: tuple[For, ...] = ()


def _variables(loops: tuple[For, ...]) -> frozenset[str]:
    return frozenset(loop.variable for loop in loops)


def find_slots(
    array: str,
    region: LoopNode,
    known: Intervals,
    budget: int,
    *,
    needs_memory: bool,
    along: int = -1,
) -> list[Slot] | None:
    """The slots of an array in a region, None if its accesses are not of that form.

    Args:
        known: intervals of what is known around the region.
        budget: the most slots that are of use.
        needs_memory: whether slots are read before the region and written back after it, which
            has to touch nothing that the region itself does not.
        along: the array's `Array.lane_dimension`.
    """
    if _touched_by_threads(region, array):
        return None
    found: dict[Slot, None] = {}
    moving: list[_Touch] = []
    written = {assign.target.array for assign in assigns(region)}
    for touch in _touches(region, array, known, _Context()):
        if any(load.array in written for one in touch.access.subscripts for load in loads(one)):
            return None  # the place moves with what is written
        slot = slot_of(
            touch.access,
            touch.vector,
            is_write=touch.is_write,
            bound=touch.bound,
            needs_memory=needs_memory,
            along=along,
        )
        if slot is not None and needs_memory and (touch.guarded or not touch.certain):
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
    if not all(_is_clear(slot, touch, known, along) for touch in moving for slot in slots):
        return None
    return slots


def surely_runs(node: For, known: Intervals) -> bool:
    """Whether a loop is known to have an iteration."""
    extent = linear_form(node.upper, known).plus(linear_form(node.lower, known), -1)
    low, _ = interval(extent, known)
    return low is not None and low >= 1


def assigns(node: LoopNode) -> Iterator[Assign]:
    """All assignments below a node."""
    return (one for one in walk_nodes(node) if isinstance(one, Assign))


def arrays_read(node: LoopNode) -> frozenset[str]:
    """The arrays that assignments below a node read."""
    return frozenset(load.array for assign in assigns(node) for load in _reads(assign))


def _reads(assign: Assign) -> Iterator[Load]:
    """What an assignment reads, for its value and for the place of its target."""
    return (load for one in (assign.value, *assign.target.subscripts) for load in loads(one))


def _touched_by_threads(region: LoopNode, array: str) -> bool:
    """Whether a parallel loop inside a region touches an array: threads do not share registers."""
    return any(
        isinstance(node, For)
        and node.kind is LoopKind.PARALLEL
        and (array in arrays_read(node) or any(one.target.array == array for one in assigns(node)))
        for node in walk_nodes(region)
    )


def _touches(node: LoopNode, array: str, known: Intervals, context: _Context) -> Iterator[_Touch]:
    """All accesses below a region to one array."""
    match node:
        case For(kind=LoopKind.VECTOR, body=body):
            yield from _touches(body, array, known, replace(context, vector=node))
        case For(body=body):
            is_root = not context.around
            inner = replace(
                context,
                around=(*context.around, node),
                certain=context.certain and (is_root or surely_runs(node, known)),
            )
            deeper = {**known, node.variable: variable_interval(node.lower, node.upper, known)}
            yield from _touches(body, array, deeper, inner)
        case If(then=then, otherwise=otherwise):
            inner = replace(context, guarded=True)
            yield from _touches(then, array, known, inner)
            if otherwise is not None:
                yield from _touches(otherwise, array, known, inner)
        case Block(children=children):
            for child in children:
                yield from _touches(child, array, known, context)
        case Allocate(body=body):
            yield from _touches(body, array, known, context)
        case Assign(target=target):
            accesses = [(target, True)] if target.array == array else []
            accesses += [
                (Access(load.array, load.subscripts), False)
                for load in _reads(node)
                if load.array == array
            ]
            for access, is_write in accesses:
                yield _Touch(
                    access,
                    is_write,
                    context.vector,
                    context.guarded,
                    context.certain,
                    context.around,
                )


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
    lane = Index(vector.variable) if vector else None
    place = []
    steps = []
    for subscript in access.subscripts:
        form = linear_form(subscript, {})
        terms = dict(form.terms)
        steps.append(terms.pop(lane, 0) if lane is not None else 0)
        place.append(LinearForm(tuple(sorted(terms.items(), key=str)), form.constant))
    varying = bound | ({lane.name} if lane is not None else frozenset())
    for form in place:
        for atom, _ in form.terms:
            if any(isinstance(node, Index) and node.name in varying for node in walk(atom)):
                return None
    lanes: Lanes | None = None
    if is_write and vector is not None and not any(steps):
        return None  # which lane writes the element, the mask decides at run time
    if any(steps):
        if steps.pop(along) != 1 or any(steps):
            return None
        assert vector is not None
        if not needs_memory:
            lanes = Lanes(Constant(0), Constant(vector.lanes), 1, vector.lanes)
            return Slot(access.array, tuple(place), lanes)
        ends = (vector.lower, vector.upper)
        for end in ends:
            if any(isinstance(node, Index) and node.name in varying for node in walk(end)):
                return None
        lanes = Lanes(*ends, vector.step, vector.lanes)
    return Slot(access.array, tuple(place), lanes)


def _is_clear(slot: Slot, touch: _Touch, known: Intervals, along: int) -> bool:
    """Whether an access that moves provably never comes to a slot."""
    extents = [1] * len(slot.place)
    if slot.vector is not None:
        extents[along] = slot.vector.count
    around = touch.around if touch.vector is None else (*touch.around, touch.vector)
    return is_clear(slot.place, extents, touch.access.subscripts, around, known)


def _all_apart(slots: list[Slot], along: int) -> bool:
    return all(
        _apart(one, other, along) for index, one in enumerate(slots) for other in slots[index + 1 :]
    )


def _apart(one: Slot, other: Slot, along: int) -> bool:
    """Whether two different slots provably share no element."""
    lanes = along + len(one.place)
    for position, (a, b) in enumerate(zip(one.place, other.place, strict=True)):
        difference = a.plus(b, -1)
        if not difference.is_constant or difference.constant == 0:
            continue
        if position != lanes:
            return True
        vector = (one if difference.constant < 0 else other).vector
        width = 1 if vector is None else vector.count
        if abs(difference.constant) >= width:
            return True
    return False
