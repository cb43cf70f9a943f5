"""Proof and compilation of size-generic kernels, which calls import when the disk lacks one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polysched.ir.isl.budget import SAFETY_SECONDS, time_budget
from polysched.llvm.emit.module import emit_module
from polysched.loops.analysis.parallel import parallel_loops
from polysched.lower import proved
from polysched.machine.description import Machine
from polysched.runtime.compiling import entry_of
from polysched.runtime.jit import emit_object
from polysched.runtime.signature import signature_of

if TYPE_CHECKING:
    from polysched.library.matmul.generic.compiled import Code


def built(block: Code, machine: Machine) -> bytes:
    """Prove and compile a block; raises as :func:`polysched.lower.compile`.

    Returns:
        a byte that tells whether the loops are threaded, the numbers of pointers and integers that
        the code takes, and the object code. A schedule cannot tell whether loops are threaded: a
        parallel loop with one iteration is no loop.
    """
    with time_budget(SAFETY_SECONDS):
        schedule = block.schedule()
        loops = proved(schedule, machine, guard=False)
    is_threaded = bool(parallel_loops(loops.body))
    code = emit_object(emit_module(loops, machine), block.name, machine)
    entry = entry_of(signature_of(schedule.kernel), threaded=is_threaded)
    return bytes([is_threaded, entry.pointers, entry.integers]) + code
