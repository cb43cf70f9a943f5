"""Pass pipeline from the loop IR to the vector IR; each pass is a pure function on programs.

Passes rewrite a loop program until ``vectorize`` turns it into a vector program. ``polysched show
--stage NAME`` prints the program after a pass. The tests run an interpreter after each pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from polysched.loops.branches import form_branches
from polysched.loops.ir.nodes import LoopProgram
from polysched.loops.leave_loops import leave_loops
from polysched.loops.trim_no_ops import trim_no_ops
from polysched.machine.description import Machine
from polysched.vector.ir import VectorProgram
from polysched.vector.passes.carry import carry_values
from polysched.vector.passes.forward import count_lanes_upward
from polysched.vector.passes.interleave import interleave_stores
from polysched.vector.passes.join_guards import join_guards
from polysched.vector.passes.late_operands import combine_late_operands
from polysched.vector.passes.lookup import form_lookups
from polysched.vector.passes.narrow import narrow_integers
from polysched.vector.passes.neighbors import form_neighbors
from polysched.vector.passes.promote import promote_registers
from polysched.vector.passes.scalar_chains import move_chains
from polysched.vector.passes.tensorize import select_instructions
from polysched.vector.passes.tile_registers import hold_tiles
from polysched.vector.passes.transpose_tiles import form_tiles
from polysched.vector.passes.unmask import unmask_registers
from polysched.vector.passes.unroll import unroll_loops
from polysched.vector.passes.vectorize import vectorize
from polysched.vector.passes.windows import form_windows

AnyProgram: TypeAlias = LoopProgram | VectorProgram


@dataclass(frozen=True)
class Pass:
    """A rewrite of a whole program for a machine.

    Attributes:
        name: the stage that prints the program after this pass.
        summary: an imperative sentence for the command line's list of passes.
        run: the rewrite. It raises a ``LoweringError`` if a directive of the schedule cannot be
            applied.
    """

    name: str
    summary: str
    run: Callable[[Any, Machine], AnyProgram]


# Narrowing does not depend on the loops, so it comes first, before unrolling copies statements.
# Instruction selection needs the loops of a nest, so it precedes unrolling. Register promotion
# needs literal subscripts, so it follows unrolling. The registers that it loads and stores around a
# loop would hide that each iteration writes them first, so trimming precedes it. Masks of registers
# depend on all accesses to a register, so `unmask` follows all passes that write some.
# Configurations of tiles are nodes around other statements, which only the emitter needs, so
# `tiles` is the last pass.
PASSES = (
    Pass(
        "narrow",
        "compute and store integers in as few bits as the results need",
        lambda program, machine: narrow_integers(program),
    ),
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
        "trim-no-ops",
        "trim loops to the iterations that change something, where data decides that",
        lambda program, machine: trim_no_ops(program),
    ),
    Pass(
        "leave-loops",
        "leave loops where data decides that no later iteration changes anything",
        lambda program, machine: leave_loops(program),
    ),
    Pass(
        "promote",
        "keep accumulators and small buffers in registers",
        lambda program, machine: promote_registers(program, machine.vector_registers),
    ),
    Pass(
        "carry",
        "keep values that the next iteration reads in registers",
        lambda program, machine: carry_values(program, machine.vector_registers // 2),
    ),
    Pass(
        "branches",
        "run scalar statements that need the same condition in one branch",
        lambda program, machine: form_branches(program),
    ),
    Pass(
        "transpose-tiles",
        "replace strided accesses by transpositions in registers",
        lambda program, machine: form_tiles(program, machine.vector_registers),
    ),
    Pass(
        "vectorize",
        "replace vector loops by vector statements, with classified accesses and masks",
        vectorize,
    ),
    Pass(
        "forward",
        "count lanes upward where all vectors of a statement run backward in memory",
        lambda program, machine: count_lanes_upward(program),
    ),
    Pass(
        "interleave",
        "store whole vectors where statements together write every element",
        lambda program, machine: interleave_stores(program),
    ),
    Pass(
        "windows",
        "load and store elements at literal distances as whole vectors and shuffles",
        lambda program, machine: form_windows(program),
    ),
    Pass(
        "lookup",
        "look bytes up in tables that registers hold",
        lambda program, machine: form_lookups(program, machine.enabled_features),
    ),
    Pass(
        "neighbors",
        "make overlapping vectors of one load, single elements and shuffles",
        lambda program, machine: form_neighbors(program, machine.enabled_features),
    ),
    Pass(
        "unmask",
        "write registers without masks if their inactive lanes are dead",
        lambda program, machine: unmask_registers(program),
    ),
    Pass(
        "join-guards",
        "run statements with the same guard together",
        lambda program, machine: join_guards(program),
    ),
    Pass(
        "late-operands",
        "combine integer minima and maxima in the order in which their operands are ready",
        lambda program, machine: combine_late_operands(program),
    ),
    Pass(
        "chains",
        "compute scalar recurrences of integer minima and maxima in vector registers",
        lambda program, machine: move_chains(program, machine.enabled_features),
    ),
    Pass(
        "tiles",
        "keep the tiles of instructions in tile registers",
        lambda program, machine: hold_tiles(program),
    ),
)
"""The passes in order."""

_VECTORS: WeakKeyDictionary[LoopProgram, tuple[Machine, VectorProgram]] = WeakKeyDictionary()
"""Cache of the vector program of each live loop program, for the machine of the last call.

The autoscheduler compiles a schedule before its caller does.
"""


def run_passes(program: LoopProgram, machine: Machine, *, last: str | None = None) -> AnyProgram:
    """Apply the passes in order.

    Args:
        program: the result of :func:`polysched.loops.generate.generate_loops`.
        last: the name of the last pass to apply; by default, all passes are applied.

    Raises:
        LoweringError: a directive of the schedule cannot be applied.
    """
    current: AnyProgram = program
    for lowering_pass in PASSES:
        current = lowering_pass.run(current, machine)
        if lowering_pass.name == last:
            break
    return current


def loops_after(program: LoopProgram, machine: Machine, last: str) -> LoopProgram:
    """The loop program after a pass that precedes ``vectorize``. Raises as `run_passes`."""
    loops = run_passes(program, machine, last=last)
    assert isinstance(loops, LoopProgram), f"pass '{last}' makes no loop program"
    return loops


def vector_program(program: LoopProgram, machine: Machine) -> VectorProgram:
    """The vector program after all passes. Raises as `run_passes`."""
    known = _VECTORS.get(program)
    if known is not None and known[0] == machine:
        return known[1]
    vectors = run_passes(program, machine)
    assert isinstance(vectors, VectorProgram)
    _VECTORS[program] = machine, vectors
    return vectors
