"""The list of passes between the loops and LLVM: each is a pure function, program to program.

The interpreter runs the program after each pass, and ``polysched show --stage NAME`` prints it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polysched.codegen.dot_products import form_dot_products
from polysched.codegen.expand import unroll_loops
from polysched.codegen.registers import promote_registers
from polysched.codegen.tiles import form_tiles
from polysched.loops.nodes import LoopProgram
from polysched.machine.description import Machine
from polysched.vector.ir import VectorProgram
from polysched.vector.vectorize import vectorize
from polysched.vector.windows import form_windows
from polysched.vector.neighbors import form_neighbors
from polysched.vector.unmask import unmask_registers


@dataclass(frozen=True)
class Pass:
    """A rewrite of a whole program for a machine.

    Attributes:
        name: the stage that prints the program after this pass.
        summary: what the pass does, as an imperative.
        run: the rewrite. It raises a ``LoweringError`` if a directive of the schedule cannot be
            applied.
    """

    name: str
    summary: str
    run: Callable[[LoopProgram, Machine], LoopProgram]


# Register promotion needs literal subscripts, so unrolling comes first. Dot products come before
# tiles: a tile would transpose the operand that a dot product reads as it lies in memory.
PASSES = (
    Pass(
        "unroll",
        "replace each unrolled loop by copies of its body",
        lambda program, machine: unroll_loops(program),
    ),
    Pass(
        "promote",
        "keep accumulators and small buffers in registers",
        lambda program, machine: promote_registers(program, machine.vector_registers),
    ),
    Pass(
        "dot-product",
        "join consecutive terms of sums of small integers",
        lambda program, machine: form_dot_products(program, machine.enabled_features),
    ),
    Pass(
        "transpose-tiles",
        "replace strided accesses by transpositions in registers",
        lambda program, machine: form_tiles(program, machine.vector_registers),
    ),
)
"""The passes in order."""


def run_passes(program: LoopProgram, machine: Machine, *, last: str | None = None) -> LoopProgram:
    """Apply the passes in order.

    Args:
        program: loops as :func:`polysched.loops.generate.generate_loops` makes them.
        machine: its vector registers and instruction sets decide what the passes do.
        last: the name of the last pass to apply; by default all are applied.

    Raises:
        LoweringError: a directive of the schedule cannot be applied.
    """
    for one in PASSES:
        program = one.run(program, machine)
        if one.name == last:
            break
    return program


def run_vector_passes(program: LoopProgram, machine: Machine) -> VectorProgram:
    made = vectorize(run_passes(program, machine), machine)
    made = form_windows(made)
    made = form_neighbors(made, machine.enabled_features)
    return unmask_registers(made)
