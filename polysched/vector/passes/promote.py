"""Register promotion: array elements that a region accesses repeatedly become register arrays.

Each slot of a region (:mod:`polysched.vector.passes.slots`) becomes a separate register array. The
register of a sequential loop, or of statements in a block, is loaded before it and stored after it.
The register of a buffer needs neither. This pass decides which values stay in registers; LLVM
allocates the registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Access, Array, Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.linear_form import Intervals
from polysched.ir.expr.traversal import transform
from polysched.loops.analysis.known_conditions import accesses, own_arrays
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    LoopProgram,
    TileCall,
    block,
    map_children,
    variable_interval,
)
from polysched.loops.ir.nodes import walk as walk_nodes
from polysched.vector.classify import literal_lanes, surely_runs
from polysched.vector.passes.slots import Guards, Region, Slot, find_slots, slot_of


def promote_registers(program: LoopProgram, budget: int) -> LoopProgram:
    """Move the slots of every region, outermost first, into register arrays.

    Args:
        program: loops, after unrolling.
        budget: the machine's number of vector registers; an array with more slots in a region stays
            in memory.
    """
    promoter = _Promoter(program, budget)
    body = promoter.visit(program.body, program.ranges)
    arrays = {**program.arrays, **promoter.registers}
    return replace(program, arrays=arrays, body=body, registers=promoter.sources)


@dataclass(frozen=True)
class _Held:
    """A region with registers, their loads before it and their stores after it."""

    node: LoopNode
    before: list[LoopNode]
    after: list[LoopNode]
    names: list[str]


class _Promoter:
    """One walk over a program, which collects the new register arrays."""

    def __init__(self, program: LoopProgram, budget: int) -> None:
        self.arrays = program.arrays
        self.budget = budget
        self.scalars = {
            name
            for name, array in program.arrays.items()
            if array.role is Role.TEMPORARY and not array.shape
        }
        self.uses = Counter(accesses(program.body))
        self.registers: dict[str, Array] = {}
        self.sources: dict[str, str] = {}

    def visit(self, node: LoopNode, known: Intervals) -> LoopNode:
        match node:
            case Allocate(array=array, body=body):
                region = Region(body, known)
                slots = find_slots(array, region, self.budget, needs_memory=False)
                if slots is not None:
                    _require_not_prefetched(array, body)
                    names = self._named(array, slots)
                    renamed = _renamed(body, array, names, needs_memory=False)
                    inner: LoopNode = self.visit(renamed, known)
                    for name in names.values():
                        inner = Allocate(name, inner)
                    return inner
                return replace(node, body=self.visit(body, known))
            case For(kind=LoopKind.SEQUENTIAL):
                return self._loop(node, known)
            case Block():
                return self._block(node, known)
            case TileCall():
                return node  # its elements are in tiles
            case _:
                return map_children(node, lambda child: self.visit(child, known))

    def _loop(self, node: For, known: Intervals) -> LoopNode:
        inner = {**known, node.variable: variable_interval(node.lower, node.upper, known)}
        region = Region(node, known)
        held = self._held(region, region.written)
        assert isinstance(held.node, For)
        node = replace(held.node, body=self.visit(held.node.body, inner))
        if not held.names:
            return node
        whole: LoopNode = block([*held.before, node, *held.after])
        if not surely_runs(node, known):
            whole = If(node.lower < node.upper, whole)
        return _allocated(held.names, whole)

    def _block(self, node: Block, known: Intervals) -> LoopNode:
        """Hold vectors of some lanes that several statements update.

        A masked load waits until the masked store before it has reached the cache. LLVM keeps only
        whole vectors in registers from one statement to the next.
        """
        held = self._held(Region(node, known), _updated_in_part(node, known))
        assert isinstance(held.node, Block)
        visited = map_children(held.node, lambda child: self.visit(child, known))
        if not held.names:
            return visited
        return _allocated(held.names, block([*held.before, visited, *held.after]))

    def _held(self, region: Region, arrays: Iterable[str]) -> _Held:
        """Replace accesses to the slots of arrays in a region by accesses to registers."""
        held = _Held(region.node, [], [], [])
        arrays = list(arrays)
        own: frozenset[str] = frozenset()
        if not self.scalars.isdisjoint(arrays):
            own = own_arrays(region.node, self.scalars, self.uses)
        for array in arrays:
            if array in self.registers or array in region.born or array not in region.read:
                continue
            if self.arrays[array].guarded:
                continue
            along = self.arrays[array].lane_dimension
            slots = find_slots(array, region, self.budget, needs_memory=True, along=along)
            if slots is None:
                continue
            names = self._named(array, slots)
            for slot, name in names.items():
                load = _transfer(slot, name, self.arrays[array], load=True)
                store = _transfer(slot, name, self.arrays[array], load=False)
                if array not in own:
                    held.before.append(_under(slots[slot], load))
                    held.after.append(_under(slots[slot], store))
                held.names.append(name)
            renamed = _renamed(held.node, array, names, needs_memory=True, along=along)
            held = replace(held, node=renamed)
        return held

    def _named(self, array: str, slots: Iterable[Slot]) -> dict[Slot, str]:
        names = {}
        for slot in slots:
            name = f"{array}.r{len(self.registers)}"
            lanes = slot.vector.count if slot.vector else None
            shape = () if lanes is None else (Constant(lanes),)
            dimensions = () if lanes is None else ("lane",)
            self.sources[name] = array
            self.registers[name] = Array(
                name, self.arrays[array].dtype, shape, Role.TEMPORARY, dimensions
            )
            names[slot] = name
        return names


def _allocated(names: Iterable[str], node: LoopNode) -> LoopNode:
    for name in names:
        node = Allocate(name, node)
    return node


def _updated_in_part(node: Block, known: Intervals) -> list[str]:
    """The arrays of which statements of a block without loops write some lanes several times."""
    writes: Counter[Access] = Counter()
    for inner in walk_nodes(node):
        match inner:
            case For(kind=LoopKind.VECTOR, body=Assign(target=target)):
                writes[target] += literal_lanes(inner, known) is None
            case For(kind=kind) if kind is not LoopKind.VECTOR:
                return []
    return list(dict.fromkeys(target.array for target, count in writes.items() if count > 1))


def _require_not_prefetched(array: str, body: LoopNode) -> None:
    for node in walk_nodes(body):
        if isinstance(node, For) and any(prefetch.array == array for prefetch in node.prefetches):
            raise LoweringError(
                f"loop '{node.loop}' prefetches array '{array}', which is kept in registers; "
                "remove the prefetch step"
            )


def _renamed(
    node: LoopNode,
    array: str,
    names: dict[Slot, str],
    *,
    needs_memory: bool,
    along: int = -1,
    vector: For | None = None,
) -> LoopNode:
    """The node with accesses to an array replaced by accesses to its slots' registers."""
    match node:
        case For(kind=LoopKind.VECTOR):
            body = _renamed(
                node.body, array, names, needs_memory=needs_memory, along=along, vector=node
            )
            return node if body is node.body else replace(node, body=body)
        case Assign() if array not in node.arrays:
            return node
        case Assign(target=target, value=value):

            def register(access: Access) -> Access:
                slot = slot_of(access, vector, needs_memory=needs_memory, along=along)
                if slot is None or slot not in names:
                    assert needs_memory
                    return access  # not a slot, and provably clear of all slots
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

            subscripts = tuple(transform(subscript, rule) for subscript in target.subscripts)
            return replace(
                node,
                target=register(target)
                if target.array == array
                else replace(target, subscripts=subscripts),
                value=transform(value, rule),
            )
        case _:
            return map_children(
                node,
                lambda child: _renamed(
                    child, array, names, needs_memory=needs_memory, along=along, vector=vector
                ),
            )


def _under(guards: Guards, node: LoopNode) -> LoopNode:
    """Run a node if all conditions hold; a condition is evaluated if those before it hold."""
    for guard in reversed(guards):
        node = If(guard, node)
    return node


def _transfer(slot: Slot, name: str, array: Array, *, load: bool) -> LoopNode:
    """Load a slot into its register array, or store it back."""
    subscripts = [form.expression() for form in slot.place]
    lane: tuple[Expression, ...] = ()
    variable = f"{name}.lane"  # not an identifier, so no loop of the program has this name
    if slot.vector is not None:
        index = Index(variable)
        lane = (index,)
        subscripts[array.lane_dimension] += index
    if load:
        assign = Assign(
            "load", (), Access(name, lane), Load(array.name, tuple(subscripts), array.dtype)
        )
    else:
        target = Access(array.name, tuple(subscripts))
        assign = Assign("store", (), target, Load(name, lane, array.dtype))
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
