"""What LLVM may do to emitted code: which passes run, and that its own vectorizers do not.

The emitter writes explicit vectors, unrolls and keeps accumulators in SSA values itself, so all
that is left is cleaning up: LLVM's function simplification at level 1 (SROA, early CSE, instruction
combining, CFG simplification, loop-invariant code motion, dead code). Measured on sixteen 6x64
register tiles: 37 ms, against 47 ms at level 2, 80 ms at level 3, 49 to 127 ms for the module
pipelines. The inner loops are the same, but for one address computation among 43 instructions that
level 2 saves. A hand-made list of passes takes 25 ms, but llvmlite offers no code motion for one,
so that loads stay in loops that do not change them.

The pipeline recognizes copy and fill loops and calls memcpy and memset instead. That is a loss for
small tiles: the emitter marks its functions with the attribute ``"no-builtins"``.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from llvmlite import binding

from polysched.errors import LoweringError
from polysched.machine.description import Machine
from polysched.machine.target import target_machine


@dataclass(frozen=True)
class CompileOptions:
    """How hard LLVM works.

    ``simplification`` is the level of the passes on IR, 0 (none) to 3; ``code_generation`` that of
    instruction selection, scheduling and register allocation, 0 to 3. Code that is
    ``position_independent`` can be linked into programs and shared libraries.
    """

    simplification: int = 1
    code_generation: int = 3
    position_independent: bool = False

    def __post_init__(self) -> None:
        for name, level in (
            ("simplification", self.simplification),
            ("code_generation", self.code_generation),
        ):
            if level not in range(4):
                raise LoweringError(f"{name} is {level}; expected a level from 0 to 3")


def simplify(module: binding.ModuleRef, machine: Machine, options: CompileOptions) -> None:
    """Simplify the functions of ``module``, made for ``machine``, in place."""
    if options.simplification == 0:
        return
    passes, builder = _passes(machine, options.simplification)
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


@functools.lru_cache(maxsize=8)
def _passes(machine: Machine, level: int) -> tuple[binding.FunctionPassManager, Any]:
    """The passes, and the builder that they run with.

    They are kept, for llvmlite 0.50 never frees them: 27 kB each time. Threads may share them as
    llvmlite lets one thread at a time into LLVM.
    """
    tuning = binding.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    tuning.loop_unrolling = False
    tuning.loop_interleaving = False
    builder = binding.create_pass_builder(target_machine(machine), tuning)
    return builder.getFunctionPassManager(), builder
