"""Assign the arrays of each function to arguments, stack, allocated memory, and registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polysched.ir.core.kernel import Array, Role
from polysched.loops.analysis.parallel import parallel_loops, private_arrays, without_parallel_loops
from polysched.loops.analysis.usage import accessed_arrays
from polysched.loops.ir.nodes import For, LoopProgram
from polysched.vector.ir import Frame, Layout

LARGEST_ON_STACK = 16 * 1024
"""Arrays of at most this many bytes are on the stack; larger arrays are allocated on the heap."""


def literal_elements(array: Array, layout: Layout) -> int | None:
    """The number of elements of an array that fits on the stack; None for all other arrays."""
    elements = 1
    for length in layout.extents:
        if length.terms:
            return None
        elements *= max(length.constant, 0)
    return elements if elements * array.dtype.bytes <= LARGEST_ON_STACK else None


def kernel_frame(program: LoopProgram, layouts: Mapping[str, Layout]) -> Frame:
    """The frame of the kernel's function."""
    arguments = [a.name for a in program.arrays.values() if a.role is not Role.TEMPORARY]
    serial = accessed_arrays(without_parallel_loops(program.body))
    accessed = serial
    for loop in parallel_loops(program.body):
        private = {array.name for array in private_arrays(program, loop)}
        accessed |= accessed_arrays(loop.body) - private
    own = [
        name
        for name, array in program.arrays.items()
        if array.role is Role.TEMPORARY and name in accessed
    ]
    return _frame(program, layouts, arguments, own, serial)


def region_frame(
    program: LoopProgram, layouts: Mapping[str, Layout], around: Frame, loop: For
) -> Frame:
    """The frame of the function that runs iterations of a parallel loop."""
    accessed = accessed_arrays(loop.body)
    private = [array.name for array in private_arrays(program, loop)]
    shared = (*around.outside, *around.stack, *around.heap)
    outside = [name for name in shared if name in accessed and name not in private]
    return _frame(program, layouts, outside, private, accessed)


def _frame(
    program: LoopProgram,
    layouts: Mapping[str, Layout],
    outside: Sequence[str],
    own: Sequence[str],
    accessed: frozenset[str],
) -> Frame:
    in_memory = [name for name in own if name not in program.registers]
    stack = tuple(
        name
        for name in in_memory
        if literal_elements(program.arrays[name], layouts[name]) is not None
    )
    heap = tuple(name for name in in_memory if name not in stack)
    registers = tuple(name for name in program.registers if name in accessed)
    return Frame(tuple(outside), stack, heap, registers)
