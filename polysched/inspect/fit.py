"""Advice on how a program's vectors and registers fit a machine.

The advice concerns speed only: LLVM splits vectors that are too wide, and spills values that do not
fit the registers.
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
    """A vector loop: its name, its lanes, and the widest element type that it reads or writes."""

    loop: str
    lanes: int
    dtype: DType

    @property
    def bits(self) -> int:
        """The bits of all lanes."""
        return self.lanes * self.dtype.bits


@dataclass(frozen=True)
class Kept:
    """Values of an array that a loop keeps from one iteration to the next.

    ``registers`` is the number of vector registers that they take; ``in_registers`` says whether
    polysched keeps them in registers.
    """

    array: str
    values: int
    registers: int
    in_registers: bool


@dataclass(frozen=True)
class Fit:
    """Fit of a program to a machine.

    Attributes:
        vectors: the vector loops in which no value fills a register exactly.
        kept: the values kept in registers at one time, in the region that needs the most; and the
            values that more registers would keep.
    """

    machine: Machine
    vectors: tuple[VectorLoop, ...]
    kept: tuple[Kept, ...]

    @property
    def registers(self) -> int:
        """The number of vector registers that are needed at one time."""
        return sum(kept.registers for kept in self.kept if kept.in_registers)

    def lines(self) -> tuple[str, ...]:
        """The misfits, one line each."""
        size, count = self.machine.vector_bits, self.machine.vector_registers
        lines = [_vector_line(loop, size) for loop in self.vectors]
        lines += [
            f"array '{kept.array}': {kept.values} values to be kept in {kept.registers} vector "
            f"registers; there are {count}, so they stay in memory: take smaller tiles"
            for kept in self.kept
            if not kept.in_registers
        ]
        if self.registers > count:
            names = ", ".join(
                f"{kept.registers} for '{kept.array}'" for kept in self.kept if kept.in_registers
            )
            lines.append(
                f"{self.registers} vector registers are needed at one time ({names}); there are "
                f"{count}, so some go through memory: take smaller tiles"
            )
        return tuple(lines)


def _vector_line(loop: VectorLoop, size: int) -> str:
    lanes = f"loop '{loop.loop}': {loop.lanes} lanes of {loop.dtype} are {loop.bits} bits"
    if loop.bits > size:
        return f"{lanes}, {-(-loop.bits // size)} vectors of {size}"
    return f"{lanes}, and a vector has {size}: {size // loop.dtype.bits} lanes fill it"


def fit(program: LoopProgram, machine: Machine) -> Fit:
    """Compute how the vectors and registers of a program fit a machine."""
    unlimited = replace(machine, vector_registers=MOST_VALUES)
    regions, unlimited_regions = (
        _kept(loops_after(program, target, "promote"), machine) for target in (machine, unlimited)
    )
    fullest = max(regions, key=_registers, default={})
    most, unlimited_most = _most(regions), _most(unlimited_regions)
    outside = [
        replace(kept, in_registers=False)
        for name, kept in unlimited_most.items()
        if name not in most or kept.values > most[name].values
    ]
    vectors = tuple(_unfitting(loops_after(program, machine, "unroll"), machine))
    return Fit(machine, vectors, (*fullest.values(), *outside))


def _registers(region: dict[str, Kept]) -> int:
    return sum(kept.registers for kept in region.values())


def _most(regions: list[dict[str, Kept]]) -> dict[str, Kept]:
    """For each array the largest number of values that a region keeps."""
    most: dict[str, Kept] = {}
    for region in regions:
        for name, kept in region.items():
            if name not in most or kept.values > most[name].values:
                most[name] = kept
    return most


def _kept(promoted: LoopProgram, machine: Machine) -> list[dict[str, Kept]]:
    """The register contents of each innermost region, by source array."""
    arrays = promoted.arrays
    regions: list[dict[str, Kept]] = []

    def visit(node: LoopNode, around: dict[str, Kept]) -> None:
        if isinstance(node, Allocate) and node.array in promoted.registers:
            source = promoted.registers[node.array]
            around = _added(around, source, arrays[node.array], machine)
        below = children(node)
        for child in below:
            visit(child, around)
        if not below and around:
            regions.append(around)

    visit(promoted.body, {})
    return regions


def _added(
    around: dict[str, Kept], source: str, register: Array, machine: Machine
) -> dict[str, Kept]:
    """The values that are kept, and those of an array that a register array holds."""
    lanes = math.prod(concrete_shape(register.shape, {}))
    size = -(-lanes * register.dtype.container.bits // machine.vector_bits)
    before = around.get(source, Kept(source, 0, 0, True))
    more = replace(before, values=before.values + 1, registers=before.registers + size)
    return {**around, source: more}


def _unfitting(program: LoopProgram, machine: Machine) -> Iterator[VectorLoop]:
    """The vector loops without an access that fills one register exactly, each once."""
    seen = set()
    for node in walk(program.body):
        if not isinstance(node, For) or node.kind is not LoopKind.VECTOR:
            continue
        types = [program.arrays[name].dtype.container for name in accessed_arrays(node.body)]
        if not types or any(node.lanes * dtype.bits == machine.vector_bits for dtype in types):
            continue
        loop = VectorLoop(node.loop, node.lanes, max(types, key=lambda dtype: dtype.bits))
        if loop not in seen:
            seen.add(loop)
            yield loop
