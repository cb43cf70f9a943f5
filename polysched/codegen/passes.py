"""The list of passes between the loops and LLVM: each is a pure function, program to program.

The interpreter runs the program after each pass, and ``polysched show --stage NAME`` prints it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polysched.codegen.expand import unroll_loops
from polysched.codegen.registers import promote_registers
from polysched.codegen.tensorize import select_instructions
from polysched.codegen.tiles import form_tiles
from polysched.loops.ir.nodes import LoopProgram
from polysched.machine.description import Machine


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


# Instructions are selected while the loops of a nest are there, so before unrolling. Register
# promotion needs literal subscripts, so it comes after unrolling.
PASSES = (
    Pass(
        "tensorize",
        "replace each tensorized nest by a call of its instruction",
        select_instructions,
    ),
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
