"""All mutants, in the order of the flow, those of the frontends last."""

from tests.mutants import (
    in_bits,
    in_dependence,
    in_legality,
    in_library,
    in_llvm,
    in_loops,
    in_many_statements,
    in_passes,
    in_printed_c,
    in_python_functions,
    in_registers,
    in_repairs,
    in_schedule,
    in_scop,
    in_strides,
    in_threads,
    in_witnesses,
)
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *in_dependence.MUTANTS,
    *in_schedule.MUTANTS,
    *in_legality.MUTANTS,
    *in_witnesses.MUTANTS,
    *in_repairs.MUTANTS,
    *in_loops.MUTANTS,
    *in_many_statements.MUTANTS,
    *in_printed_c.MUTANTS,
    *in_passes.MUTANTS,
    *in_llvm.MUTANTS,
    *in_registers.MUTANTS,
    *in_threads.MUTANTS,
    *in_bits.MUTANTS,
    *in_strides.MUTANTS,
    *in_library.MUTANTS,
    *in_scop.MUTANTS,
    *in_python_functions.MUTANTS,
)
