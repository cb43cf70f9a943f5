"""Pass: make overlapping vectors of one load, single elements and shuffles.

A load of a whole vector that crosses a cache line costs several times as much as a load within a
line. At least two of the vectors ``x[i - 1]``, ``x[i]`` and ``x[i + 1]`` of a stencil cross a cache
line. If a statement reads a vector and the vector one element further, the second vector is built
from the first::

    x[i + 1..i + 9] = rotated(x[i..i + 8]) with x[i + 8] in its last lane

This takes the load of one element, which never crosses a cache line, and one shuffle. It reads only
elements that the statement reads anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from typing import TypeAlias

from polysched.ir.core.kernel import Array
from polysched.vector.ir import Assign, Statement, VectorProgram
from polysched.vector.rewrite import map_statements, map_value, target_access, walk_value
from polysched.vector.values import Access, Address, All, First, Load, Shuffle, Uniform, Value

REGISTER_BYTES = 64
"""Only vectors of a whole cache line are shuffled: shorter vectors cross a line less often."""

ELEMENT_BYTES = (4, 8)
"""Element sizes for which one shuffle moves elements across all lanes of two registers."""

FEATURE = "avx512f"
"""The instruction set with these shuffles (``valignd``, ``valignq``)."""

Row: TypeAlias = Address
"""An address without its literal displacement."""

Steps: TypeAlias = Mapping[Row, Mapping[int, int]]
"""For each vector that is not loaded, by its displacement: the distance, 1 or -1, to its source."""


def form_neighbors(program: VectorProgram, features: Set[str]) -> VectorProgram:
    """Shuffle overlapping vectors of a statement instead of loading each.

    Args:
        features: LLVM's names of the machine's instruction sets.
    """
    if FEATURE not in features:
        return program

    def rewritten(node: Statement) -> Statement:
        return _rewritten(node, program.arrays)

    return replace(program, body=map_statements(program.body, rewritten))


def _rewritten(node: Statement, arrays: Mapping[str, Array]) -> Statement:
    if not isinstance(node, Assign) or node.lanes is None:
        return node
    if not isinstance(node.lanes.active, All):
        return node
    count = node.lanes.count
    loads = [load for load in walk_value(node.value) if isinstance(load, Load) and not load.where]
    if len({load.access.address.array for load in loads}) == len(loads):
        return node  # no two loads of one array
    vectors = [load.access for load in loads if _is_whole(load.access, arrays, count)]
    stored = target_access(node.target)
    if stored is not None and not _is_whole(stored, arrays, count):
        stored = None
    steps = choose_loads(vectors, stored)
    if not steps:
        return node

    def rule(value: Value) -> Value:
        is_whole = isinstance(value, Load) and value.access.movement is Uniform.CONTIGUOUS
        if isinstance(value, Load) and is_whole and value.where is None:
            return _shuffled(value, steps, count)
        return value

    return replace(node, value=map_value(node.value, rule))


def _is_whole(access: Access, arrays: Mapping[str, Array], lanes: int) -> bool:
    """Whether an access loads or stores whole registers that a shuffle can move by an element."""
    array = arrays[access.address.array]
    return (
        access.movement is Uniform.CONTIGUOUS
        and not array.is_packed
        and array.dtype.bytes in ELEMENT_BYTES
        and array.dtype.bytes * lanes % REGISTER_BYTES == 0
        and not access.address.is_data_dependent
    )


def choose_loads(loaded: Iterable[Access], stored: Access | None) -> Steps:
    """Choose which vectors of a statement are loaded; the others are shuffled from a neighbor.

    One vector of each run of neighboring vectors is loaded: the vector with the best known
    alignment, else the vector at the position of the store, else the middle vector.

    Args:
        loaded: contiguous accesses of whole registers.
        stored: the access that the statement writes, if it is contiguous.
    """
    rows: dict[Row, dict[int, int]] = {}
    for access in loaded:
        rows.setdefault(_row(access.address), {})[access.address.constant] = access.alignment
    steps: dict[Row, dict[int, int]] = {}
    for row, alignments in rows.items():
        for run in _runs(sorted(alignments)):
            aim = run[len(run) // 2]
            if stored is not None and _is_beside(stored.address, row):
                aim = stored.address.constant if stored.address.constant in run else aim
            base = max(run, key=lambda at: (alignments[at], -abs(at - aim)))
            run_steps = {at: 1 if at < base else -1 for at in run if at != base}
            if run_steps:
                steps.setdefault(row, {}).update(run_steps)
    return steps


def _row(address: Address) -> Row:
    return replace(address, constant=0)


def _is_beside(address: Address, row: Row) -> bool:
    """Whether an address differs from a row only in the array and the displacement."""
    return (address.terms, address.scaled) == (row.terms, row.scaled)


def _runs(displacements: list[int]) -> list[list[int]]:
    """Cut ascending displacements into runs of consecutive numbers."""
    runs: list[list[int]] = []
    for displacement in displacements:
        if runs and displacement == runs[-1][-1] + 1:
            runs[-1].append(displacement)
        else:
            runs.append([displacement])
    return runs


def _shuffled(load: Load, steps: Steps, count: int) -> Value:
    """Shuffle a vector from its neighbor one step away and a single element."""
    address = load.access.address
    step = steps.get(_row(address), {}).get(address.constant)
    if step is None:
        return load
    source = _shuffled(_further(load, step), steps, count)
    single = address if step == 1 else _further(load, count - 1).access.address
    size = load.dtype.bytes
    element = Load(Access(single, Uniform.BROADCAST, size), load.dtype)
    # The single element goes to the free lane, which is the first or the last lane.
    lanes = [count, *range(count - 1)] if step == 1 else [*range(1, count), count]
    return Shuffle(source, First(element), tuple(lanes))


def _further(load: Load, step: int) -> Load:
    """The load of the vector that begins ``step`` elements further."""
    address = replace(load.access.address, constant=load.access.address.constant + step)
    return replace(load, access=replace(load.access, address=address))
