"""LLVM pass pipeline: simplification without LLVM's vectorizers and unrollers.

The emitter already generates explicit vectors, unrolled loops and accumulators in SSA values. So
only cleanup is left: LLVM's function simplification at level 1 (SROA, early CSE, instruction
combining, CFG simplification, loop-invariant code motion, dead code elimination). Measured on
sixteen 6x64 register tiles it takes 37 ms; level 2 takes 47 ms, level 3 80 ms, and the module
pipelines 49 to 127 ms. The inner loops are the same, except that level 2 saves one address
computation among 43 instructions. A custom list of passes takes 25 ms, but llvmlite offers no
loop-invariant code motion for it, so invariant loads stay in loops.

The pipeline replaces copy and fill loops by calls of memcpy and memset. These calls are slower for
small tiles, so the emitter marks its functions with the attribute ``"no-builtins"``.
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
    """Optimization levels of LLVM.

    Attributes:
        simplification: the level of the passes on IR, 0 (none) to 3.
        code_generation: the level of instruction selection, scheduling and register allocation, 0
            to 3.
        position_independent: whether the code can be linked into programs and shared libraries.
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
    """Simplify the functions of a module for ``machine`` in place."""
    if options.simplification == 0:
        return
    passes, builder = _passes(machine, options.simplification)
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def optimize_unscheduled(module: binding.ModuleRef, machine: Machine) -> None:
    """Run LLVM's own optimizations, with its vectorizers and unrollers, on a module in place.

    They are for programs as written: no schedule says which loops are vectors.
    """
    builder = _all_passes(machine)
    # A run of a module's passes empties them: LLVM aborts at a second run.
    builder.getModulePassManager().run(module, builder)


@functools.lru_cache(maxsize=8)
def _all_passes(machine: Machine) -> Any:
    """The pass builder of LLVM's default pipeline of level 3, cached as `_passes`."""
    tuning = binding.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    tuning.loop_unrolling = tuning.loop_interleaving = True
    return binding.create_pass_builder(target_machine(machine), tuning)


@functools.lru_cache(maxsize=8)
def _passes(machine: Machine, level: int) -> tuple[binding.FunctionPassManager, Any]:
    """The pass manager and its pass builder.

    They are cached because llvmlite 0.50 never frees them, 27 kB each. Threads may share them,
    because llvmlite lets only one thread at a time into LLVM.
    """
    tuning = binding.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    tuning.loop_unrolling = False
    tuning.loop_interleaving = False
    builder = binding.create_pass_builder(target_machine(machine), tuning)
    passes = builder.getFunctionPassManager()
    # Unrolled updates of one element store it once each; the level has no pass against that.
    passes.add_dead_store_elimination_pass()
    # Sums of bits in pairs, nibbles and bytes become one instruction that counts bits.
    passes.add_aggressive_instcombine_pass()
    return passes, builder
