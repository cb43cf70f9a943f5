"""The program under a schedule: statements, arrays, dependences and the loop tree.

Every step maps a :class:`Program` to a new one. A step that only changes order rewrites the tree. A
step that adds statements or arrays also *translates the dependences*: they always relate instances
of the program's own statements and always state the order that the declared kernel requires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from types import MappingProxyType

import islpy as isl

from polysched.dependence.memory import memory_dependences
from polysched.dependence.relations import Dependence, Reference, timestamp_map
from polysched.errors import LoopReferenceError, ScheduleError, suggestion
from polysched.instructions.lookup import Forms
from polysched.ir.core.kernel import Array, Kernel, Statement
from polysched.ir.core.tree import Leaf, Loop, LoopKind, Node, loops, path, replace_node, statements
from polysched.ir.core.tree import Sequence as SequenceNode
from polysched.ir.expr.affine import literal
from polysched.ir.expr.linear_form import Interval
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.isl.shared_results import remembered


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel after some of the steps of a schedule.

    Attributes:
        kernel: the kernel as declared, rewritten by the ``inline`` and ``simplify`` steps.
        arrays: the arrays by name, buffers included.
        statements: the statements by name, copies included.
        dependences: between instances of ``statements``.
        tree: the loop tree, which gives the order of the instances.
        recomputed: for each statement whose instances a step has duplicated (recomputation), the
            relation from its instances to the declared instances that they repeat.
        folded: for each array that a step has folded, and for each reference to it, the relation
            from instances to elements of the array before folding. A later step that redirects
            references does not update it;
            :func:`polysched.schedule.buffers.elements.meant_elements` detects that.
        instructions: the forms of each instruction that a step has asked for, by name.
    """

    kernel: Kernel
    arrays: Mapping[str, Array]
    statements: Mapping[str, Statement]
    dependences: Sequence[Dependence]
    tree: Node
    recomputed: Mapping[str, isl.Map] = field(default_factory=dict)
    folded: Mapping[str, Mapping[Reference, isl.Map]] = field(default_factory=dict)
    instructions: Mapping[str, Forms] = field(default_factory=dict)

    def array(self, name: str) -> Array:
        """Return an array; `ScheduleError` if no array has this name."""
        if name not in self.arrays:
            raise ScheduleError(f"no array '{name}'{suggestion(name, self.arrays)}")
        return self.arrays[name]

    def statement(self, name: str) -> Statement:
        """Return a statement; `ScheduleError` if no statement has this name."""
        if name not in self.statements:
            raise ScheduleError(f"no statement '{name}'{suggestion(name, self.statements)}")
        return self.statements[name]

    def with_tree(self, tree: Node) -> Program:
        """Return the same program in another order."""
        return replace(self, tree=tree)

    def with_node(self, old: Node, new: Node) -> Program:
        """Return the program with a node of its tree, compared by identity, replaced."""
        return self.with_tree(replace_node(self.tree, old, new))


def initial_program(kernel: Kernel) -> Program:
    """Return the kernel in program order, with its memory-based dependences."""
    return Program(
        kernel, kernel.arrays, kernel.statements, memory_dependences(kernel), kernel.body
    )


def base_name(reference: str) -> str:
    """Return the loop's own name in ``"loop"`` or ``"statement.loop"``."""
    return reference.rpartition(".")[2]


def find_loop(program: Program, reference: str) -> Loop:
    """Return the loop that ``"loop"`` or ``"statement.loop"`` names.

    Raises:
        ScheduleError: there is no such loop, or several loops have that name.
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
        matches = [loop for loop in around if loop.name == name]
        known = [f"{statement}.{loop.name}" for loop in around]
    else:
        everything = list(loops(program.tree))
        matches = [loop for loop in everything if loop.name == name]
        known = [loop.name for loop in everything]
    if not matches:
        raise LoopReferenceError(reference, f"no loop '{reference}'", suggestion(reference, known))
    if len(matches) > 1:
        options = ", ".join(
            f"'{inner}.{name}'" for loop in matches for inner in statements(loop)[:1]
        )
        raise LoopReferenceError(
            reference, f"loop '{reference}' is ambiguous", f"; name it by a statement: {options}"
        )
    return matches[0]


def sequential_loop(program: Program, reference: str) -> Loop:
    """Return a loop that a step may split, merge or mark: sequential and without prefetches.

    Raises:
        ScheduleError: as in :func:`ordered_loop`, or the loop has a prefetch directive.
    """
    loop = ordered_loop(program, reference)
    if loop.prefetches:
        raise LoopReferenceError(
            reference,
            f"loop '{reference}' prefetches array '{loop.prefetches[0].array}' already",
            "; split it before that step",
        )
    return loop


def ordered_loop(program: Program, reference: str) -> Loop:
    """Return a loop whose iterations run one after the other.

    Raises:
        ScheduleError: as in :func:`find_loop`, or an earlier step has made the loop parallel,
            unrolled or a vector.
    """
    loop = find_loop(program, reference)
    if loop.kind is not LoopKind.SEQUENTIAL:
        raise LoopReferenceError(
            reference,
            f"loop '{reference}' is {_KIND_WORDS[loop.kind]} already",
            "; split it before that step",
        )
    return loop


def insertion_loop(program: Program, reference: str) -> Loop:
    """Return a loop at which a step may insert statements.

    The loop is parallel, or sequential without prefetches.

    Raises:
        ScheduleError: as in :func:`find_loop`, or the loop is unrolled, a vector or has a prefetch.
    """
    loop = find_loop(program, reference)
    return loop if loop.kind is LoopKind.PARALLEL else sequential_loop(program, reference)


_KIND_WORDS = MappingProxyType(
    {LoopKind.PARALLEL: "parallel", LoopKind.UNROLLED: "unrolled", LoopKind.VECTOR: "vectorized"}
)


def require_fresh(program: Program, below: Loop | Node, *names: str) -> None:
    """Check that new loop names are identifiers and free around every statement below a node."""
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
"""Largest factor or distance of a step: no trip count needs more, and sums stay within 64 bits."""


def require_moderate(name: str, value: int) -> None:
    """Check that a number of a step is not too large in magnitude."""
    if abs(value) > LARGEST_LITERAL:
        raise ScheduleError(f"{name} is {value}; expected at most 2**40 = {LARGEST_LITERAL}")


def require_positive(name: str, value: int) -> None:
    """Check that a number of a step is positive and not too large."""
    require_moderate(name, value)
    if value < 1:
        raise ScheduleError(f"{name} is {value}; expected a positive integer")


def parent_of(tree: Node, node: Node) -> Loop | SequenceNode | None:
    """Return the loop or sequence directly around ``node``, which is compared by identity."""
    match tree:
        case Loop(body=body):
            return tree if body is node else parent_of(body, node)
        case SequenceNode(children=children):
            for child in children:
                if child is node:
                    return tree
                parent = parent_of(child, node)
                if parent is not None:
                    return parent
        case Leaf():
            pass
    return None


def prefix_loops(program: Program, loop: Loop) -> tuple[Loop, ...]:
    """Return the loops from the outermost down to ``loop`` itself."""
    around = path(program.tree, statements(loop)[0])
    return around[: [other is loop for other in around].index(True) + 1]


def prefix_map(statement: Statement, around: tuple[Loop, ...], names: list[str]) -> isl.Map:
    """Return the map from the instances of a statement to the values of the loops around it."""
    values = tuple(loop.values[statement.name] for loop in around)
    return remembered(
        partial(_prefix_map, statement, values, names),
        prefix_map,
        (statement, *values),
        tuple(names),
    )


def _prefix_map(statement: Statement, values: tuple[isl.PwAff, ...], names: list[str]) -> isl.Map:
    result = timestamp_map(statement, values)
    for position, name in enumerate(names):
        result = result.set_dim_name(isl.dim_type.out, position, name)
    return result


def prefix_function(statement: Statement, around: tuple[Loop, ...]) -> isl.PwMultiAff:
    """Return :func:`prefix_map`, of at least one loop, as a function.

    Its pieces are the loops' own expressions.
    """
    columns = (isl.PwMultiAff.from_pw_aff(loop.values[statement.name]) for loop in around)
    return reduce(isl.PwMultiAff.flat_range_product, columns).intersect_domain(statement.domain)


def largest_extent(program: Program, loop: Loop) -> int | None:
    """Return the largest trip count of a loop over all its runs, None if it has no literal bound.

    A trip count is counted from the first to the last value of a run. A run is one execution of the
    loop for fixed values of the loops around it.
    """
    around = prefix_loops(program, loop)[:-1]
    first, last = value_range(program, loop)
    if first is not None and last is not None:
        below = (program.statements[name] for name in loop.values)
        if any(_runs_from_to(statement, loop, around, first, last) for statement in below):
            return last - first + 1
    values: isl.Map | None = None
    for name, value in loop.values.items():
        statement = program.statements[name]
        reached = prefix_map(statement, around, []).reverse()
        column = reached.apply_range(isl.Map.from_pw_aff(value).intersect_domain(statement.domain))
        values = column if values is None else values.union(column)
    assert values is not None
    # isl eliminates explicit floors in a twentieth of the time.
    values = values.compute_divs()
    if values.is_empty():
        return 0
    spread = greatest(values.reverse().apply_range(values).deltas(), 0)
    return None if spread is None else spread + 1


def _runs_from_to(
    statement: Statement, loop: Loop, around: tuple[Loop, ...], first: int, last: int
) -> bool:
    """Return whether a single run of the loop is known to contain both ``first`` and ``last``.

    Only one run that contains ``first`` is examined, so False proves nothing.
    """
    value = loop.values[statement.name]
    run = one_iteration(statement, statement.domain.intersect(_where(value, first)), around)
    return run is not None and not run.intersect(_where(value, last)).is_empty()


def one_iteration(
    statement: Statement, instances: isl.Set, around: tuple[Loop, ...]
) -> isl.Set | None:
    """Return the instances of a statement that run in a sample iteration of the loops.

    The sample is the iteration of a point of ``instances``, for its parameter values. None if
    ``instances`` is empty, or if the value of a loop at that point is undefined.
    """
    if instances.is_empty():
        return None
    start = instances.sample_point()
    iteration = statement.domain
    for position in range(iteration.dim(isl.dim_type.param)):
        parameter = start.get_coordinate_val(isl.dim_type.param, position)
        iteration = iteration.fix_val(isl.dim_type.param, position, parameter)
    for loop in around:
        column = loop.values[statement.name]
        value = column.eval(start)
        if value.is_nan():
            return None
        iteration = iteration.intersect(_where(column, int(value.to_python())))
    return iteration


def _where(function: isl.PwAff, value: int) -> isl.Set:
    return function.eq_set(literal(function.get_domain_space(), value))


def value_range(program: Program, loop: Loop) -> Interval:
    """Return the smallest and the largest value of a loop over all its runs.

    An end without a literal bound is None. A loop in which nothing runs has the range from 0 to -1.
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
    """Return the number of values from the smallest to the largest of a loop over all its runs.

    It is at least :func:`largest_extent`, and cheaper to compute. None without literal bounds.
    """
    first, last = value_range(program, loop)
    return None if first is None or last is None else last - first + 1


def is_always_zero(program: Program, loop: Loop) -> bool:
    """Return whether the loop's value is 0 for every instance of every statement below."""
    return all(
        program.statements[name].domain.is_subset(value.zero_set())
        for name, value in loop.values.items()
    )
