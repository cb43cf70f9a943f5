"""How a program's vectors and registers fit a machine. It is advice: all code is right anyway.

LLVM cuts vectors that are too wide, and what does not fit the registers waits in memory; both cost
time only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from polysched.ir.core.kernel import Array
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import DType
from polysched.ir.semantics.memory import concrete_shape
from polysched.loops.analysis.usage import accessed_arrays
from polysched.loops.ir.nodes import Allocate, For, LoopNode, LoopProgram, children, walk
from polysched.machine.description import Machine
from polysched.vector.pass_list import loops_after

MOST_VALUES = 256
"""Values of an array that are looked for in registers: no machine has as many."""


@dataclass(frozen=True)
class VectorLoop:
    """A vector loop: its name, its lanes, and the widest type that it reads or writes."""

    loop: str
    lanes: int
    dtype: DType

    @property
    def bits(self) -> int:
        """Of all its lanes."""
        return self.lanes * self.dtype.bits


@dataclass(frozen=True)
class Kept:
    """Values of an array that a loop keeps from one iteration to the next.

    ``registers`` is how many of the machine's vector registers they take; ``in_registers`` says
    whether polysched puts them there.
    """

    array: str
    values: int
    registers: int
    in_registers: bool


@dataclass(frozen=True)
class Fit:
    """How a program fits a machine.

    Attributes:
        machine: the machine.
        vectors: the vector loops in which no value fills a register exactly.
        kept: what is kept in registers at one time, where that takes most of them; and what would
            be kept there, were there more of them.
    """

    machine: Machine
    vectors: tuple[VectorLoop, ...]
    kept: tuple[Kept, ...]

    @property
    def registers(self) -> int:
        """Vector registers that are needed at one time."""
        return sum(one.registers for one in self.kept if one.in_registers)

    def lines(self) -> tuple[str, ...]:
        """What does not fit, a line each."""
        size, count = self.machine.vector_bits, self.machine.vector_registers
        lines = [_vector_line(one, size) for one in self.vectors]
        lines += [
            f"array '{one.array}': {one.values} values to be kept in {one.registers} vector "
            f"registers; there are {count}, so they stay in memory: take smaller tiles"
            for one in self.kept
            if not one.in_registers
        ]
        if self.registers > count:
            names = ", ".join(
                f"{one.registers} for '{one.array}'" for one in self.kept if one.in_registers
            )
            lines.append(
                f"{self.registers} vector registers are needed at one time ({names}); there are "
                f"{count}, so some go through memory: take smaller tiles"
            )
        return tuple(lines)


def _vector_line(one: VectorLoop, size: int) -> str:
    what = f"loop '{one.loop}': {one.lanes} lanes of {one.dtype} are {one.bits} bits"
    if one.bits > size:
        return f"{what}, {-(-one.bits // size)} vectors of {size}"
    return f"{what}, and a vector has {size}: {size // one.dtype.bits} lanes fill it"


def fit(program: LoopProgram, machine: Machine) -> Fit:
    """How the vectors and registers of a program fit a machine.

    Raises:
        LoweringError: the program has no machine code.
    """
    roomy = replace(machine, vector_registers=MOST_VALUES)
    inside, wished = (
        _kept(loops_after(program, target, "promote"), machine) for target in (machine, roomy)
    )
    fullest = max(inside, key=_registers, default={})
    found, hoped = _most(inside), _most(wished)
    outside = [
        replace(one, in_registers=False)
        for name, one in hoped.items()
        if name not in found or one.values > found[name].values
    ]
    vectors = tuple(_unfitting(loops_after(program, machine, "unroll"), machine))
    return Fit(machine, vectors, (*fullest.values(), *outside))


def _registers(region: dict[str, Kept]) -> int:
    return sum(one.registers for one in region.values())


def _most(regions: list[dict[str, Kept]]) -> dict[str, Kept]:
    """Of each array the region that keeps most of it."""
    most: dict[str, Kept] = {}
    for region in regions:
        for name, one in region.items():
            if name not in most or one.values > most[name].values:
                most[name] = one
    return most


def _kept(promoted: LoopProgram, machine: Machine) -> list[dict[str, Kept]]:
    """What each innermost region keeps in registers, by the array that it comes from."""
    arrays, names = promoted.arrays, frozenset(promoted.registers)
    found: list[dict[str, Kept]] = []

    def visit(node: LoopNode, around: dict[str, Kept]) -> None:
        if isinstance(node, Allocate) and node.array in names:
            around = _added(around, arrays[node.array], machine)
        below = children(node)
        for child in below:
            visit(child, around)
        if not below and around:
            found.append(around)

    visit(promoted.body, {})
    return found


def _added(around: dict[str, Kept], register: Array, machine: Machine) -> dict[str, Kept]:
    """The values that are kept, and those of a register array."""
    lanes = math.prod(concrete_shape(register.shape, {}))
    size = -(-lanes * register.dtype.container.bits // machine.vector_bits)
    name = register.name.rpartition(".r")[0]
    before = around.get(name, Kept(name, 0, 0, True))
    more = replace(before, values=before.values + 1, registers=before.registers + size)
    return {**around, name: more}


def _unfitting(program: LoopProgram, machine: Machine) -> Iterator[VectorLoop]:
    """The vector loops of which nothing fills one register exactly, each once."""
    seen = set()
    for node in walk(program.body):
        if not isinstance(node, For) or node.kind is not LoopKind.VECTOR:
            continue
        types = [program.arrays[name].dtype.container for name in accessed_arrays(node.body)]
        if not types or any(node.lanes * one.bits == machine.vector_bits for one in types):
            continue
        found = VectorLoop(node.loop, node.lanes, max(types, key=lambda one: one.bits))
        if found not in seen:
            seen.add(found)
            yield found
