"""Pass: store every vector once where several statements write every n-th element.

``y[2*i] = a; y[2*i + 1] = b`` are two stores of every second element. Each of them takes masked
stores of two vectors. This pass keeps the values in registers until the last of the stores, joins
them by shuffles, and stores every vector once. LLVM's InterleavedAccess pass does the same for
loops that LLVM has vectorized. Statements that write only some of n elements, such as the colors of
a pixel without its alpha, store vectors under a literal mask if all lanes run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.dtypes import NumberKind
from polysched.ir.expr.expressions import Constant
from polysched.vector.ir import (
    Assign,
    Branch,
    Frame,
    Keep,
    Loop,
    Node,
    Sequence,
    Store,
    VectorProgram,
)
from polysched.vector.passes.unmask import has_fixed_lanes
from polysched.vector.rewrite import walk_value
from polysched.vector.values import (
    Access,
    Address,
    All,
    Lanes,
    Load,
    Offsets,
    Only,
    Range,
    Register,
    Shuffle,
    Sum,
    Uniform,
    Unpack,
    Value,
)

LARGEST_DISTANCE = 4
"""Largest distance between lanes of a store; joining n stores takes n - 1 shuffles a vector."""


def interleave_stores(program: VectorProgram) -> VectorProgram:
    """Join stores of every n-th element that together fill whole vectors."""
    joining = _Joining(dict(program.arrays))
    body, names = joining.node(program.body)
    frame = replace(program.frame, registers=(*program.frame.registers, *names))
    return replace(program, body=body, arrays=joining.arrays, frame=frame) if names else program


@dataclass
class _Joining:
    """The rewrite of one program.

    Attributes:
        arrays: the program's arrays, to which the rewrite adds registers.
    """

    arrays: dict[str, Array]
    made: int = field(default=0)

    def node(self, node: Node) -> tuple[Node, tuple[str, ...]]:
        """Join the stores of a node; also return the new registers of its function."""
        match node:
            case Sequence(nodes=nodes):
                result: list[Node] = []
                names: list[str] = []
                for lanes, group in groupby(nodes, _joinable_lanes):
                    for run in [list(group)] if lanes is not None else [[node] for node in group]:
                        new, added = self._run(run) if lanes is not None else self._only(run[0])
                        result += new
                        names += added
                return Sequence(tuple(result)), tuple(names)
            case Loop(body=body, region=region):
                inner, added = self.node(body)
                if region is None or not added:
                    return replace(node, body=inner), added
                frame: Frame = replace(region, registers=(*region.registers, *added))
                return replace(node, body=inner, region=frame), ()
            case Branch(then=then, otherwise=otherwise):
                first, names_then = self.node(then)
                second, names_else = (None, ()) if otherwise is None else self.node(otherwise)
                return replace(node, then=first, otherwise=second), (*names_then, *names_else)
        return node, ()

    def _only(self, node: Node) -> tuple[list[Node], tuple[str, ...]]:
        new, names = self.node(node)
        return [new], names

    def _run(self, run: list[Node]) -> tuple[list[Node], tuple[str, ...]]:
        """Join the stores of consecutive statements that run the same lanes."""
        statements = [node for node in run if isinstance(node, Assign)]
        kept: dict[int, Keep] = {}
        behind: dict[int, list[Assign]] = {}
        names = []
        for parts in _groups(statements, self.arrays):
            members = [at for at in parts if at is not None]
            register = self._register(statements[members[0]], len(members))
            for number, at in enumerate(members):
                kept[at] = Keep(Register(register.name, number, register.dtype, True), masked=False)
            behind[max(members)] = list(_joined(statements, parts, register))
            names.append(register.name)
        result: list[Node] = []
        for at, node in enumerate(statements):
            result.append(replace(node, target=kept[at]) if at in kept else node)
            result += behind.get(at, [])
        return result, tuple(names)

    def _register(self, node: Assign, number: int) -> Array:
        assert isinstance(node.target, Store)
        assert node.lanes is not None
        array = self.arrays[node.target.access.address.array]
        while f"{array.name}_joined{self.made}" in self.arrays:
            self.made += 1
        register = Array(
            f"{array.name}_joined{self.made}",
            array.dtype,
            (Constant(number), Constant(node.lanes.count)),
            Role.TEMPORARY,
            ("number", "lane"),
        )
        self.arrays[register.name] = register
        return register


def _joinable_lanes(node: Node) -> Lanes | None:
    """The lanes of an assignment if all lanes, or a prefix of them, are active."""
    lanes = node.lanes if isinstance(node, Assign) else None
    if lanes is None or not has_fixed_lanes(lanes):
        return None
    active = lanes.active
    is_first = isinstance(active, Range) and active.lower is None and active.step == 1
    return lanes if is_first or isinstance(active, All) else None


def _groups(statements: list[Assign], arrays: dict[str, Array]) -> Iterator[list[int | None]]:
    """Yield the positions of statements whose stores share vectors, in the order of elements.

    The first position is that of a statement; None stands for elements that none writes.
    """
    families: dict[tuple[Address, int], dict[int, list[int]]] = {}
    for at, node in enumerate(statements):
        access = _strided(node, arrays)
        if access is not None:
            assert isinstance(access.movement, Offsets)
            family = replace(access.address, constant=0), access.movement.stride or 0
            families.setdefault(family, {}).setdefault(access.address.constant, []).append(at)
    for (_, step), starts in families.items():
        left = dict(starts)
        for start in sorted(starts):
            members = [left.get(start + part, []) for part in range(step)]
            if not members[0] or any(len(member) > 1 for member in members):
                continue
            parts = [member[0] if member else None for member in members]
            positions = [at for at in parts if at is not None]
            if len(positions) < step and not _run_all(statements, positions):
                continue
            if len(positions) > 1 and _may_wait(statements, positions):
                for part in range(step):
                    left.pop(start + part, None)
                yield parts


def _strided(node: Assign, arrays: dict[str, Array]) -> Access | None:
    """The store of a statement if it writes every n-th element of an unpacked array."""
    if not isinstance(node.target, Store):
        return None
    access = node.target.access
    array = arrays[access.address.array]
    if array.is_packed or array.dtype.is_odd_width or array.dtype.kind is NumberKind.BOOLEAN:
        return None
    if not isinstance(access.movement, Offsets) or access.address.is_data_dependent:
        return None
    step = access.movement.stride
    return access if step is not None and 2 <= step <= LARGEST_DISTANCE else None


def _run_all(statements: list[Assign], positions: list[int]) -> bool:
    lanes = [statements[at].lanes for at in positions]
    return all(run is not None and isinstance(run.active, All) for run in lanes)


def _may_wait(statements: list[Assign], positions: list[int]) -> bool:
    """Whether stores may be delayed to the last one: no statement between accesses the elements."""
    for at in range(min(positions), max(positions) + 1):
        node = statements[at]
        for first in positions:
            target = statements[first].target
            if at <= first or not isinstance(target, Store):
                continue
            for value in walk_value(node.value):
                if isinstance(value, Load | Unpack) and not _are_apart(target.access, value.access):
                    return False
            if isinstance(node.target, Keep):
                continue
            if not _are_apart(target.access, node.target.access):
                return False
    return True


def _are_apart(first: Access, second: Access) -> bool:
    """Whether two accesses provably go to different elements in all lanes."""
    a, b = first.address, second.address
    if a.array != b.array:
        return True
    if a.is_data_dependent or b.is_data_dependent:
        return False
    if not (_stays_in_row(first) and _stays_in_row(second)):
        return False
    for (dimension, left), (other, right) in zip(a.scaled, b.scaled, strict=False):
        # Further subscripts are equal, or belong to another dimension.
        if dimension == other and _constant_distance(left, right):
            return True
    if (a.terms, a.scaled) != (b.terms, b.scaled):
        return False
    if not isinstance(first.movement, Offsets) or not isinstance(second.movement, Offsets):
        return False
    taken = {a.constant + distance for distance in first.movement.distances}
    return taken.isdisjoint(b.constant + distance for distance in second.movement.distances)


def _stays_in_row(access: Access) -> bool:
    """Whether all lanes have the subscripts that the address multiplies by sizes."""
    return isinstance(access.movement, Offsets | Uniform)


def _constant_distance(left: Value, right: Value) -> int:
    """The literal difference of two subscripts; 0 if it is not literal."""
    if isinstance(left, Sum) and isinstance(right, Sum) and left.terms == right.terms:
        return left.constant - right.constant
    return 0


def _joined(statements: list[Assign], parts: list[int | None], register: Array) -> Iterator[Assign]:
    """Yield the stores of whole vectors, or of the elements that statements write."""
    members = [at for at in parts if at is not None]
    first = statements[members[0]]
    assert isinstance(first.target, Store)
    assert first.lanes is not None
    address, count = first.target.access.address, first.lanes.count
    step = len(parts)
    values = [Register(register.name, at, register.dtype, True) for at in range(len(members))]
    numbers = [None if at is None else members.index(at) for at in parts]
    for start in range(0, step * count, count):
        elements = [divmod(element, step) for element in range(start, start + count)]
        sources = [(lane, numbers[part]) for lane, part in elements]
        written = tuple(at for at, (_, number) in enumerate(sources) if number is not None)
        value: Value = values[0]
        for number in range(1, len(members)):
            lanes = tuple(
                lane + count * (own == number)
                if own is None or own >= number
                else (at if number > 1 else lane)
                for at, (lane, own) in enumerate(sources)
            )
            value = Shuffle(value, values[number], lanes)
        start_address = replace(address, constant=address.constant + start)
        access = Access(start_address, Uniform.CONTIGUOUS, register.dtype.bytes)
        active = _of_part(first.lanes, step, start)
        if len(written) < count:
            active = Lanes(count, Only(written), some=True)
        yield replace(first, target=Store(access), value=value, lanes=active)


def _of_part(lanes: Lanes, step: int, start: int) -> Lanes:
    """The lanes of the vector that begins at element ``start``, if each lane writes n elements."""
    if not isinstance(lanes.active, Range):
        return lanes
    upper = Sum(((lanes.active.upper, step),), -start)
    return Lanes(lanes.count, Range(None, upper, 1), some=lanes.some and start < step)
