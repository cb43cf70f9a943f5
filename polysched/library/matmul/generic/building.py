"""Proof and compilation of size-generic kernels, which calls import when the disk lacks one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polysched.ir.isl.budget import SAFETY_SECONDS, time_budget
from polysched.llvm.emit.module import emit_module
from polysched.loops.analysis.parallel import parallel_loops
from polysched.lower import proved
from polysched.machine.description import Machine
from polysched.runtime.jit import emit_object

if TYPE_CHECKING:
    from polysched.library.matmul.generic.compiled import Code


def built(block: Code, machine: Machine) -> bytes:
    """Prove and compile a block; raises as :func:`polysched.lower.compile`.

    Returns:
        one byte that tells whether the loops are threaded, and the object code. A schedule cannot
        tell: a parallel loop with one iteration is no loop.
    """
    with time_budget(SAFETY_SECONDS):
        schedule = block.schedule()
        assert schedule.kernel.parameters == block.parameters
        loops = proved(schedule, machine, guard=False)
    is_threaded = bool(parallel_loops(loops.body))
    code = emit_object(emit_module(loops, machine), block.name, machine)
    return bytes([is_threaded]) + code
