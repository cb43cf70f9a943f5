"""Prove that every Python integer that a kernel computes fits 64 bits.

Python integers are unbounded; kernels compute with 64 bits. The range of an integer follows from
the ranges of sizes and indices. If it fits 64 bits only up to some size, the kernel is limited to
sizes up to that limit, which every call checks. If it does not fit even for small sizes, the
function is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import islpy as isl
import networkx as nx

from polysched.errors import FrontendError
from polysched.frontends.python.values.intervals import INT64, Interval, Ranges
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.expressions import Expression, Load, Operation, Parameter
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import walk
from polysched.ir.isl.extrema import greatest, least

LARGEST_SIZE = 2**57
"""Bound on the elements of an array and the iterations of a loop: see
`loops/analysis/size_limits.py`."""

SMALLEST_LIMIT = 2**15
"""A function whose integers fit 64 bits only for sizes below this limit is refused."""

MOST_ITERATIONS = 2**50
"""Bound on the executions of one statement: more would take weeks."""

_ROUNDS = 6
"""Rounds of the fixed-point iteration over assignments to local numbers. Ranges that the assigned
expressions bound, as in ``t = (3 * t + i) % m``, have converged by then."""

Indices = Mapping[str, tuple[Expression, Expression]]
"""The least and the greatest value of the index of each enclosing loop."""


@dataclass(frozen=True)
class Need:
    """A Python integer that must be proved to lie in a range.

    Attributes:
        node: the expression in the source.
        expression: the integer; every subexpression must fit 64 bits.
        indices: ranges of the indices of the enclosing loops.
        within: the range in which the result must lie.
    """

    node: ast.AST
    expression: Expression
    indices: Indices
    within: Interval = INT64


@dataclass
class IntegerUses:
    """Record of a function's computations with Python integers.

    Attributes:
        needs: the integers that must be proved to fit.
        stores: the values assigned to each local number that is kept in memory.
    """

    needs: list[Need] = field(default_factory=list)
    stores: dict[str, list[Need]] = field(default_factory=dict)

    def store(self, name: str, need: Need) -> None:
        """Record an assignment to a local number."""
        self.stores.setdefault(name, []).append(need)
        self.needs.append(need)


def limits_of_integers(
    kernel: Kernel, uses: IntegerUses, error: Callable[[ast.AST, str], FrontendError]
) -> Mapping[str, int]:
    """Limits on the absolute values of parameters for which all Python integers fit 64 bits.

    Args:
        uses: the function's computations with Python integers.

    Raises:
        FrontendError: an integer does not fit even for small sizes.
    """
    sizes = {name for array in kernel.arrays.values() for name in _parameters(array.shape)}
    sizes |= {
        name for need in uses.needs for ends in need.indices.values() for name in _parameters(ends)
    }
    largest = _Trial(uses, sizes, {}, INT64.highest)
    needs = [need for need in uses.needs if not largest.holds(need)]
    if not needs:
        return {}
    declared = {name: _declared(kernel.context, name) for name in kernel.parameters}
    limits: dict[str, int] = {}
    for need in needs:
        fits, used = _limit(need, uses, sizes, declared, error)
        for name in used:
            if name not in sizes or fits < LARGEST_SIZE:
                limits[name] = min(fits, limits.get(name, fits))
    return limits


def _limit(
    need: Need,
    uses: IntegerUses,
    sizes: set[str],
    declared: Mapping[str, Interval],
    error: Callable[[ast.AST, str], FrontendError],
) -> tuple[int, set[str]]:
    """The largest limit for which one integer fits, and the parameters that it limits."""

    def trial(size: int) -> _Trial:
        return _Trial(uses, sizes, declared, size)

    if trial(INT64.highest).holds(need):
        return INT64.highest, set()
    smallest = trial(SMALLEST_LIMIT)
    if not smallest.holds(need):
        raise error(need.node, _refusal(smallest, need))
    fits, too_large = SMALLEST_LIMIT, INT64.highest
    while too_large - fits > 1:
        middle = (fits + too_large) // 2
        fits, too_large = (middle, too_large) if trial(middle).holds(need) else (fits, middle)
    return fits, smallest.used


def _refusal(trial: _Trial, need: Need) -> str:
    hull = trial.hull(need)
    is_literal = not trial.used
    where = "" if is_literal else f" where sizes and indices are at most {SMALLEST_LIMIT}"
    advice = "np.int64(x), which wraps around, or float(x)"
    if not is_literal:
        names = ", ".join(f"{name} <= ..." for name in sorted(trial.used)[:2])
        advice = f"'assert {names}' for smaller sizes, {advice}"
    if not INT64.contains(hull):
        return (
            f"this Python integer may need {hull.bits} bits, from {hull.lowest} to "
            f"{hull.highest}{where}, and a kernel computes integers with 64 bits; write {advice}"
        )
    return (
        f"this Python integer may be from {hull.lowest} to {hull.highest}{where}; Python divides "
        "integers, and compares them with floats, without rounding them, and a kernel does so only "
        f"up to 2**53: write {advice}"
    )


class _Trial:
    """Ranges of integers under the assumption that sizes are at most a limit.

    Args:
        sizes: the parameters that are extents or loop bounds.
        declared: the declared ranges of the parameters.
        size: the limit.
    """

    def __init__(
        self,
        uses: IntegerUses,
        sizes: set[str],
        declared: Mapping[str, Interval],
        size: int,
    ) -> None:
        def parameter(name: str) -> Interval:
            limit = min(size, LARGEST_SIZE) if name in sizes else size
            lowest = -limit - (limit == INT64.highest)
            return declared.get(name, INT64).intersection(Interval(lowest, limit))

        self.used: set[str] = set()
        """The parameters on which the ranges computed so far depend."""
        self._ranges = Ranges(parameter, _locals(uses, Ranges(parameter, {}, self.used)), self.used)

    def holds(self, need: Need) -> bool:
        """Whether an integer provably lies in its range."""
        root, inside = self._ranges.of(need.expression, need.indices)
        return need.within.contains(root) and INT64.contains(inside)

    def hull(self, need: Need) -> Interval:
        """The range of an integer and of all its subexpressions."""
        root, inside = self._ranges.of(need.expression, need.indices)
        return root.hull(inside)


def _locals(uses: IntegerUses, ranges: Ranges) -> dict[str, Interval]:
    """The ranges of local numbers that are kept in memory, by fixed-point iteration."""
    bounds: dict[str, Interval] = {}
    for _ in range(_ROUNDS):
        before = dict(bounds)
        for name, stores in uses.stores.items():
            known = [
                _value(ranges, bounds, store)
                for store in stores
                if all(source in bounds for source in _read(store, uses))
            ]
            if known:
                bounds[name] = reduce(Interval.hull, known)
        if bounds == before:
            return bounds
    growing = {name for name in bounds if bounds[name] != before.get(name)}
    settled = {name: interval for name, interval in bounds.items() if name not in growing}
    # Every assignment is proved to fit 64 bits, so iterating from INT64 only narrows the ranges.
    bounds = settled | dict.fromkeys(growing, INT64)
    for _ in range(2):
        bounds |= {
            name: reduce(
                Interval.hull, (_value(ranges, bounds, store) for store in uses.stores[name])
            ).intersection(INT64)
            for name in growing
        }
    for names in _exchanging(growing, uses):
        stores = [store for name in names for store in uses.stores[name]]
        added = _accumulated(names, stores, ranges, settled)
        for name in names:
            bounds[name] = bounds[name].intersection(INT64 if added is None else added)
    return bounds


def _exchanging(growing: set[str], uses: IntegerUses) -> list[frozenset[str]]:
    """Groups of growing numbers that are computed from one another, as by a function inlined."""
    graph = nx.Graph()
    graph.add_nodes_from(sorted(growing))
    for name in sorted(growing):
        for store in uses.stores[name]:
            graph.add_edges_from((name, read) for read in _read(store, uses) & growing)
    return [frozenset(names) for names in nx.connected_components(graph)]


def _accumulated(
    names: frozenset[str], stores: Iterable[Need], ranges: Ranges, settled: Mapping[str, Interval]
) -> Interval | None:
    """The range of numbers whose assignments only set them, or add to one of them; else None.

    An assignment may set them or add to them, as in ``n = n + 1 if c else 0``. A value is a start
    and one step of each later assignment that has been executed, so the steps of all executions
    bound it.
    """
    start, added = Interval(0, 0), Interval(0, 0)
    known = Ranges(ranges.parameter, settled, ranges.used)
    for store in stores:
        steps = Interval(0, 0)
        for value in _alternatives(store.expression):
            if not _names(value, names):
                start = start.hull(known.of(value, store.indices)[0])
                continue
            step = _step(value, names, known, store.indices)
            if step is None:
                return None
            steps = steps.hull(step)
        times = min(known.iterations(store.indices), MOST_ITERATIONS)
        added = added.plus(steps.times(Interval(times, times)))
    return start.plus(added)


def _alternatives(expression: Expression) -> tuple[Expression, ...]:
    """The possible values of an expression: both sides of a selection or of an extremum."""
    match expression:
        case Operation(operator=Operator.SELECT, operands=[_, left, right]):
            return (*_alternatives(left), *_alternatives(right))
        case Operation(operator=Operator.MINIMUM | Operator.MAXIMUM, operands=[left, right]):
            return (*_alternatives(left), *_alternatives(right))
    return (expression,)


def _step(
    expression: Expression, names: frozenset[str], ranges: Ranges, indices: Indices
) -> Interval | None:
    """The range that an assignment adds to one of the numbers; None if it does something else."""
    match expression:
        case Load(array=array) if array in names:
            return Interval(0, 0)
        case Operation(operator=Operator.ADD, operands=[left, right]):
            for side, other in ((left, right), (right, left)):
                step = _step(side, names, ranges, indices)
                if step is not None and not _names(other, names):
                    return step.plus(ranges.of(other, indices)[0])
        case Operation(operator=Operator.SUBTRACT, operands=[left, right]):
            step = _step(left, names, ranges, indices)
            if step is not None and not _names(right, names):
                return step.plus(ranges.of(right, indices)[0].negated())
        case Operation(operator=Operator.SELECT, operands=[_, left, right]):
            steps = [_step(side, names, ranges, indices) for side in (left, right)]
            if steps[0] is not None and steps[1] is not None:
                return steps[0].hull(steps[1])
    return None


def _names(expression: Expression, names: frozenset[str]) -> bool:
    return any(isinstance(node, Load) and node.array in names for node in walk(expression))


def _value(ranges: Ranges, known: Mapping[str, Interval], store: Need) -> Interval:
    return Ranges(ranges.parameter, known, ranges.used).of(store.expression, store.indices)[0]


def _read(need: Need, uses: IntegerUses) -> set[str]:
    """The local numbers that an assignment reads."""
    return {
        node.array
        for node in walk(need.expression)
        if isinstance(node, Load) and node.array in uses.stores
    }


def _parameters(expressions: Iterable[Expression]) -> list[str]:
    return [
        node.name
        for expression in expressions
        for node in walk(expression)
        if isinstance(node, Parameter)
    ]


def _declared(context: isl.Set, name: str) -> Interval:
    """The range of a parameter in a context."""
    position = context.find_dim_by_name(isl.dim_type.param, name)
    others = context.dim(isl.dim_type.param)
    only = context.project_out(isl.dim_type.param, position + 1, others - position - 1)
    only = only.project_out(isl.dim_type.param, 0, position)
    only = isl.Set.from_params(only).move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, 1)
    lowest, highest = least(only, 0), greatest(only, 0)
    return Interval(
        INT64.lowest if lowest is None else lowest, INT64.highest if highest is None else highest
    )
