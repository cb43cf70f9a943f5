"""Accumulators in registers: array elements that a region keeps touching become register arrays.

A *region* is a sequential loop or a buffer's lifetime. If all accesses of a region to an array go
to a fixed set of *slots* - single elements or contiguous vectors whose place does not depend on
anything that varies inside the region - and any two slots are provably the same or apart, then each
slot becomes a register array of its own: read before the loop, written back after it. A buffer's
slots need neither. LLVM keeps such values in registers; here is where it is decided and proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from polysched.ir.expressions import (
    Constant,
    Expression,
    Index,
    Load,
)
from polysched.ir.kernel import Access, Array, Role
from polysched.ir.linear import Intervals, LinearForm, interval, linear_form
from polysched.ir.traversal import loads, transform, walk
from polysched.ir.tree import LoopKind
from polysched.loops.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    LoopProgram,
    block,
    map_children,
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
class PromotedProgram:
    """A program together with the names of its register arrays."""

    program: LoopProgram
    registers: tuple[str, ...]


@dataclass(frozen=True)
class _Touch:
    """One access inside a region."""

    access: Access
    is_write: bool
    vector: For | None
    guarded: bool
    certain: bool
    bound: frozenset[str]


def promote_registers(program: LoopProgram, known: Intervals, budget: int) -> PromotedProgram:
    """Move the slots of every region, outermost first, into register arrays.

    Args:
        program: loops without unrolled ones.
        known: intervals of the parameters.
        budget: the machine's number of vector registers; a region with more slots of one array
            keeps it in memory.
    """
    promoter = _Promoter(program, budget)
    body = promoter.visit(program.body, known)
    arrays = {**program.arrays, **promoter.registers}
    return PromotedProgram(replace(program, arrays=arrays, body=body), tuple(promoter.registers))


class _Promoter:
    """One walk over a program; collects the register arrays that it makes."""

    def __init__(self, program: LoopProgram, budget: int) -> None:
        self.arrays = program.arrays
        self.budget = budget
        self.registers: dict[str, Array] = {}

    def visit(self, node: LoopNode, known: Intervals) -> LoopNode:
        match node:
            case Allocate(array=array, body=body):
                slots = self._slots(array, body, known, needs_memory=False)
                if slots is not None:
                    names = self._named(array, slots)
                    renamed = _renamed(body, array, names, needs_memory=False)
                    inner: LoopNode = self.visit(renamed, known)
                    for name in names.values():
                        inner = Allocate(name, inner)
                    return inner
                return replace(node, body=self.visit(body, known))
            case For(kind=LoopKind.SEQUENTIAL):
                return self._loop(node, known)
            case _:
                return map_children(node, lambda child: self.visit(child, known))

    def _loop(self, node: For, known: Intervals) -> LoopNode:
        inner = {**known, node.variable: variable_interval(node.lower, node.upper, known)}
        written = dict.fromkeys(assign.target.array for assign in _assigns(node.body))
        before: list[LoopNode] = []
        after: list[LoopNode] = []
        names_of: dict[str, Array] = {}
        own = {one.array for one in walk_nodes(node.body) if isinstance(one, Allocate)}
        for array in written:
            if array in self.registers or array in own or not _is_read(node.body, array):
                continue
            slots = self._slots(array, node, known, needs_memory=True)
            if slots is None:
                continue
            names = self._named(array, slots)
            for slot, name in names.items():
                before.append(_transfer(slot, name, self.arrays[array], load=True))
                after.append(_transfer(slot, name, self.arrays[array], load=False))
                names_of[name] = self.registers[name]
            renamed = _renamed(node, array, names, needs_memory=True)
            assert isinstance(renamed, For)
            node = renamed
        node = replace(node, body=self.visit(node.body, inner))
        if not names_of:
            return node
        whole: LoopNode = block([*before, node, *after])
        low, _ = interval(_extent(node, known), known)
        if low is None or low < 1:
            whole = If(node.lower < node.upper, whole)
        for name in names_of:
            whole = Allocate(name, whole)
        return whole

    def _slots(
        self, array: str, region: LoopNode, known: Intervals, *, needs_memory: bool
    ) -> list[Slot] | None:
        """The slots of an array in a region, None if its accesses are not of that form."""
        if _touched_by_threads(region, array):
            return None
        found: dict[Slot, None] = {}
        written = {assign.target.array for assign in _assigns(region)}
        for touch in _touches(region, array, known, _Context()):
            if needs_memory and (touch.guarded or not touch.certain):
                return None
            if any(load.array in written for one in touch.access.subscripts for load in loads(one)):
                return None  # the place moves with what is written
            slot = _slot(touch, needs_memory=needs_memory)
            if slot is None:
                return None
            found[slot] = None
        slots = list(found)
        if not slots or len(slots) > self.budget or not _all_apart(slots):
            return None
        return slots

    def _named(self, array: str, slots: list[Slot]) -> dict[Slot, str]:
        names = {}
        for slot in slots:
            name = f"{array}.r{len(self.registers)}"
            lanes = slot.vector.count if slot.vector else None
            shape = () if lanes is None else (Constant(lanes),)
            dimensions = () if lanes is None else ("lane",)
            self.registers[name] = Array(
                name, self.arrays[array].dtype, shape, Role.TEMPORARY, dimensions
            )
            names[slot] = name
        return names


def _extent(node: For, known: Intervals) -> LinearForm:
    return linear_form(node.upper, known).plus(linear_form(node.lower, known), -1)


def _assigns(node: LoopNode) -> Iterator[Assign]:
    return (one for one in walk_nodes(node) if isinstance(one, Assign))


def _is_read(node: LoopNode, array: str) -> bool:
    return any(load.array == array for assign in _assigns(node) for load in _reads(assign))


def _reads(assign: Assign) -> Iterator[Load]:
    """What an assignment reads, for its value and for the place of its target."""
    return (load for one in (assign.value, *assign.target.subscripts) for load in loads(one))


@dataclass(frozen=True)
class _Context:
    """Where in a region an access stands."""

    vector: For | None = None
    guarded: bool = False
    certain: bool = True
    bound: frozenset[str] = field(default_factory=frozenset)


def _touched_by_threads(region: LoopNode, array: str) -> bool:
    """Whether a parallel loop inside a region touches an array: threads do not share registers."""
    return any(
        isinstance(node, For)
        and node.kind is LoopKind.PARALLEL
        and (_is_read(node, array) or any(one.target.array == array for one in _assigns(node)))
        for node in walk_nodes(region)
    )


def _touches(node: LoopNode, array: str, known: Intervals, context: _Context) -> Iterator[_Touch]:
    """All accesses below a region to one array."""
    match node:
        case For(kind=LoopKind.VECTOR, body=body):
            yield from _touches(body, array, known, replace(context, vector=node))
        case For(body=body):
            low, _ = interval(_extent(node, known), known)
            is_root = not context.bound
            inner = replace(
                context,
                bound=context.bound | {node.variable},
                certain=context.certain and (is_root or (low is not None and low >= 1)),
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
                    context.bound,
                )


def _slot(touch: _Touch, *, needs_memory: bool) -> Slot | None:
    """The slot of an access; None if it moves inside the region or is no element or vector.

    What is never copied from or to memory is a slot whatever lanes are active: which of them are
    written, each statement's own mask says.
    """
    lane = Index(touch.vector.variable) if touch.vector else None
    place = []
    steps = []
    for subscript in touch.access.subscripts:
        form = linear_form(subscript, {})
        terms = dict(form.terms)
        steps.append(terms.pop(lane, 0) if lane is not None else 0)
        place.append(LinearForm(tuple(sorted(terms.items(), key=str)), form.constant))
    varying = touch.bound | ({lane.name} if lane is not None else frozenset())
    for form in place:
        for atom, _ in form.terms:
            if any(isinstance(node, Index) and node.name in varying for node in walk(atom)):
                return None
    vector: Lanes | None = None
    if touch.is_write and touch.vector is not None and not any(steps):
        return None  # which lane writes the element, the mask decides at run time
    if any(steps):
        if steps[-1] != 1 or any(steps[:-1]):
            return None
        assert touch.vector is not None
        if not needs_memory:
            vector = Lanes(Constant(0), Constant(touch.vector.lanes), 1, touch.vector.lanes)
            return Slot(touch.access.array, tuple(place), vector)
        ends = (touch.vector.lower, touch.vector.upper)
        for end in ends:
            if any(isinstance(node, Index) and node.name in varying for node in walk(end)):
                return None
        vector = Lanes(*ends, touch.vector.step, touch.vector.lanes)
    return Slot(touch.access.array, tuple(place), vector)


def _all_apart(slots: list[Slot]) -> bool:
    return all(
        _apart(one, other) for index, one in enumerate(slots) for other in slots[index + 1 :]
    )


def _apart(one: Slot, other: Slot) -> bool:
    """Whether two different slots provably share no element."""
    last = len(one.place) - 1
    for position, (a, b) in enumerate(zip(one.place, other.place, strict=True)):
        difference = a.plus(b, -1)
        if not difference.is_constant or difference.constant == 0:
            continue
        if position < last:
            return True
        lanes = (one if difference.constant < 0 else other).vector
        width = 1 if lanes is None else lanes.count
        if abs(difference.constant) >= width:
            return True
    return False


def _renamed(
    node: LoopNode,
    array: str,
    names: dict[Slot, str],
    *,
    needs_memory: bool,
    vector: For | None = None,
) -> LoopNode:
    """The node with accesses to an array replaced by accesses to its slots' registers."""
    match node:
        case For(kind=LoopKind.VECTOR):
            body = _renamed(node.body, array, names, needs_memory=needs_memory, vector=node)
            return replace(node, body=body)
        case Assign(target=target, value=value):

            def register(access: Access) -> Access:
                touch = _Touch(access, False, vector, False, True, frozenset())
                slot = _slot(touch, needs_memory=needs_memory)
                assert slot is not None
                lane: tuple[Expression, ...] = ()
                if slot.vector is not None:
                    assert vector is not None
                    lane = (Index(vector.variable),)
                return Access(names[slot], lane, access.location)

            def rule(expression: Expression) -> Expression | None:
                if isinstance(expression, Load) and expression.array == array:
                    access = register(Access(array, expression.subscripts))
                    return replace(expression, array=access.array, subscripts=access.subscripts)
                return None

            place = tuple(transform(subscript, rule) for subscript in target.subscripts)
            return replace(
                node,
                target=register(target)
                if target.array == array
                else replace(target, subscripts=place),
                value=transform(value, rule),
            )
        case _:
            return map_children(
                node,
                lambda child: _renamed(
                    child, array, names, needs_memory=needs_memory, vector=vector
                ),
            )


def _transfer(slot: Slot, name: str, array: Array, *, load: bool) -> LoopNode:
    """Read a slot into its register array, or write it back."""
    place = tuple(form.expression() for form in slot.place)
    lane: tuple[Expression, ...] = ()
    variable = f"{name}.lane"  # no identifier, so no loop of the program has that name
    if slot.vector is not None:
        index = Index(variable)
        lane = (index,)
        place = (*place[:-1], place[-1] + index)
    if load:
        assign = Assign("load", (), Access(name, lane), Load(array.name, place, array.dtype))
    else:
        assign = Assign("store", (), Access(array.name, place), Load(name, lane, array.dtype))
    if slot.vector is None:
        return assign
    lanes = slot.vector
    return For(
        variable,
        variable,
        lanes.lower,
        lanes.upper,
        lanes.step,
        LoopKind.VECTOR,
        assign,
        lanes.count,
    )
