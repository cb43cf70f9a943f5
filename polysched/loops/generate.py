"""Generate loops from the schedule tree by isl, and check them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import Enum

import islpy as isl

from polysched.errors import KernelError, LoweringError
from polysched.ir.core.limits import limited
from polysched.ir.core.tree import executed, path
from polysched.ir.expr.linear_form import Interval
from polysched.ir.isl.budget import SAFETY_SECONDS, time_budget
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.isl.quota import QuotaExceededError, in_proportion, operation_quota
from polysched.loops.analysis.coverage import miscovered
from polysched.loops.analysis.lifetimes import merge_lifetimes, timing
from polysched.loops.ir.nodes import LoopNode, LoopProgram
from polysched.loops.ir.prefetches import prefetch_specs
from polysched.loops.isl_ast.guarded import guarded_loops
from polysched.loops.isl_ast.reader import read_ast
from polysched.loops.isl_ast.schedule_tree import isl_ast, iterator_names
from polysched.loops.separation import separate_tiles
from polysched.schedule.core.program import Program, prefix_map

DEFAULT_QUOTA = 4_000_000
"""Operations that isl may spend on one program; they take a few seconds."""

LAST_RESORTS = 16
"""Factor of the operations that the last two ways get.

The copy of a strided, modular footprint takes 3 to 9 million operations, and one or two seconds.
With the quota of the other ways no loops would be found for such a schedule.
"""


class _Way(Enum):
    """The ways to loops in the order in which they are tried."""

    SEPARATED = "isl generates the loops, whose full and partial tiles are then separated"
    TOGETHER = "isl generates the loops, with full and partial tiles together"
    GUARDED = "loops over simple bounds, a condition at every assignment"


@time_budget(SAFETY_SECONDS)
def generate_loops(program: Program, *, quota: int = DEFAULT_QUOTA) -> LoopProgram:
    """Generate the loops of a scheduled program, with full tiles separated from partial ones.

    isl generates the loops. Full tiles are then separated from partial ones
    (:func:`separate_tiles`), and the loops are proved to run every instance exactly once. If the
    proof fails or isl exceeds its quota, a simpler way is tried: first loops without separation,
    then loops without AST generation (:func:`guarded_loops`), which run slowly but nearly always
    exist.

    Args:
        quota: twice the operations that isl may spend in each way on up to 100 statements; the last
            two ways get ``LAST_RESORTS`` times as many. 0: no limit.

    Raises:
        LoweringError: no way finished with loops that are proved to be correct.
    """
    kernel = program.kernel
    reasons = []
    for way in _Way:
        try:
            with _limit(way, quota // 2, len(program.statements)):
                body = _read_back(program, way)
                wrong = miscovered(body, program.statements, kernel.context, _times(program))
        except (isl.Error, QuotaExceededError, KernelError, LoweringError) as error:
            # KernelError: a bound or subscript has a literal beyond 64 bits. LoweringError: isl cut
            # a lifetime among threads, or left out a loop whose iteration a prefetch counts.
            reasons.append(str(error))
            continue
        if wrong is None:
            return LoopProgram(
                kernel.name,
                kernel.parameters,
                kernel.context,
                parameter_intervals(kernel.context, kernel.parameters),
                program.arrays,
                body,
                kernel.fp_contract,
                instructions=program.instructions,
            )
        reasons.append(f"statement '{wrong.statement}': the loops {wrong.fault}, an error in isl")
    raise LoweringError(
        f"kernel '{kernel.name}': no loops could be generated and proved for this schedule. "
        f"Full and partial tiles apart: {reasons[0]}. Conditions in simple loops: {reasons[-1]}. "
        "Take other factors or another order of loops"
    )


def _times(program: Program) -> dict[str, isl.Map]:
    """Return for each statement the map from its instances to the values of the loops around it."""
    return {
        name: prefix_map(statement, path(program.tree, name), [])
        for name, statement in program.statements.items()
    }


def _limit(way: _Way, operations: int, statements: int) -> AbstractContextManager[None]:
    """Limit a way by operations, so that the code does not depend on the speed of the machine."""
    operations = in_proportion(operations, statements)
    if way in (_Way.TOGETHER, _Way.GUARDED):
        operations *= LAST_RESORTS
    return operation_quota(operations)


def _read_back(program: Program, way: _Way) -> LoopNode:
    tree = executed(program.tree)
    iterators = iterator_names(tree)
    prefetches = prefetch_specs(program, tree, iterators)
    known = parameter_intervals(program.kernel.context, program.kernel.parameters)
    if way is _Way.GUARDED:
        body = guarded_loops(program, tree, iterators, known, prefetches)
    else:
        body = read_ast(program, *isl_ast(program, tree), iterators, known, prefetches)
    if way is _Way.SEPARATED:
        body = separate_tiles(body, known)
    return merge_lifetimes(body, timing(program, tree, known))


@limited(LoweringError, "the bounds of the parameters cannot be found")
def parameter_intervals(context: isl.Set, parameters: tuple[str, ...]) -> dict[str, Interval]:
    """The literal bounds that the context puts on each parameter."""
    known: dict[str, Interval] = {}
    for position, name in enumerate(parameters):
        values = context.move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
        known[name] = (least(values, 0), greatest(values, 0))
    return known
