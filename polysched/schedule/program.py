"""The program while it is scheduled: statements, arrays, dependences and the loop tree.

Every step maps a :class:`Program` to a new one. Order steps change the tree only; program steps
also add statements and arrays and *translate the dependences*, so that whatever the steps, the
dependences always relate instances of the statements at hand and state what the declared kernel
demands of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from types import MappingProxyType

import islpy as isl

from polysched.dependence.memory import memory_dependences
from polysched.dependence.relations import Dependence, Reference
from polysched.errors import LoopReferenceError, ScheduleError, suggestion
from polysched.ir.affine import literal
from polysched.ir.extrema import greatest, least
from polysched.ir.kernel import Array, Kernel, Statement
from polysched.ir.linear import Interval
from polysched.ir.tree import Leaf, Loop, LoopKind, Node, loops, path, statements
from polysched.ir.tree import Sequence as SequenceNode


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel on its way through a schedule.

    Attributes:
        recomputed: for each statement whose instances a step has copied (recomputation), the
            relation from its instances to the declared instances that they are.
        folded: for each array in which a step lets elements share memory, for each reference to it,
            the relation from instances to the elements that are meant. A later step that has other
            references go there leaves it as it is; it then does not fit any more.
    """

    kernel: Kernel
    arrays: Mapping[str, Array]
    statements: Mapping[str, Statement]
    dependences: Sequence[Dependence]
    tree: Node
    recomputed: Mapping[str, isl.Map] = field(default_factory=dict)
    folded: Mapping[str, Mapping[Reference, isl.Map]] = field(default_factory=dict)

    def with_tree(self, tree: Node) -> Program:
        """The same program in another order."""
        return replace(self, tree=tree)


def initial_program(kernel: Kernel) -> Program:
    """The kernel in program order, with its memory-based dependences."""
    return Program(
        kernel, kernel.arrays, kernel.statements, memory_dependences(kernel), kernel.body
    )


def base_name(reference: str) -> str:
    """The loop's own name in ``"loop"`` or ``"statement.loop"``."""
    return reference.rpartition(".")[2]


def find_loop(program: Program, reference: str) -> Loop:
    """The loop that ``"loop"`` or ``"statement.loop"`` names.

    Raises:
        ScheduleError: there is no such loop, or several have that name.
    """
    statement, _, name = reference.rpartition(".")
    if statement:
        if statement not in program.statements:
            raise LoopReferenceError(
                reference,
                f"no statement '{statement}' (in loop '{reference}')",
                suggestion(statement, program.statements),
            )
        around = path(program.tree, statement)
        found = [loop for loop in around if loop.name == name]
        known = [f"{statement}.{loop.name}" for loop in around]
    else:
        everything = list(loops(program.tree))
        found = [loop for loop in everything if loop.name == name]
        known = [loop.name for loop in everything]
    if not found:
        raise LoopReferenceError(reference, f"no loop '{reference}'", suggestion(reference, known))
    if len(found) > 1:
        options = ", ".join(f"'{inner}.{name}'" for loop in found for inner in statements(loop)[:1])
        raise LoopReferenceError(
            reference, f"loop '{reference}' is ambiguous", f"; name it by a statement: {options}"
        )
    return found[0]


def sequential_loop(program: Program, reference: str) -> Loop:
    """Like :func:`find_loop`, for steps that take the loop apart or say how it runs: no step before
    may have said so.
    """
    loop = loop_in_order(program, reference)
    if loop.prefetches:
        raise LoopReferenceError(
            reference,
            f"loop '{reference}' prefetches array '{loop.prefetches[0].array}' already",
            "; take it apart before that step",
        )
    return loop


def loop_in_order(program: Program, reference: str) -> Loop:
    """Like :func:`find_loop`, of a loop whose iterations run one after the other."""
    loop = find_loop(program, reference)
    if loop.kind is not LoopKind.SEQUENTIAL:
        raise LoopReferenceError(
            reference,
            f"loop '{reference}' is {_KIND_WORDS[loop.kind]} already",
            "; take it apart before that step",
        )
    return loop


def counted_loop(program: Program, reference: str) -> Loop:
    """Like :func:`find_loop`, for steps that put something into the iterations of a loop: it must
    not be unrolled or a vector.
    """
    loop = find_loop(program, reference)
    return loop if loop.kind is LoopKind.PARALLEL else sequential_loop(program, reference)


_KIND_WORDS = MappingProxyType(
    {
        LoopKind.PARALLEL: "parallel",
        LoopKind.UNROLLED: "unrolled",
        LoopKind.VECTOR: "vectorized",
    }
)


def require_fresh(program: Program, below: Loop | Node, *names: str) -> None:
    """Check that new loop names are identifiers and free around every statement below a node.

    Raises:
        ScheduleError: a name is taken or no identifier.
    """
    for name in names:
        if not name.isidentifier():
            raise ScheduleError(f"loop name {name!r} is not an identifier")
        if names.count(name) > 1:
            raise ScheduleError(f"two new loops would both be named '{name}'")
        for statement in statements(below):
            if any(loop.name == name for loop in path(program.tree, statement)):
                raise ScheduleError(
                    f"loop name '{name}' is taken around statement '{statement}'; "
                    "pass other names with into="
                )


LARGEST_LITERAL = 2**40
"""Factors and distances beyond this say nothing of a loop that ends, and could overflow 64 bits."""


def require_moderate(what: str, value: int) -> None:
    """Check a number that a step takes.

    Raises:
        ScheduleError: ``value`` is larger than any loop needs.
    """
    if abs(value) > LARGEST_LITERAL:
        raise ScheduleError(f"{what} is {value}; expected at most 2**40 = {LARGEST_LITERAL}")


def require_positive(what: str, value: int) -> None:
    """Check a factor or a number of lanes.

    Raises:
        ScheduleError: ``value`` is not positive, or larger than any loop needs.
    """
    require_moderate(what, value)
    if value < 1:
        raise ScheduleError(f"{what} is {value}; expected a positive integer")


def parent_of(tree: Node, node: Node) -> Loop | SequenceNode | None:
    """The loop or sequence directly around ``node`` (this very object)."""
    match tree:
        case Loop(body=body):
            return tree if body is node else parent_of(body, node)
        case SequenceNode(children=children):
            for child in children:
                if child is node:
                    return tree
                found = parent_of(child, node)
                if found is not None:
                    return found
        case Leaf():
            pass
    return None


def prefix_loops(program: Program, loop: Loop) -> tuple[Loop, ...]:
    """The loops from the outermost down to ``loop`` itself."""
    around = path(program.tree, statements(loop)[0])
    return around[: [other is loop for other in around].index(True) + 1]


def prefix_map(statement: Statement, around: tuple[Loop, ...], names: list[str]) -> isl.Map:
    """The map from the instances of a statement to the iterations of the loops around it."""
    result = isl.Map.from_domain(statement.domain)
    for loop in around:
        column = isl.Map.from_pw_aff(loop.values[statement.name])
        result = result.flat_range_product(column)
    for position, name in enumerate(names):
        result = result.set_dim_name(isl.dim_type.out, position, name)
    return result.intersect_domain(statement.domain)


def prefix_function(statement: Statement, around: tuple[Loop, ...]) -> isl.PwMultiAff:
    """The same as :func:`prefix_map` of one loop or more, as a function: its formulas are those of
    the loops.
    """
    columns = (isl.PwMultiAff.from_pw_aff(loop.values[statement.name]) for loop in around)
    return reduce(isl.PwMultiAff.flat_range_product, columns).intersect_domain(statement.domain)


def largest_extent(program: Program, loop: Loop) -> int | None:
    """The largest number of iterations from first to last in any run of the loop.

    None where no literal bounds it (it grows with a parameter).
    """
    around = prefix_loops(program, loop)[:-1]
    first, last = value_range(program, loop)
    if first is not None and last is not None:
        names = loop.values
        if any(_runs_from_to(program.statements[one], loop, around, first, last) for one in names):
            return last - first + 1
    values: isl.Map | None = None
    for name, value in loop.values.items():
        statement = program.statements[name]
        reached = prefix_map(statement, around, []).reverse()
        column = reached.apply_range(isl.Map.from_pw_aff(value).intersect_domain(statement.domain))
        values = column if values is None else values.union(column)
    assert values is not None
    if values.is_empty():
        return 0
    spread = greatest(values.reverse().apply_range(values).deltas(), 0)
    return None if spread is None else spread + 1


def _runs_from_to(
    statement: Statement, loop: Loop, around: tuple[Loop, ...], first: int, last: int
) -> bool:
    """Whether some instance of the first value runs in one run of the loop with one of the last.

    Only one run is looked at.
    """
    value = loop.values[statement.name]
    run = one_iteration(statement, statement.domain.intersect(_where(value, first)), around)
    return run is not None and not run.intersect(_where(value, last)).is_empty()


def one_iteration(
    statement: Statement, instances: isl.Set, around: tuple[Loop, ...]
) -> isl.Set | None:
    """All instances of a statement in one iteration of the loops, in which one of ``instances`` is.

    None where there is none, or where it is not told which iteration that is.
    """
    if instances.is_empty():
        return None
    start = instances.sample_point()
    found = statement.domain
    for position in range(found.dim(isl.dim_type.param)):
        at = start.get_coordinate_val(isl.dim_type.param, position)
        found = found.fix_val(isl.dim_type.param, position, at)
    for loop in around:
        column = loop.values[statement.name]
        value = column.eval(start)
        if value.is_nan():
            return None
        found = found.intersect(_where(column, int(value.to_python())))
    return found


def _where(function: isl.PwAff, value: int) -> isl.Set:
    """Where a function has one value."""
    return function.eq_set(literal(function.get_domain_space(), value))


def value_range(program: Program, loop: Loop) -> Interval:
    """The smallest and the largest value of a loop, None where no literal bounds it.

    A loop in which nothing ever runs has the values from 0 to -1.
    """
    reached = [
        isl.Map.from_pw_aff(value).intersect_domain(program.statements[name].domain).range()
        for name, value in loop.values.items()
    ]
    reached = [values for values in reached if not values.is_empty()]
    if not reached:
        return 0, -1
    lows = [least(values, 0) for values in reached]
    highs = [greatest(values, 0) for values in reached]
    return (
        None if None in lows else min(low for low in lows if low is not None),
        None if None in highs else max(high for high in highs if high is not None),
    )


def number_of_values(program: Program, loop: Loop) -> int | None:
    """How many values a loop has from the smallest to the largest in all its runs together, which
    is no less than :func:`largest_extent`; None where no literal bounds them.
    """
    first, last = value_range(program, loop)
    return None if first is None or last is None else last - first + 1


def counts_nothing(program: Program, loop: Loop) -> bool:
    """Whether the loop's value is 0 for every instance of every statement below."""
    return all(
        program.statements[name].domain.is_subset(value.zero_set())
        for name, value in loop.values.items()
    )
