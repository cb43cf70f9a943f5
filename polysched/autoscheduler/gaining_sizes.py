"""The sizes at which a schedule is predicted to gain over the program as written.

The search knows one value of each size, about 1,000. With 3 channels or 4 filter taps, vectors have
a few active lanes, and buffers cost more than the work. Exported code therefore holds the program
as written, too, and runs it where a size is below a threshold. The thresholds are found by the cost
model, for each size alone and for all of them together. They do not change the schedule.

LLVM makes partial sums of the program as written, too, if the order of a sum is free. The schedule
then gains only where the first terms of a sum fill all of its own partial sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

from polysched.autoscheduler.cost.program import program_costs, shared_facts
from polysched.autoscheduler.driver import Optimized
from polysched.autoscheduler.facts.sizes import nearest_sizes
from polysched.errors import PolyschedError
from polysched.ir.core.kernel import Array, Kernel, Role
from polysched.ir.core.printing import format_expression
from polysched.ir.core.tree import LoopKind, path
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Constant, Expression, Parameter
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform, walk
from polysched.ir.isl.quota import QuotaExceededError
from polysched.ir.isl.shared_results import shared_results
from polysched.ir.semantics.points import with_parameters
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program, number_of_values
from polysched.schedule.primitives.rfactor import Rfactor

SMALL = 4
"""The value of one size that is tried, the others being large."""
FEW_TERMS = 2
"""Size at which partial sums are not full, even those of two lanes and two vectors."""
VECTORIZED = frozenset({Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY})
"""Reductions of floats that LLVM vectorizes; which zero or NaN an extremum is depends on order."""
SMALL_PROGRAMS = (256, 64, 32, 16, 4)
"""Values of all sizes together that are tried, descending until the schedule gains no more.

Without 256 a factorization in rows of 16 lanes, which gains from 400 on, ran from 64 on; matrices
of 150 took 2.8 times as long as the program as written.
"""
WRITTEN_PART = 0.75
"""The part of the predicted gain over the program as written that is real at small sizes.

LLVM unrolls and vectorizes the program as written. Measured on Sapphire Rapids with 43 C functions:
0.6 to 1.0 if the innermost loop of the program as written has no vectors.
"""
SURE_GAIN = 1.1
"""At the sizes of the search the factor above is large enough for this gain."""
PARTIAL_CYCLES = 20.0
"""Cycles of a vector whose lanes are never all active: masks, loads after masked stores.

Measured on Sapphire Rapids: rows of 3 floats that are scaled in place take 21 cycles a row.
"""
BUFFER_CYCLES = 150.0
"""Cycles of allocating and freeing a buffer on the heap."""
LARGEST_FACTOR = 1024
"""The part of a size that counts in the product of all sizes, so that it fits 64 bits."""
MOST_SIZES = 5
"""Most sizes of a program whose thresholds are looked for."""


def gaining_sizes(made: Optimized) -> Expression | None:
    """Return the condition on the sizes under which a schedule is predicted to gain.

    Returns:
        None if it gains at all sizes, if a person has begun the schedule, or if the model has no
        answer. A constant if there is no decision: then the program as written is the best.
    """
    kernel = made.schedule.kernel
    if made.start.steps:
        return None
    if not made.decisions:
        return Constant(False, boolean)
    if made.threads > 1 or not 0 < len(kernel.parameters) <= MOST_SIZES:
        return None
    try:
        with shared_results():
            return _condition(made, kernel)
    except (PolyschedError, QuotaExceededError):  # the model has no answer at small sizes
        return None


def _condition(made: Optimized, kernel: Kernel) -> Expression | None:
    """Combine the thresholds of single sizes and of their product."""
    ratio = made.before.cycles / max(1.0, made.after.cycles)
    part = max(WRITTEN_PART, SURE_GAIN / max(1.0, ratio))
    written, program, machine = made.start.programs[0], made.schedule.program, made.machine
    statements = kernel.statements.values()

    def near(wanted: Mapping[str, int]) -> Mapping[str, int]:
        return nearest_sizes(kernel, wanted, made.sizes)

    def gains(sizes: Mapping[str, int], before: float) -> bool:
        """Whether the schedule gains at some sizes, or a statement has no instance there."""
        if any(with_parameters(statement.domain, sizes).is_empty() for statement in statements):
            return True
        return part * before >= _cycles(program, sizes, machine) + _overhead(program, sizes)

    thresholds, full = dict[str, int](), dict[str, int]()
    for name in kernel.parameters:
        sizes = near({name: SMALL})
        before = _cycles(written, sizes, machine)
        if 2 * before > made.before.cycles:
            continue  # a stride, or the size of another part
        lanes = max((width for width, _ in _partial_vectors(program, sizes)), default=SMALL)
        filled = _filled_sums(made, written, near({name: FEW_TERMS}), name)
        full[name] = max(lanes, filled)
        least = SMALL if gains(sizes, before) else max(4 * SMALL, lanes) // 2
        thresholds[name] = max(least, filled)
    values = {name: max(2 * SMALL_PROGRAMS[0], least) for name, least in full.items()}
    for value in SMALL_PROGRAMS:
        tried = {name: max(value, least) for name, least in full.items()}
        sizes = near(tried)
        if not gains(sizes, _cycles(written, sizes, machine)):
            break
        values = tried
    for name in [name for name in full if thresholds[name] < full[name]]:
        sizes = near({**values, name: SMALL})
        if thresholds[name] == SMALL and not gains(sizes, _cycles(written, sizes, machine)):
            thresholds[name] = max(SMALL, full[name] // 2)
    conditions = [Parameter(name) >= value for name, value in thresholds.items() if value > SMALL]
    product = math.prod(values.values())
    if product > math.prod(thresholds.values()):
        conditions.append(_product(thresholds) >= product)
    return reduce(lambda first, second: first & second, conditions) if conditions else None


def described_sizes(condition: Expression) -> str:
    """Format a condition of `gaining_sizes`, with the limits of factors in words."""

    def named(part: Expression) -> Expression:
        inner = [leaf for leaf in walk(part) if isinstance(leaf, Parameter)]
        return inner[0] if inner and part == _factor(inner[0]) else part

    short = transform(condition, named)
    text = format_expression(short)
    return text if short == condition else f"{text} (a factor counts up to {LARGEST_FACTOR})"


def _product(names: Iterable[str]) -> Expression:
    """Return the product of sizes, each at most `LARGEST_FACTOR`; 0 if one is negative."""
    factors = (_factor(Parameter(name)) for name in names)
    return reduce(lambda first, second: first * second, factors)


def _factor(size: Parameter) -> Expression:
    return minimum(maximum(size, 0), LARGEST_FACTOR)


def _cycles(program: Program, sizes: Mapping[str, int], machine: Machine) -> float:
    statements = tuple(program.tree.statements)
    return sum(cost.cycles for cost in program_costs(program, statements, machine, sizes).values())


def _overhead(program: Program, sizes: Mapping[str, int]) -> float:
    """Return the cycles at small sizes beyond those of the model: partial vectors and buffers."""
    buffers = sum(map(_is_on_heap, program.arrays.values()))
    vectors = sum(count for _, count in _partial_vectors(program, sizes))
    return BUFFER_CYCLES * buffers + PARTIAL_CYCLES * vectors


def _partial_vectors(program: Program, sizes: Mapping[str, int]) -> Iterator[tuple[int, float]]:
    """Yield the lanes of each statement without a full vector, and the number of its vectors."""
    for name in program.tree.statements:
        loops = shared_facts(program, name, sizes).loops
        lanes = [loop.lanes for loop in loops if loop.trip < loop.lanes]
        if lanes:
            around = (loop.iterations for loop in loops if loop.kind is not LoopKind.VECTOR)
            yield max(lanes), math.prod(around)


def _filled_sums(made: Optimized, written: Program, few: Mapping[str, int], size: str) -> int:
    """Return the least value of a size at which partial sums along innermost loops are full.

    It is 0 if the schedule has no partial sums whose number of terms grows with the size. Extrema
    of floats are left out: LLVM keeps their order.
    """
    program, many = made.schedule.program, made.sizes
    values = [0]
    for name in {step.statement for step in made.schedule.steps if isinstance(step, Rfactor)}:
        reduction = None if name not in written.statements else written.statements[name].reduction
        if reduction is None or name not in program.statements:
            continue
        is_float = program.arrays[program.statements[name].target.array].dtype.is_float
        if is_float and reduction.operator not in VECTORIZED:
            continue
        if with_parameters(written.statements[name].domain, few).is_empty():
            continue  # the size bounds a loop around the sum
        sums = shared_facts(written, name, few)
        if not sums.loops or not sums.is_sum_along(sums.loops[-1].name):
            continue
        terms = sums.loops[-1].trip
        growth = shared_facts(written, name, many).loops[-1].trip - terms
        needed = _partial_sums(program, name, few) - terms
        if growth > 0 and needed > 0:
            values.append(few[size] + math.ceil(needed * (many[size] - few[size]) / growth))
    return max(values)


def _partial_sums(program: Program, statement: str, few: Mapping[str, int]) -> int:
    """Return the number of partial sums if too few terms exist to fill all of them; else 0."""
    loops = shared_facts(program, statement, few).loops
    lanes = [loop.lanes for loop in loops if loop.trip < loop.lanes]
    trips = {loop.name: loop.trip for loop in loops}
    copies = (
        (number_of_values(program, loop) or 1, trips[loop.name])
        for loop in path(program.tree, statement)
        if loop.kind is LoopKind.UNROLLED and loop.name in trips
    )
    return math.prod((*lanes, *(all_ for all_, some in copies if some < all_))) if lanes else 0


def _is_on_heap(array: Array) -> bool:
    """Whether an array is a buffer whose size is unknown."""
    is_constant = all(isinstance(extent, Constant) for extent in array.shape)
    return array.role is Role.TEMPORARY and not is_constant
