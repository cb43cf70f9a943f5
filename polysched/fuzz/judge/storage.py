"""Judge the storage of a scheduled program by simulation, independently of the checker.

The judge simulates the program in two memories: in the first, every element has a separate
location; in the second, elements share slots as in the program. All instances run in the order of
the schedule, and every write stores a name of itself. The storage is wrong if and only if some read
sees different names in the two memories. A copy of an element of a read-only array stores the name
of this element, so two such copies are interchangeable.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from polysched.dependence.relations import Reference
from polysched.fuzz.judge.instances import Block, Instances, Sizes, list_instances
from polysched.fuzz.judge.timing import times
from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import executed
from polysched.ir.expr.expressions import Load
from polysched.ir.semantics.points import evaluate_many, points, ranks
from polysched.schedule.core.program import Program

Location: TypeAlias = tuple[str, tuple[int, ...]]
Memory: TypeAlias = dict[Location, Hashable]


@dataclass(frozen=True)
class _Touch:
    """Element that an access touches, and its slot in shared memory."""

    element: Location
    slot: Location


def clobbered_read(program: Program, sizes: Sizes, most: int) -> str | None:
    """Find the first read that sees a clobbered value.

    Args:
        program: a program without parallel loops and data-dependent accesses.
        most: the most instances to simulate.

    Returns:
        A description of the read; empty if there is none; None if there are more instances.
    """
    ranges = {name: (value, value) for name, value in sizes.items()}
    kernel = replace(program.kernel, statements=program.statements)
    instances = list_instances(kernel, ranges, most)
    if instances is None:
        return None
    touched = {block.statement.name: _touches(program, block, sizes) for block in instances.blocks}
    separate: Memory = {}
    shared: Memory = {}
    for together in _moments(instances, program):
        writes = []
        for block, row in together:
            target, *reads = touched[block.statement.name][row]
            seen = [
                (separate.get(read.element, read.element), shared.get(read.slot, read.element))
                for read in reads
            ]
            for read, (own, other) in zip(reads, seen, strict=True):
                if own != other:
                    return f"{block.statement.name} reads {read.element} of {own}, finds {other}"
            writes.append((target, _name(program, block, row, reads)))
        for target, name in writes:
            separate[target.element] = shared[target.slot] = name
    return ""


def _name(program: Program, block: Block, row: int, reads: list[_Touch]) -> Hashable:
    written = {statement.target.array for statement in program.statements.values()}
    value = block.statement.value
    if isinstance(value, Load) and value.array not in written:
        return reads[0].element
    return block.statement.name, row


def _moments(instances: Instances, program: Program) -> Iterator[list[tuple[Block, int]]]:
    """Yield the instances in the order of the schedule, the lanes of a vector together."""
    order = ranks(times(instances, executed(program.tree)).rows)
    everything = [(block, row) for block in instances.blocks for row in range(block.count)]
    by_time = np.argsort(order, kind="stable")
    start = 0
    while start < len(by_time):
        end = start + int(np.searchsorted(order[by_time[start:]], order[by_time[start]], "right"))
        yield [everything[number] for number in by_time[start:end]]
        start = end


def _touches(program: Program, block: Block, sizes: Sizes) -> list[list[_Touch]]:
    """Return the touches of every instance: the write first, then the reads."""
    columns = [
        _of_access(program, block, Reference(block.statement.name, position), access, sizes)
        for position, access in enumerate(block.statement.accesses)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _of_access(
    program: Program, block: Block, reference: Reference, access: Access, sizes: Sizes
) -> list[_Touch]:
    table = np.empty((block.count, len(access.subscripts)), np.int64)
    for dimension, subscript in enumerate(access.subscripts):
        table[:, dimension] = evaluate_many(subscript, block.variables)
    array = program.arrays[access.array]
    slots = [tuple(row) for row in table[:, array.tile :].tolist()]
    elements = [tuple(row) for row in table.tolist()]
    meant = program.folded.get(access.array, {}).get(reference)
    if meant is not None:
        rows = points(meant.wrap().flatten().reset_tuple_id(), sizes).tolist()
        count = len(block.statement.indices)
        by_instance = {tuple(row[:count]): tuple(row[count:]) for row in rows}
        indices = np.stack([block.variables[name] for name in block.statement.indices], axis=1)
        elements = [by_instance[tuple(row)] for row in indices.tolist()]
    return [
        _Touch((access.array, element), (access.array, slot))
        for element, slot in zip(elements, slots, strict=True)
    ]
