"""All mutants, in the order of the flow."""

from tests.mutants import in_codegen, in_dependence, in_legality, in_loops, in_schedule
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *in_dependence.MUTANTS,
    *in_schedule.MUTANTS,
    *in_legality.MUTANTS,
    *in_loops.MUTANTS,
    *in_codegen.MUTANTS,
)
